#include "harness/host/environment.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "src/arch/features.h"
#include "src/arch/heavy_fence.h"
#include "src/base/spec.h"
#include "src/memory/chunk_source.h"

namespace latchlab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoUsage = "the kernel does not tell (getrusage)";

/// Returns the growth of a running total, if it was read both times.
OrReason<u64> grown(const std::optional<u64>& before, const std::optional<u64>& after, const char* why_not) {
  if (!before || !after) return OrReason<u64>::missing(why_not);
  return *after - std::min(*before, *after);
}

/// Returns the value of the first line "name : value" or "name: value" of a text.
std::optional<std::string> field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !line.starts_with(name)) continue;
    if (line.substr(name.size(), colon - name.size()).find_first_not_of(" \t") != std::string_view::npos) {
      continue;
    }
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string_view::npos ? std::string() : std::string(line.substr(start));
  }
  return std::nullopt;
}

/// Returns a value such as "123 kB" in bytes, here 125952.
std::optional<u64> kilobytes(std::string_view text, std::string_view name) {
  const std::optional<std::string> value = field(text, name);
  if (!value) return std::nullopt;
  const std::optional<u64> number = parse_u64(value->substr(0, value->find(' ')));
  return number ? std::optional(*number * 1024) : std::nullopt;
}

template <class T>
OrReason<T> measured(std::optional<T> value, std::string why) {
  return value ? OrReason<T>(std::move(*value)) : OrReason<T>::missing(std::move(why));
}

std::vector<fs::path> entries(const Root& root, std::string_view folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + std::string(folder), error)) {
    out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<CacheInfo> read_caches(const Root& root, u32 cpu) {
  std::vector<CacheInfo> out;
  const std::string base = fmt::format("/sys/devices/system/cpu/cpu{}/cache", cpu);
  for (const fs::path& path : entries(root, base)) {
    const std::string folder = base + "/" + path.filename().string();
    const auto level = read_fact(root, folder + "/level");
    const auto size = read_fact(root, folder + "/size");
    if (!level || !parse_u64(*level) || !size || size->empty()) continue;
    CacheInfo cache;
    cache.level = static_cast<u32>(*parse_u64(*level));
    cache.type = read_fact(root, folder + "/type").value_or("unified");
    std::transform(cache.type.begin(), cache.type.end(), cache.type.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const u64 unit = size->back() == 'K' ? 1024 : size->back() == 'M' ? 1024 * 1024 : 1;
    const auto bytes = parse_u64(unit == 1 ? *size : size->substr(0, size->size() - 1));
    cache.bytes =
        bytes ? OrReason<u64>(*bytes * unit) : OrReason<u64>::missing("the size that the kernel gives is not a number");
    // "0000,00000003": a bit for each processor that shares the cache.
    u32 shared_by = 0;
    for (const char c : read_fact(root, folder + "/shared_cpu_map").value_or("")) {
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
      shared_by += static_cast<u32>(std::popcount(static_cast<u32>(digit)));
    }
    cache.shared_by = shared_by > 0 ? OrReason<u32>(shared_by)
                                    : OrReason<u32>::missing("the kernel does not say which processors share it");
    out.push_back(std::move(cache));
  }
  return out;
}

OrReason<std::vector<std::pair<std::string, std::string>>> read_mitigations(const Root& root) {
  std::vector<std::pair<std::string, std::string>> out;
  const std::string folder = "/sys/devices/system/cpu/vulnerabilities";
  for (const fs::path& path : entries(root, folder)) {
    const std::string name = path.filename().string();
    if (auto text = read_fact(root, folder + "/" + name)) out.emplace_back(name, std::move(*text));
  }
  using Mitigations = OrReason<std::vector<std::pair<std::string, std::string>>>;
  return out.empty() ? Mitigations::missing("the kernel does not list them") : Mitigations(std::move(out));
}

OrReason<bool> read_virtual(const Root& root, std::string_view cpuinfo) {
  if (const auto flags = field(cpuinfo, "flags")) {
    return (" " + *flags + " ").find(" hypervisor ") != std::string::npos;
  }
  if (read_fact(root, "/sys/hypervisor/type")) return true;
  return OrReason<bool>::missing("/proc/cpuinfo lists no flags");
}

std::optional<u64> migrations_of_threads(const Root& root) {
  std::optional<u64> sum;
  for (const fs::path& task : entries(root, "/proc/self/task")) {
    const auto text = read_fact({}, (task / "sched").string());
    if (!text) continue;
    if (const auto value = field(*text, "se.nr_migrations")) {
      sum = sum.value_or(0) + parse_u64(*value).value_or(0);
    }
  }
  return sum;
}

/// Returns the files that hold the states of DAMON's workers.
std::vector<std::string> damon_states(const Root& root) {
  const std::string admin = "/sys/kernel/mm/damon/admin/kdamonds";
  std::vector<std::string> out;
  for (const fs::path& path : entries(root, admin)) {
    const std::string state = admin + "/" + path.filename().string() + "/state";
    std::error_code error;
    if (fs::exists(root + state, error)) out.push_back(state);  // not nr_kdamonds, a plain file
  }
  return out;
}

}  // namespace

std::optional<std::string> read_fact(const Root& root, std::string_view path) {
  std::ifstream file(root + std::string(path));
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || text.fail()) {
    return text.str().empty() && !file.bad() ? std::optional(std::string()) : std::nullopt;
  }
  std::string out = text.str();
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::optional<std::string> read_fact(const Root& root, std::string_view path, std::string_view name) {
  return field(read_fact(root, path).value_or(""), name);
}

std::string chosen_word(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::string(text);
  }
  return std::string(text.substr(open + 1, close - open - 1));
}

std::vector<std::pair<std::string, std::string>> damon_switches(const Root& root) {
  std::vector<std::pair<std::string, std::string>> on;
  for (const std::string module : {"damon_reclaim", "damon_lru_sort", "damon_stat"}) {
    const std::string path = "/sys/module/" + module + "/parameters/enabled";
    const auto enabled = read_fact(root, path);
    if (enabled && (*enabled == "Y" || *enabled == "1")) on.emplace_back(path, "N");
  }
  for (const std::string& path : damon_states(root)) {
    if (read_fact(root, path) == "on") on.emplace_back(path, "off");
  }
  return on;
}

OrReason<bool> damon_runs(const Root& root) {
  if (!damon_switches(root).empty()) return true;
  for (const std::string& path : damon_states(root)) {
    if (!read_fact(root, path)) return OrReason<bool>::missing("only root can read the state of DAMON's workers");
  }
  std::error_code error;
  if (!fs::exists(root + "/sys/kernel/mm", error) && !fs::exists(root + "/sys/module", error)) {
    return OrReason<bool>::missing("/sys/kernel/mm does not exist");
  }
  return false;
}

OrReason<bool> numa_balancing_on(const Root& root) {
  const auto text = read_fact(root, "/proc/sys/kernel/numa_balancing");
  if (!text) return OrReason<bool>::missing("the kernel has no NUMA balancing setting");
  return *text != "0";
}

OrReason<bool> kernel_demotes(const Root& root) {
  const auto text = read_fact(root, "/sys/kernel/mm/numa/demotion_enabled");
  if (!text) return OrReason<bool>::missing("the kernel has no memory tiers");
  return *text != "0" && *text != "false";
}

std::vector<std::string> disturbances(bool elides, const Root& root) {
  std::vector<std::string> out;
  if (const auto damon = elides ? damon_runs(root) : OrReason<bool>(false); damon && *damon) {
    out.push_back("DAMON is running: it clears Accessed bits, and transactions that touch such a page abort");
  }
  if (const auto balancing = numa_balancing_on(root); balancing && *balancing) {
    out.push_back(elides ? "NUMA balancing is on: it unmaps pages, and transactions that touch such a page abort"
                         : "NUMA balancing is on: it unmaps pages, and may move memory during the run");
  }
  return out;
}

u64 available_memory(const Root& root) {
  u64 out = kilobytes(read_fact(root, "/proc/meminfo").value_or(""), "MemAvailable").value_or(u64{1} << 30);
  // cgroup v2; "max" means no limit.
  const auto limit = parse_u64(read_fact(root, "/sys/fs/cgroup/memory.max").value_or("max"));
  const auto used = parse_u64(read_fact(root, "/sys/fs/cgroup/memory.current").value_or("0"));
  if (limit && used) out = std::min(out, *limit > *used ? *limit - *used : 0);
  return out;
}

u64 available_memory_on(const PagePlacement& placement, const Root& root) {
  const bool local = placement.kind == PagePlacement::Kind::kLocal && !placement.nodes.empty();
  if (placement.kind != PagePlacement::Kind::kBind && !local) return ~u64{0};
  u64 sum = 0, least = ~u64{0};
  for (const u32 node : placement.nodes) {
    const u64 before = sum;
    const std::string info = read_fact(root, fmt::format("/sys/devices/system/node/node{}/meminfo", node)).value_or("");
    for (const char* kind : {"MemFree", "Active(file)", "Inactive(file)"}) {
      const auto bytes = kilobytes(info, fmt::format("Node {} {}", node, kind));
      if (!bytes) return ~u64{0};
      sum += *bytes;
    }
    least = std::min(least, sum - before);
  }
  // Each thread takes about as much memory, and a thread whose own node is full gets none from another node.
  return local ? least * placement.nodes.size() : sum;
}

OrReason<u64> locked_memory(const Root& root) {
  return measured(kilobytes(read_fact(root, "/proc/self/status").value_or(""), "VmLck"),
                  "/proc/self/status has no VmLck");
}

std::string lock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "RLIMIT_MEMLOCK is no limit";
  return fmt::format("RLIMIT_MEMLOCK is {} KiB", limit.rlim_cur >> 10);
}

bool allow_huge_pages(bool allowed) { return prctl(PR_SET_THP_DISABLE, allowed ? 0 : 1, 0, 0, 0) == 0; }

PageUse page_use(const Root& root) {
  const auto text = read_fact(root, "/proc/self/smaps_rollup");
  if (!text) return {};
  const auto rss = kilobytes(*text, "Rss");
  const auto huge = kilobytes(*text, "AnonHugePages");
  return {.rss = rss.value_or(0), .huge = huge.value_or(0), .known = rss && huge};
}

OrReason<double> huge_share_between(const PageUse& before, const PageUse& after) {
  if (!before.known || !after.known) {
    return OrReason<double>::missing("/proc/self/smaps_rollup cannot be read");
  }
  // Without any huge page the new memory has none either. This holds even if the process did not grow, as when an index
  // lives in memory that an earlier run of this process left.
  if (after.huge == 0) return 0.0;
  if (after.rss <= before.rss) return OrReason<double>::missing("the process did not grow");
  const double grown = static_cast<double>(after.rss - before.rss);
  const double huge = after.huge > before.huge ? static_cast<double>(after.huge - before.huge) : 0;
  return std::min(1.0, huge / grown);
}

OrReason<u64> page_bytes_between(const PageUse& before, const PageUse& after) {
  const OrReason<double> share = huge_share_between(before, after);
  if (!share) return OrReason<u64>::missing(share.reason);
  return *share > .5 ? kHugePageBytes : kSmallPageBytes;
}

std::optional<u64> thread_time_ns() {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return std::nullopt;
  return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
}

Disturbance disturbance_now(const Root& root) {
  Disturbance out;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    out.minor_faults = static_cast<u64>(usage.ru_minflt);
    out.major_faults = static_cast<u64>(usage.ru_majflt);
    out.voluntary_switches = static_cast<u64>(usage.ru_nvcsw);
    out.involuntary_switches = static_cast<u64>(usage.ru_nivcsw);
  }
  out.migrations = migrations_of_threads(root);
  std::istringstream stat(read_fact(root, "/proc/stat").value_or(""));
  std::string name;
  if (stat >> name && name == "cpu") {
    // The columns are: user nice system idle iowait irq softirq steal. The guest columns after them are already part of
    // user and nice.
    u64 all = 0;
    u64 ticks = 0;
    for (u32 column = 0; column < 8 && stat >> ticks; ++column) {
      all += ticks;
      if (column == 7) out.steal_ticks = ticks;
    }
    if (out.steal_ticks) out.all_ticks = all;
  }
  return out;
}

Disturbed disturbed_between(const Disturbance& before, const Disturbance& after) {
  Disturbed out;
  out.minor_faults = grown(before.minor_faults, after.minor_faults, kNoUsage);
  out.major_faults = grown(before.major_faults, after.major_faults, kNoUsage);
  out.voluntary_switches = grown(before.voluntary_switches, after.voluntary_switches, kNoUsage);
  out.involuntary_switches = grown(before.involuntary_switches, after.involuntary_switches, kNoUsage);
  out.migrations =
      grown(before.migrations, after.migrations, "the kernel does not count migrations (/proc/self/task/*/sched)");
  if (!before.all_ticks || !after.all_ticks) {
    out.steal_share = OrReason<double>::missing("/proc/stat cannot be read");
  } else if (*after.all_ticks <= *before.all_ticks) {
    out.steal_share = OrReason<double>::missing("the phase was shorter than a tick");
  } else {
    out.steal_share = static_cast<double>(*after.steal_ticks - std::min(*before.steal_ticks, *after.steal_ticks)) /
                      static_cast<double>(*after.all_ticks - *before.all_ticks);
  }
  return out;
}

OrReason<double> load_average(const Root& root) {
  const auto text = read_fact(root, "/proc/loadavg");
  return measured(text ? parse_double(text->substr(0, text->find(' '))) : std::nullopt, "/proc/loadavg cannot be read");
}

std::optional<std::string> crowd(const OrReason<double>& load, std::size_t processors) {
  if (!load || *load <= static_cast<double>(processors) + 0.5) return std::nullopt;
  return fmt::format("the load average was {:.1f} before the run, on {} processors: other programs were running", *load,
                     processors);
}

MachineInfo read_machine(const Topology& topology, const Root& root) {
  MachineInfo out;
  utsname name{};
  if (uname(&name) == 0) {
    out.hostname = std::string(name.nodename);
    out.kernel = fmt::format("{} {}", name.sysname, name.release);
  } else {
    out.hostname = out.kernel = OrReason<std::string>::missing("uname fails");
  }
  constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
  out.boot_id = measured(read_fact(root, kBootId), fmt::format("{} cannot be read", kBootId));
  const std::string cpuinfo = read_fact(root, "/proc/cpuinfo").value_or("");
  out.model = measured(field(cpuinfo, "model name"), "/proc/cpuinfo has no model name");
  out.microcode = measured(field(cpuinfo, "microcode"), "/proc/cpuinfo has no microcode");
  out.topology = topology.describe();
  out.topology_digest = topology.digest;
  out.processors = topology.allowed_count();
  out.sockets = topology.sockets;
  out.cores = topology.cores;
  out.numa_nodes = static_cast<u32>(topology.nodes.size());
  out.caches = read_caches(root, topology.processors.empty() ? 0 : topology.processors.front().os);
  out.memory_bytes =
      measured(kilobytes(read_fact(root, "/proc/meminfo").value_or(""), "MemTotal"), "/proc/meminfo has no MemTotal");
  out.mitigations = read_mitigations(root);
  out.governor = measured(read_fact(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
                          "the kernel does not set frequencies here (no cpufreq)");
  const auto thp = read_fact(root, "/sys/kernel/mm/transparent_hugepage/enabled");
  out.thp = thp ? OrReason<std::string>(chosen_word(*thp))
                : OrReason<std::string>::missing("the kernel has no transparent huge pages");
  out.numa_balancing = numa_balancing_on(root);
  out.damon = damon_runs(root);
  out.virtual_machine = read_virtual(root, cpuinfo);
  out.rtm.cpuid_rtm = cpu_flags().rtm;
  out.rtm.cpuid_always_abort = cpu_flags().rtm_always_abort;
  out.rtm.probe = rtm_probe().outcome;
  out.heavy_fence = heavy_fence_here();
  return out;
}

}  // namespace latchlab
