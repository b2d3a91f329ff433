#include "harness/commands/doctor.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/spec.h"
#include "src/memory/numa.h"

namespace latchlab {
namespace {

Finding processors(const Topology& topology) {
  Finding out{Grade::kGood, "processors", topology.describe(), {}};
  if (!topology.this_system) {
    out.grade = Grade::kMind;
    out.text +=
        "; this describes another machine (HWLOC_XMLFILE or HWLOC_SYNTHETIC is set): threads will not be "
        "pinned";
    out.remedy = "unset HWLOC_XMLFILE HWLOC_SYNTHETIC";
  } else if (topology.allowed_count() < topology.processors.size()) {
    out.grade = Grade::kMind;
    out.remedy = "start without taskset, or give the container all processors, to measure the whole machine";
  } else if (topology.allowed_count() == 1) {
    out.grade = Grade::kMind;
    out.text += "; threads take turns, so scaling cannot be measured";
  }
  return out;
}

/// Reports the CPUID flags that select code, or that an experiment may ask for.
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
  if (text.empty()) text = "no instruction set that this harness uses";
  return {Grade::kGood, "CPUID", "announces " + text, {}};
}

bool in_virtual_machine(const Root& root) {
  return read_fact(root, "/proc/cpuinfo").value_or("").find(" hypervisor") != std::string::npos;
}

/// Returns the value of the last `tsx=` on the kernel's command line; empty if there is none.
std::string tsx_at_boot(const Root& root) {
  const std::string line = " " + read_fact(root, "/proc/cmdline").value_or("");
  const std::size_t at = line.rfind(" tsx=");
  return at == std::string::npos ? "" : line.substr(at + 5, line.find_first_of(" \n", at + 1) - at - 5);
}

/// Returns true for an Intel model whose TSX works unless Linux switches it off, by MSR_IA32_TSX_CTRL. Where that
/// register exists but the model is not listed, the kernel's word on TAA tells (switched_off_by_kernel). Source: Linux,
/// arch/x86/include/asm/intel-family.h and arch/x86/kernel/cpu/tsx.c.
bool has_switch_for_tsx(const Root& root) {
  // A stepping: Skylake-SP has the same model number, lower steppings, and no switch.
  constexpr u64 kCascadeLake = 5;
  const auto number = [&](std::string_view name) {
    return parse_u64(read_fact(root, "/proc/cpuinfo", name).value_or("")).value_or(0);
  };
  if (number("cpu family") != 6) return false;
  switch (number("model")) {
    case 0x55: return number("stepping") >= kCascadeLake;
    case 0x6a:               // Ice Lake-SP
    case 0x6c:               // Ice Lake-D
    case 0x8f:               // Sapphire Rapids
    case 0xcf:               // Emerald Rapids
    case 0xad:               // Granite Rapids
    case 0xae: return true;  // Granite Rapids-D
    default: return false;
  }
}

/// Returns true if the processor has transactions, and the kernel hides them.
bool switched_off_by_kernel(const Probes& probes, const Root& root) {
  if (probes.flags.rtm) return false;
  const std::string taa = read_fact(root, "/sys/devices/system/cpu/vulnerabilities/tsx_async_abort").value_or("");
  return taa.find("TSX disabled") != std::string::npos || has_switch_for_tsx(root);
}

/// The reason why transactions do not work, and what to change.
struct Obstacle {
  std::string why;
  std::string remedy;
};

Obstacle obstacle_to_transactions(const Probes& probes, const Root& root) {
  constexpr std::string_view kOther =
      "no command: it takes an Intel processor whose TSX works, such as a Xeon Scalable";
  const std::string vendor = read_fact(root, "/proc/cpuinfo", "vendor_id").value_or("");
  if (!vendor.empty() && vendor != "GenuineIntel") {
    const std::string maker = vendor == "AuthenticAMD" ? "AMD" : vendor;
    return {fmt::format("absent: RTM is Intel's, and this is a processor of {}", maker), std::string(kOther)};
  }
  if (probes.flags.rtm_always_abort) {
    return {"present, but Intel's microcode makes every transaction abort",
            fmt::format("{}; tsx=on changes nothing here", kOther)};
  }
  const std::string tsx = tsx_at_boot(root);
  if (in_virtual_machine(root)) {
    const bool too = !tsx.empty() && tsx != "on";
    return {probes.flags.rtm ? "this virtual machine announces them, but its host does not let them commit"
                             : "switched off for this virtual machine, or absent: only its host can tell",
            fmt::format("if doctor says on the host that transactions work, the host can offer them: "
                        "qemu-system-x86_64 -cpu host,+rtm, in libvirt <feature policy='require' name='rtm'/>{}",
                        too ? fmt::format("; boot this machine without tsx={}, too", tsx) : "")};
  }
  if (switched_off_by_kernel(probes, root)) {
    if (tsx == "on") {
      return {"present, but switched off although Linux was booted with tsx=on",
              "switch TSX on in the firmware's setup"};
    }
    const std::string edit =
        tsx.empty() ? "s/^GRUB_CMDLINE_LINUX=\"/&tsx=on /" : fmt::format("s/\\btsx={}\\b/tsx=on/", tsx);
    return {
        fmt::format("present, but switched off by Linux ({})",
                    tsx.empty() ? "its default, unless it is booted with tsx=on" : "booted with tsx=" + tsx),
        fmt::format("sed -i '{}' /etc/default/grub && update-grub && reboot (the risk: programs can spy on each other "
                    "through side channels of TSX, such as TAA)",
                    edit)};
  }
  if (probes.flags.rtm) return {"announced, but they do not commit", std::string(kOther)};
  return {"absent: this processor has no TSX, or none that Linux can switch on", std::string(kOther)};
}

Finding transactions(const Probes& probes, const Root& root) {
  Finding out{Grade::kGood, "transactions", {}, {}};
  const std::string flag = probes.flags.rtm_always_abort ? "CPUID says that transactions always abort"
                           : probes.flags.rtm            ? "CPUID announces RTM"
                                                         : "CPUID announces no RTM";
  const std::string seen =
      fmt::format("{}; the probe says {}: {}", flag, word(probes.rtm.outcome), probes.rtm.evidence);
  if (probes.rtm.outcome == RtmOutcome::kWorks) {
    out.text =
        seen + (probes.flags.tsxldtrk ? "; their loads can be suspended"
                                      : "; without TSXLDTRK results of hybrid with suspend=1 are marked degraded");
    return out;
  }
  const Obstacle obstacle = obstacle_to_transactions(probes, root);
  out.grade = Grade::kMissing;
  out.text = fmt::format("{}; {}; policies that elide run on their locks, and their results are marked degraded",
                         obstacle.why, seen);
  out.remedy = obstacle.remedy;
  return out;
}

/// Returns true if a policy can elide here.
bool elides(const Probes& probes) { return probes.rtm.outcome == RtmOutcome::kWorks || probes.hle.elides; }

Finding lock_prefixes(const Probes& probes) {
  if (probes.hle.elides) return {Grade::kGood, "lock prefixes", "they elide: " + probes.hle.evidence, {}};
  return {Grade::kMissing, "lock prefixes",
          fmt::format("ignored: {}; hle takes its lock and its results are marked degraded", probes.hle.evidence),
          elides(probes) ? "--sync=hle:emulated takes the same decisions with transactions, which work here" : ""};
}

Finding heavy_fence(const Probes& probes) {
  switch (probes.heavy_fence) {
    case HeavyFence::kMembarrier: return {Grade::kGood, "heavy fence", "membarrier", {}};
    case HeavyFence::kVisits:
      return {Grade::kMind, "heavy fence",
              "visits: membarrier is forbidden or unknown here, so reclamation by epochs visits each processor in "
              "turn, which takes tens of microseconds each",
              "let the container's seccomp profile allow membarrier, or use Linux 4.14 or later"};
    case HeavyFence::kNone: break;
  }
  return {Grade::kMissing, "heavy fence",
          "none: membarrier and setting the affinity are both forbidden; policies that reclaim by epochs end the "
          "process",
          "let the container's seccomp profile allow membarrier"};
}

Finding damon(const Root& root) {
  const OrReason<bool> runs = damon_runs(root);
  if (!runs) return {Grade::kMind, "DAMON", "unknown: " + runs.reason, "run doctor as root to find out"};
  if (!*runs) return {Grade::kGood, "DAMON", "not running", {}};
  std::vector<std::string> commands;
  for (const auto& [path, off] : damon_switches(root)) commands.push_back(fmt::format("echo {} > {}", off, path));
  return {Grade::kMind, "DAMON",
          "running: it clears Accessed bits of pages, and every transaction that touches such a page aborts "
          "with status 0",
          fmt::format("{}", fmt::join(commands, "; "))};
}

Finding numa_balancing(const Topology& topology, const Probes& probes, const Root& root) {
  const OrReason<bool> on = numa_balancing_on(root);
  if (!on) return {Grade::kGood, "NUMA balancing", "not in this kernel", {}};
  if (!*on) return {Grade::kGood, "NUMA balancing", "off", {}};
  return {Grade::kMind, "NUMA balancing",
          fmt::format("on{}: it unmaps pages to see which node touches them, which {}moves memory during a run",
                      topology.nodes.size() == 1 ? " (one node only, so it should have nothing to do)" : "",
                      elides(probes) ? "aborts transactions with status 0 and " : ""),
          "sysctl kernel.numa_balancing=0"};
}

/// Reports whether memory can be placed on nodes, and found there.
Finding node_memory(const Topology& topology, const Probes& probes) {
  Finding out{Grade::kGood, "memory by node", "mbind places it, move_pages says where it is", {}};
  if (!probes.unplaced && !probes.unseen) return out;
  out.grade = Grade::kMissing;
  out.text.clear();
  if (probes.unplaced) {
    out.text =
        fmt::format("mbind is refused ({}): --mem has no effect, and results are marked degraded", *probes.unplaced);
  }
  if (probes.unseen) {
    out.text += fmt::format("{}move_pages is refused ({}): results do not say where memory lies",
                            out.text.empty() ? "" : "; ", *probes.unseen);
  }
  if (topology.nodes.size() == 1) {
    out.grade = Grade::kGood;
    out.text += "; there is only one node, so nothing is lost";
  } else {
    out.remedy =
        "let the container's seccomp profile allow mbind, set_mempolicy and move_pages: docker run --cap-add=SYS_NICE";
  }
  return out;
}

Finding huge_pages(const Root& root) {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  const auto setting = read_fact(root, folder + "enabled");
  if (!setting) {
    return {Grade::kMissing, "huge pages", "not in this kernel: --hugepages=thp has no effect",
            "a kernel with CONFIG_TRANSPARENT_HUGEPAGE, as Debian's are"};
  }
  const std::string word = chosen_word(*setting);
  if (word == "never") {
    return {Grade::kMissing, "huge pages", "transparent huge pages are off (never): --hugepages=thp has no effect",
            fmt::format("echo madvise > {}enabled", folder)};
  }
  if (chosen_word(read_fact(root, folder + "defrag").value_or("")) == "never") {
    return {Grade::kMind, "huge pages",
            fmt::format("transparent huge pages on request ({}), but the kernel never moves other pages to make one: "
                        "--hugepages=thp gets few once memory is fragmented",
                        word),
            fmt::format("echo madvise > {}defrag", folder)};
  }
  return {Grade::kGood, "huge pages", fmt::format("transparent huge pages on request ({})", word), {}};
}

/// Returns the governors of the processors that this process may use, each once.
std::vector<std::string> governors(const Topology& topology, const Root& root) {
  std::vector<std::string> words;
  for (const Processor& processor : topology.processors) {
    if (!processor.allowed) continue;
    const auto word =
        read_fact(root, fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", processor.os));
    if (word && std::find(words.begin(), words.end(), *word) == words.end()) words.push_back(*word);
  }
  return words;
}

Finding governor(const Topology& topology, const Root& root) {
  const std::vector<std::string> words = governors(topology, root);
  if (words.empty()) return {Grade::kGood, "frequency", "the kernel does not set it here (no cpufreq)", {}};
  const std::string all = fmt::format("governor {}", fmt::join(words, ", "));
  if (words == std::vector<std::string>{"performance"}) return {Grade::kGood, "frequency", all, {}};
  return {Grade::kMind, "frequency", all + ": short runs begin slowly, and processors differ",
          "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"};
}

/// Reports the clock, whose reading must not be a system call.
Finding clock(const Root& root) {
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  const auto word = read_fact(root, folder + "current_clocksource");
  if (!word) return {Grade::kGood, "clock", "the kernel does not say which it is", {}};
  const bool fast = *word == "tsc" || *word == "kvm-clock" || *word == "hyperv_clocksource_tsc_page";
  if (fast) return {Grade::kGood, "clock", *word, {}};
  const std::string available = " " + read_fact(root, folder + "available_clocksource").value_or("") + " ";
  return {Grade::kMind, "clock", fmt::format("{}: reading it is slow, which every time of --latency includes", *word),
          available.find(" tsc ") != std::string::npos
              ? fmt::format("echo tsc > {}current_clocksource", folder)
              : "boot with tsc=reliable, if the processor's counter is invariant"};
}

Finding load(const Topology& topology, const Root& root) {
  const OrReason<double> average = load_average(root);
  if (!average) return {Grade::kMind, "load", "unknown: " + average.reason, {}};
  const bool idle = *average < .1 * topology.allowed_count() + .2;
  return {idle ? Grade::kGood : Grade::kMind, "load", fmt::format("{:.2f} over the last minute", *average),
          idle ? "" : "wait until nothing else runs: ps -eo pcpu,pid,user,args --sort=-pcpu | head"};
}

Finding virtual_machine(const Root& root) {
  if (!in_virtual_machine(root)) return {Grade::kGood, "virtualisation", "none seen", {}};
  return {Grade::kMind,
          "virtualisation",
          "this is a virtual machine: neighbours and the hypervisor can take time (steal is in every "
          "result), and its sockets may "
          "not be real",
          {}};
}

Finding memory(const Root& root) {
  const u64 bytes = available_memory(root);
  return {Grade::kGood, "memory", fmt::format("{:.1f} GiB available", static_cast<double>(bytes) / (u64{1} << 30)), {}};
}

/// Reports which hardware events can be counted.
Finding finding_of(const PmuAccess& access, const Root& root) {
  Finding out{Grade::kGood, "hardware counters", {}, {}};
  const std::string known = fmt::format(
      "libpfm4 {}; events that are counted: {}",
      access.processor.empty() ? "does not know this processor" : "knows this processor as " + access.processor,
      access.families);
  const PmuEvent cycles{
      .name = "cycles", .family = "core", .here = {}, .code = {}, .of_packages = false, .missing = {}};
  if (access.error != 0) {
    const NotCounted not_counted = why_not_counted(access.error, cycles, root);
    out.grade = Grade::kMissing;
    out.text = fmt::format("perf_event_open says {}; {}", not_counted.why, known);
    out.remedy = not_counted.remedy;
  } else if (access.user_only) {
    out.grade = Grade::kMind;
    out.text = fmt::format("only outside the kernel; {}", known);
    out.remedy = why_not_counted(EACCES, cycles, root).remedy;
  } else {
    out.text = known;
  }
  return out;
}

}  // namespace

Probes run_probes() {
  Probes out;
  out.flags = cpu_flags();
  out.rtm = rtm_probe();
  out.hle = hle_probe();
  out.heavy_fence = heavy_fence_here();
  out.pmu = pmu_access();
  out.unplaced = why_mbind_refused();
  out.unseen = why_move_pages_refused();
  return out;
}

std::vector<Finding> diagnose(const Topology& topology, const Probes& probes, const Root& root) {
  std::vector<Finding> findings{processors(topology),       instructions(probes),  virtual_machine(root), memory(root),
                                transactions(probes, root), lock_prefixes(probes), heavy_fence(probes)};
  if (elides(probes)) findings.push_back(damon(root));  // it disturbs nothing else
  for (const Finding& finding :
       {numa_balancing(topology, probes, root), node_memory(topology, probes), finding_of(probes.pmu, root),
        huge_pages(root), governor(topology, root), clock(root), load(topology, root)}) {
    findings.push_back(finding);
  }
  return findings;
}

std::string doctor_text(const std::vector<Finding>& findings) {
  std::string out;
  size_t width = 0;
  for (const Finding& f : findings) width = std::max(width, f.subject.size());
  size_t mind = 0;
  size_t missing = 0;
  for (const Finding& f : findings) {
    const std::string_view mark = f.grade == Grade::kGood ? "ok" : f.grade == Grade::kMind ? "mind" : "missing";
    out += fmt::format("{:<8} {:<{}}  {}\n", mark, f.subject, width, f.text);
    if (!f.remedy.empty()) out += fmt::format("{:<8} {:<{}}  -> {}\n", "", "", width, f.remedy);
    mind += f.grade == Grade::kMind;
    missing += f.grade == Grade::kMissing;
  }
  if (mind + missing == 0) {
    out += "\nThis machine measures everything.\n";
  } else {
    out += fmt::format(
        "\n{} to mind, {} that cannot be measured here; results say so where it matters.\n"
        "Commands are for root.\n",
        mind, missing);
  }
  return out;
}

std::string model_text(const model::MachineFile& machine) {
  std::vector<const model::MachineFile::Value*> doubtful;
  size_t keys = 0, values = 0;
  for (const model::MachineFile::Value& value : machine.values()) {
    if (value.tag <= model::Tag::kPublished) continue;
    doubtful.push_back(&value);
    keys = std::max(keys, value.key.size());
    values = std::max(values, value.text.size() + 1 + value.unit.size());
  }
  std::ranges::stable_sort(doubtful, {}, &model::MachineFile::Value::tag);
  std::string out;
  for (const model::MachineFile::Value* value : doubtful) {
    out += fmt::format("{:<8} {:<{}}  {:<{}}  {}\n", word(value->tag), value->key, keys,
                       fmt::format("{} {}", value->text, value->unit), values, value->source);
  }
  const size_t all = machine.values().size();
  return out + fmt::format("{}{} of the {} values of {} are measured or published.\n", out.empty() ? "" : "\n",
                           all - doubtful.size(), all, machine.name());
}

}  // namespace latchlab
