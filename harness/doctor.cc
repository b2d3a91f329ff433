#include "harness/doctor.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "src/base/spec.h"

namespace latchlab {
namespace {

Finding processors(const Topology& topology) {
  Finding out{Verdict::kGood, "processors", topology.describe(), {}};
  if (!topology.this_system) {
    out.verdict = Verdict::kMind;
    out.text +=
        "; this describes another machine (HWLOC_XMLFILE or HWLOC_SYNTHETIC is set): threads will not be "
        "pinned";
    out.remedy = "unset HWLOC_XMLFILE HWLOC_SYNTHETIC";
  } else if (topology.allowed_count() < topology.processors.size()) {
    out.verdict = Verdict::kMind;
    out.remedy = "start without taskset, or give the container all processors, to measure the whole machine";
  } else if (topology.allowed_count() == 1) {
    out.verdict = Verdict::kMind;
    out.text += "; threads take turns, so scaling cannot be measured";
  }
  return out;
}

/// The flags that decide which code runs, or that an experiment may ask for.
Finding instructions(const Probes& probes) {
  std::string text;
  const auto add = [&](bool there, std::string_view name) {
    if (there) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  };
  add(probes.flags.avx2, "AVX2");
  add(probes.flags.avx512, "AVX-512 (F, BW, VL, DQ)");
  add(probes.flags.hle, "HLE");
  add(probes.flags.rtm, "RTM");
  add(probes.flags.tsxldtrk, "TSXLDTRK");
  if (text.empty()) text = "none of what this harness knows";
  return {Verdict::kGood, "CPUID", "announces " + text, {}};
}

Finding transactions(const Probes& probes) {
  Finding out{Verdict::kGood, "transactions", {}, {}};
  const std::string flag = probes.flags.rtm_always_abort ? "CPUID says that transactions always abort"
                           : probes.flags.rtm            ? "CPUID announces RTM"
                                                         : "CPUID announces no RTM";
  out.text = fmt::format("{}; the probe says {}: {}", flag, name_of(probes.rtm.outcome), probes.rtm.evidence);
  if (probes.rtm.outcome == RtmOutcome::kWorks) {
    out.text += probes.flags.tsxldtrk ? "; their loads can be suspended"
                                      : "; without TSXLDTRK results of hybrid with suspend=1 are marked degraded";
    return out;
  }
  out.verdict = Verdict::kMissing;
  out.text += "; policies that elide run on their locks, and their results are marked degraded";
  out.remedy =
      probes.flags.rtm_always_abort
          ? "boot with tsx=on (and tsx_async_abort=off if the risk is yours to take), or with older microcode"
          : "use a processor with TSX, boot with tsx=on; in a virtual machine the host must expose it";
  return out;
}

Finding lock_prefixes(const Probes& probes) {
  if (probes.hle.elides) return {Verdict::kGood, "lock prefixes", "they elide: " + probes.hle.evidence, {}};
  return {Verdict::kMissing, "lock prefixes",
          fmt::format("ignored: {}; hle takes its lock and its results are marked degraded", probes.hle.evidence),
          "--sync=hle:emulated takes the same decisions with transactions, where those work"};
}

Finding heavy_fence(const Probes& probes) {
  switch (probes.heavy_fence) {
    case HeavyFence::kMembarrier: return {Verdict::kGood, "heavy fence", "membarrier", {}};
    case HeavyFence::kVisits:
      return {Verdict::kMind, "heavy fence",
              "visits: membarrier is forbidden or unknown here, so reclamation by epochs goes to each processor in "
              "turn, tens of microseconds each",
              "let the container's seccomp profile allow membarrier, or use Linux 4.14 or later"};
    case HeavyFence::kNone: break;
  }
  return {Verdict::kMissing, "heavy fence",
          "none: membarrier and setting the affinity are both forbidden; policies that reclaim by epochs end the "
          "process",
          "let the container's seccomp profile allow membarrier"};
}

Finding damon(const Root& root) {
  const Measured<bool> runs = damon_runs(root);
  if (!runs) return {Verdict::kMind, "DAMON", "unknown: " + runs.reason, "run doctor as root to see"};
  if (!*runs) return {Verdict::kGood, "DAMON", "not running", {}};
  return {Verdict::kMind, "DAMON",
          "running: it clears Accessed bits of pages, and every transaction that touches such a page aborts "
          "with status 0",
          "echo off > /sys/kernel/mm/damon/admin/kdamonds/*/state; echo N > "
          "/sys/module/damon_*/parameters/enabled"};
}

Finding numa_balancing(const Topology& topology, const Root& root) {
  const Measured<bool> on = numa_balancing_on(root);
  if (!on) return {Verdict::kGood, "NUMA balancing", "not in this kernel", {}};
  if (!*on) return {Verdict::kGood, "NUMA balancing", "off", {}};
  return {Verdict::kMind, "NUMA balancing",
          fmt::format("on{}: it unmaps pages to see who touches them, which aborts transactions with "
                      "status 0 and moves memory during a run",
                      topology.nodes == 1 ? " (one node only, so it should have nothing to do)" : ""),
          "sysctl kernel.numa_balancing=0"};
}

Finding counters(const Probes& probes, const Root& root) {
  Finding out{Verdict::kGood, "hardware counters", "an event of the processor can be opened", {}};
  if (probes.perf_error == 0) return out;
  out.verdict = Verdict::kMissing;
  const std::string paranoid = read_fact(root, "/proc/sys/kernel/perf_event_paranoid").value_or("unknown");
  switch (probes.perf_error) {
    case ENOENT:
    case EOPNOTSUPP:
      out.text = fmt::format(
          "perf_event_open says {}: there is no hardware counter here, as in most virtual machines",
          probes.perf_error == ENOENT ? "ENOENT" : "EOPNOTSUPP");
      out.remedy = "run on the bare machine, or have the host expose a virtual PMU";
      break;
    case EACCES:
    case EPERM:
      out.text = fmt::format("perf_event_open says {}: not permitted (perf_event_paranoid is {})",
                             probes.perf_error == EACCES ? "EACCES" : "EPERM", paranoid);
      out.remedy =
          "sysctl kernel.perf_event_paranoid=1, or give the process CAP_PERFMON; a container may also forbid "
          "the call";
      break;
    default:
      out.text = fmt::format("perf_event_open fails: {} (perf_event_paranoid is {})",
                             std::strerror(probes.perf_error), paranoid);
  }
  return out;
}

Finding huge_pages(const Root& root) {
  const auto setting = read_fact(root, "/sys/kernel/mm/transparent_hugepage/enabled");
  if (!setting) {
    return {Verdict::kMissing, "huge pages", "not in this kernel: --hugepages=thp has no effect", {}};
  }
  const std::string word = chosen_word(*setting);
  if (word == "never") {
    return {Verdict::kMissing, "huge pages",
            "transparent huge pages are off (never): --hugepages=thp has no effect",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
  }
  return {Verdict::kGood, "huge pages", fmt::format("transparent huge pages on request ({})", word), {}};
}

Finding governor(const Root& root) {
  const auto word = read_fact(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!word) return {Verdict::kGood, "frequency", "the kernel does not set it here (no cpufreq)", {}};
  if (*word == "performance") return {Verdict::kGood, "frequency", "governor performance", {}};
  return {Verdict::kMind, "frequency", fmt::format("governor {}: short runs begin slow", *word),
          "cpupower frequency-set -g performance"};
}

Finding load(const Topology& topology, const Root& root) {
  const Measured<double> average = load_average(root);
  if (!average) return {Verdict::kMind, "load", "unknown: " + average.reason, {}};
  const bool idle = *average < .1 * topology.allowed_count() + .2;
  return {idle ? Verdict::kGood : Verdict::kMind, "load",
          fmt::format("{:.2f} over the last minute", *average), idle ? "" : "wait until nothing else runs"};
}

Finding virtual_machine(const Root& root) {
  const std::string cpuinfo = read_fact(root, "/proc/cpuinfo").value_or("");
  const bool inside = cpuinfo.find(" hypervisor") != std::string::npos;
  if (!inside) return {Verdict::kGood, "virtualisation", "none seen", {}};
  return {Verdict::kMind,
          "virtualisation",
          "this is a virtual machine: neighbours and the hypervisor can take time (steal is in every "
          "result), and its sockets may "
          "not be real",
          {}};
}

Finding memory(const Root& root) {
  const u64 bytes = available_memory(root);
  return {Verdict::kGood,
          "memory",
          fmt::format("{:.1f} GiB available", static_cast<double>(bytes) / (u64{1} << 30)),
          {}};
}

}  // namespace

Probes run_probes() {
  Probes out;
  out.flags = cpu_flags();
  out.rtm = rtm_probe();
  out.hle = hle_probe();
  out.heavy_fence = heavy_fence_here();
  perf_event_attr event{};
  event.type = PERF_TYPE_HARDWARE;
  event.size = sizeof event;
  event.config = PERF_COUNT_HW_CPU_CYCLES;
  event.exclude_kernel = 1;
  event.exclude_hv = 1;
  const long file = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
  if (file < 0) {
    out.perf_error = errno;
  } else {
    close(static_cast<int>(file));
  }
  return out;
}

std::vector<Finding> diagnose(const Topology& topology, const Probes& probes, const Root& root) {
  return {processors(topology),
          instructions(probes),
          virtual_machine(root),
          memory(root),
          transactions(probes),
          lock_prefixes(probes),
          heavy_fence(probes),
          damon(root),
          numa_balancing(topology, root),
          counters(probes, root),
          huge_pages(root),
          governor(root),
          load(topology, root)};
}

std::string doctor_text(const std::vector<Finding>& findings) {
  std::string out;
  size_t width = 0;
  for (const Finding& f : findings) width = std::max(width, f.subject.size());
  size_t mind = 0;
  size_t missing = 0;
  for (const Finding& f : findings) {
    const std::string_view mark = f.verdict == Verdict::kGood   ? "ok"
                                  : f.verdict == Verdict::kMind ? "mind"
                                                                : "missing";
    out += fmt::format("{:<8} {:<{}}  {}\n", mark, f.subject, width, f.text);
    if (!f.remedy.empty()) out += fmt::format("{:<8} {:<{}}  -> {}\n", "", "", width, f.remedy);
    mind += f.verdict == Verdict::kMind;
    missing += f.verdict == Verdict::kMissing;
  }
  if (mind + missing == 0) {
    out += "\nThis machine measures everything.\n";
  } else {
    out += fmt::format("\n{} to mind, {} that cannot be measured here; results say so where it matters.\n",
                       mind, missing);
  }
  return out;
}

}  // namespace latchlab
