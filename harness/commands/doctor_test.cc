#include "harness/commands/doctor.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/host/environment.h"
#include "harness/host/topology.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

namespace fs = std::filesystem;

/// A tree of files that stand for /proc and /sys.
class Fixture {
 public:
  Fixture() : root_(fs::temp_directory_path() / ("latchlab_doctor_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Latch 9000\nmicrocode\t: 0x2b\nflags\t\t: fpu rtm\n");
    put("/proc/meminfo", "MemTotal:       1048576 kB\nMemFree: 1 kB\nMemAvailable:    524288 kB\n");
    put("/proc/loadavg", "0.01 0.02 0.03 1/100 1234\n");
    put("/proc/stat", "cpu  10 0 20 300 5 0 1 4 0 0\ncpu0 5 0 10 150 2 0 1 2 0 0\n");
    put("/proc/sys/kernel/numa_balancing", "0\n");
    put("/proc/sys/kernel/random/boot_id", "5f0e6c1a-0000-4000-8000-000000000001\n");
    put("/proc/sys/kernel/perf_event_paranoid", "4\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
    put("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n");
    put("/sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
    put("/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_map", "00000000,10000001\n");
    put("/sys/devices/system/cpu/vulnerabilities/tsx_async_abort", "Mitigation: TSX disabled\n");
  }
  ~Fixture() { fs::remove_all(root_); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  void put(const std::string& path, const std::string& text) {
    const fs::path file = root_.string() + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  Root root() const { return root_.string(); }

 private:
  fs::path root_;
};

Topology here() {
  Topology topology = Topology::synthetic("pack:2 l3:1 core:2 pu:2");
  topology.this_system = true;
  return topology;
}

Probes all_work() {
  Probes probes;
  probes.flags.rtm = true;
  probes.rtm = {.outcome = RtmOutcome::kWorks, .evidence = "all committed"};
  probes.hle = {.elides = true, .evidence = "always"};
  return probes;
}

Finding about(const std::string& subject, const Fixture& fixture, const Probes& probes = all_work()) {
  for (const Finding& finding : diagnose(here(), probes, fixture.root())) {
    if (finding.subject == subject) return finding;
  }
  FAIL("no finding about " + subject);
  return {};
}

TEST_CASE("doctor finds nothing to change on a machine where everything works") {
  const Fixture fixture;
  const auto findings = diagnose(here(), all_work(), fixture.root());
  for (const Finding& finding : findings) {
    CAPTURE(finding.subject, finding.text);
    CHECK(finding.grade == Grade::kGood);
    CHECK(finding.remedy.empty());
  }
  CHECK_THAT(doctor_text(findings), Catch::EndsWith("This machine measures everything.\n"));
}

TEST_CASE("doctor finds DAMON in each of its forms") {
  Fixture fixture;
  std::string remedy;
  CHECK(about("DAMON", fixture).grade == Grade::kGood);
  SECTION("a worker") {
    fixture.put("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "2\n");
    fixture.put("/sys/kernel/mm/damon/admin/kdamonds/0/state", "off\n");
    CHECK(about("DAMON", fixture).grade == Grade::kGood);
    fixture.put("/sys/kernel/mm/damon/admin/kdamonds/1/state", "on\n");
    remedy = "echo off > /sys/kernel/mm/damon/admin/kdamonds/1/state";
  }
  SECTION("reclaim and lru_sort") {
    fixture.put("/sys/module/damon_stat/parameters/enabled", "N\n");
    fixture.put("/sys/module/damon_reclaim/parameters/enabled", "Y\n");
    fixture.put("/sys/module/damon_lru_sort/parameters/enabled", "Y\n");
    remedy =
        "echo N > /sys/module/damon_reclaim/parameters/enabled; echo N > /sys/module/damon_lru_sort/parameters/enabled";
  }
  const Finding finding = about("DAMON", fixture);
  CHECK(finding.grade == Grade::kMind);
  CHECK_THAT(finding.text, Catch::Contains("aborts"));
  // The remedy has no other command, and no pattern that a shell would expand to several files.
  CHECK(finding.remedy == remedy);
  CHECK_THAT(disturbances(true, fixture.root()).at(0), Catch::Contains("DAMON"));
  CHECK(disturbances(false, fixture.root()).empty());
}

TEST_CASE("doctor reports NUMA balancing if it is on") {
  Fixture fixture;
  CHECK(disturbances(true, fixture.root()).empty());
  fixture.put("/proc/sys/kernel/numa_balancing", "1\n");
  CHECK(about("NUMA balancing", fixture).grade == Grade::kMind);
  CHECK(about("NUMA balancing", fixture).remedy == "sysctl kernel.numa_balancing=0");
  CHECK_THAT(disturbances(true, fixture.root()).at(0),
             Catch::StartsWith("NUMA balancing") && Catch::Contains("transactions"));
  CHECK_THAT(disturbances(false, fixture.root()).at(0),
             Catch::StartsWith("NUMA balancing") && !Catch::Contains("transactions"));
}

TEST_CASE("doctor reports a kernel that refuses to place or find memory, if there are several nodes") {
  const Fixture fixture;
  Probes probes = all_work();
  probes.unplaced = "Operation not permitted";
  const auto by_node = [&](const Topology& topology) {
    for (const Finding& finding : diagnose(topology, probes, fixture.root())) {
      if (finding.subject == "memory by node") return finding;
    }
    return Finding{};
  };
  const Topology two = Topology::synthetic("pack:2 [numa] core:2 pu:2");
  REQUIRE(two.nodes.size() == 2);
  CHECK(by_node(two).grade == Grade::kMissing);
  CHECK(by_node(two).text ==
        "mbind is refused (Operation not permitted): --mem has no effect, and results are marked degraded");
  CHECK_THAT(by_node(two).remedy, Catch::Contains("seccomp"));
  probes.unseen = "Function not implemented";
  CHECK_THAT(
      by_node(two).text,
      Catch::EndsWith("; move_pages is refused (Function not implemented): results do not say where memory lies"));
  CHECK(by_node(Topology::synthetic("pack:1 core:2 pu:1")).grade == Grade::kGood);
  probes.unplaced.reset();
  CHECK_THAT(by_node(two).text, Catch::StartsWith("move_pages is refused"));
}

TEST_CASE("doctor judges transactions by the probe, not by the CPUID flag") {
  const Fixture fixture;
  Probes probes = all_work();
  probes.rtm = {.outcome = RtmOutcome::kAlwaysAborts, .evidence = "1000 begins, 0 commits"};
  const Finding finding = about("transactions", fixture, probes);
  CHECK(finding.grade == Grade::kMissing);
  CHECK_THAT(finding.text, Catch::Contains("announces RTM") && Catch::Contains("always-aborts") &&
                               Catch::Contains("1000 begins, 0 commits"));
  probes.flags.rtm = false;
  probes.rtm.outcome = RtmOutcome::kWorks;
  CHECK(about("transactions", fixture, probes).grade == Grade::kGood);
}

/// The lines of /proc/cpuinfo from which doctor tells processors apart.
std::string processor(std::string_view vendor, u32 model, u32 stepping, bool guest = false) {
  return fmt::format(
      "vendor_id\t: {}\ncpu family\t: 6\nmodel\t\t: {}\nmodel name\t: X\nstepping\t: {}\nflags\t\t: fpu{}\n", vendor,
      model, stepping, guest ? " hypervisor" : "");
}

TEST_CASE("doctor tells transactions that are switched off from absent ones, and advises only what can help") {
  constexpr u32 kSkylake = 0x55, kIceLake = 0x6a, kAlderLake = 0x97, kCoffeeLake = 0x9e;
  Fixture fixture;
  fixture.put("/sys/devices/system/cpu/vulnerabilities/tsx_async_abort", "Not affected\n");
  Probes probes = all_work();
  probes.rtm = {.outcome = RtmOutcome::kAbsent, .evidence = "XBEGIN raised an illegal instruction"};
  probes.hle = {.elides = false, .evidence = "never"};
  probes.flags.rtm = false;
  const auto found = [&] { return about("transactions", fixture, probes); };
  const auto put_processor = [&](const std::string& text) { fixture.put("/proc/cpuinfo", text); };
  constexpr const char* kTsxOn = "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&tsx=on /' /etc/default/grub && update-grub";

  SECTION("AMD has none, and no host can offer them") {
    for (const bool guest : {false, true}) {
      put_processor(processor("AuthenticAMD", 1, 1, guest));
      CHECK_THAT(found().text, Catch::StartsWith("absent: RTM is Intel's, and this is a processor of AMD; CPUID"));
      CHECK_THAT(found().remedy, Catch::StartsWith("no command: "));
      CHECK_THAT(found().remedy, !Catch::Contains("qemu") && !Catch::Contains("tsx="));
    }
  }
  SECTION("a model with a switch: Linux is built with tsx=off") {
    put_processor(processor("GenuineIntel", kIceLake, 6));
    CHECK_THAT(found().text, Catch::StartsWith("present, but switched off by Linux (its default, unless"));
    CHECK_THAT(found().remedy, Catch::StartsWith(kTsxOn) && Catch::Contains("(the risk: ") && Catch::Contains("TAA"));
    CHECK_THAT(found().remedy, !Catch::Contains("tsx_async_abort"));  // the mitigation may stay
    fixture.put("/proc/cmdline", "root=/dev/sda1 tsx=off quiet\n");
    CHECK_THAT(found().text, Catch::StartsWith("present, but switched off by Linux (booted with tsx=off)"));
    CHECK_THAT(found().remedy, Catch::StartsWith("sed -i 's/\\btsx=off\\b/tsx=on/' /etc/default/grub"));
    fixture.put("/proc/cmdline", "tsx=off tsx=on\n");  // the last one counts
    CHECK_THAT(found().text, Catch::Contains("although Linux was booted with tsx=on"));
    CHECK_THAT(found().remedy, Catch::Contains("firmware"));
  }
  SECTION("Skylake has no switch, Cascade Lake of the same model has") {
    put_processor(processor("GenuineIntel", kSkylake, 4));
    CHECK_THAT(found().text, Catch::StartsWith("absent: "));
    put_processor(processor("GenuineIntel", kSkylake, 7));
    CHECK_THAT(found().text, Catch::StartsWith("present, but switched off by Linux"));
  }
  SECTION("a model that is not listed: the kernel's word on TAA tells") {
    put_processor(processor("GenuineIntel", kCoffeeLake, 13));
    CHECK_THAT(found().text, Catch::StartsWith("absent: "));
    fixture.put("/sys/devices/system/cpu/vulnerabilities/tsx_async_abort", "Mitigation: TSX disabled\n");
    CHECK_THAT(found().text, Catch::StartsWith("present, but switched off by Linux"));
    CHECK_THAT(found().remedy, Catch::StartsWith(kTsxOn));
  }
  SECTION("microcode that makes every transaction abort: tsx=on does not help") {
    put_processor(processor("GenuineIntel", kCoffeeLake, 13));
    fixture.put("/sys/devices/system/cpu/vulnerabilities/tsx_async_abort", "Mitigation: TSX disabled\n");
    probes.flags.rtm_always_abort = true;
    probes.rtm.outcome = RtmOutcome::kAlwaysAborts;
    CHECK_THAT(found().text, Catch::StartsWith("present, but Intel's microcode makes every transaction abort"));
    CHECK_THAT(found().remedy, Catch::StartsWith("no command: ") && Catch::EndsWith("tsx=on changes nothing here"));
  }
  SECTION("a newer model without TSX, whatever the kernel's command line says") {
    put_processor(processor("GenuineIntel", kAlderLake, 2));
    fixture.put("/proc/cmdline", "tsx=off\n");
    CHECK_THAT(found().text, Catch::StartsWith("absent: this processor has no TSX"));
    CHECK_THAT(found().remedy, Catch::StartsWith("no command: ") && !Catch::Contains("tsx="));
  }
  SECTION("a guest on Intel from which the host hides RTM") {
    put_processor(processor("GenuineIntel", kIceLake, 6, true));
    CHECK_THAT(found().text, Catch::StartsWith("switched off for this virtual machine, or absent: "));
    CHECK_THAT(found().remedy, Catch::Contains("-cpu host,+rtm") && !Catch::Contains("tsx="));
    fixture.put("/proc/cmdline", "tsx=off\n");
    CHECK_THAT(found().remedy, Catch::EndsWith("; boot this machine without tsx=off, too"));
    probes.flags.rtm = true;
    CHECK_THAT(found().text, Catch::StartsWith("this virtual machine announces them, but"));
  }
  SECTION("announced, not committed, and nothing explains it") {
    put_processor(processor("GenuineIntel", kIceLake, 6));
    probes.flags.rtm = true;
    probes.rtm.outcome = RtmOutcome::kAlwaysAborts;
    CHECK_THAT(found().text, Catch::StartsWith("announced, but they do not commit; CPUID announces RTM"));
  }
  CHECK(found().grade == Grade::kMissing);
  // An emulation by transactions is no remedy where those do not work.
  CHECK(about("lock prefixes", fixture, probes).remedy.empty());
}

TEST_CASE("doctor speaks of DAMON only where something can elide") {
  Fixture fixture;
  fixture.put("/sys/module/damon_reclaim/parameters/enabled", "Y\n");
  fixture.put("/proc/sys/kernel/numa_balancing", "1\n");
  Probes probes = all_work();
  const auto subjects = [&] {
    std::string all;
    for (const Finding& finding : diagnose(here(), probes, fixture.root())) all += finding.subject + ";";
    return all;
  };
  CHECK_THAT(subjects(), Catch::Contains("DAMON"));
  probes.rtm.outcome = RtmOutcome::kAbsent;  // the prefixes still elide
  CHECK_THAT(subjects(), Catch::Contains("DAMON"));
  CHECK_THAT(about("NUMA balancing", fixture, probes).text, Catch::Contains("aborts transactions"));
  probes.hle.elides = false;
  CHECK_THAT(subjects(), !Catch::Contains("DAMON"));
  CHECK_THAT(about("NUMA balancing", fixture, probes).text, !Catch::Contains("transactions"));
}

TEST_CASE("transactions without TSXLDTRK are good, and the finding says so") {
  const Fixture fixture;
  Probes probes = all_work();
  CHECK_THAT(about("transactions", fixture, probes).text, Catch::Contains("without TSXLDTRK"));
  probes.flags.tsxldtrk = true;
  CHECK_THAT(about("transactions", fixture, probes).text, Catch::EndsWith("their loads can be suspended"));
}

TEST_CASE("doctor reports lock prefixes that elide nothing, with the evidence") {
  const Fixture fixture;
  Probes probes = all_work();
  CHECK(about("lock prefixes", fixture, probes).grade == Grade::kGood);
  probes.hle = {.elides = false, .evidence = "0 of 1000 times"};
  CHECK(about("lock prefixes", fixture, probes).grade == Grade::kMissing);
  CHECK_THAT(about("lock prefixes", fixture, probes).remedy, Catch::Contains("hle:emulated"));
  CHECK_THAT(about("lock prefixes", fixture, probes).text, Catch::Contains("0 of 1000 times"));
}

TEST_CASE("doctor reports the heavy fence, with a remedy if it is slow or missing") {
  const Fixture fixture;
  Probes probes = all_work();
  CHECK(about("heavy fence", fixture, probes).text == "membarrier");
  probes.heavy_fence = HeavyFence::kVisits;
  CHECK(about("heavy fence", fixture, probes).grade == Grade::kMind);
  CHECK_THAT(about("heavy fence", fixture, probes).text, Catch::StartsWith("visits: membarrier is forbidden"));
  CHECK_THAT(about("heavy fence", fixture, probes).remedy, Catch::Contains("seccomp"));
  probes.heavy_fence = HeavyFence::kNone;
  CHECK(about("heavy fence", fixture, probes).grade == Grade::kMissing);
  CHECK(read_machine(here(), fixture.root()).heavy_fence == heavy_fence_here());
}

TEST_CASE("doctor says why counters cannot be opened") {
  Fixture fixture;
  Probes probes = all_work();
  probes.pmu = {.processor = "skx", .error = ENOENT, .user_only = false, .families = "software 3 of 3, core 0 of 3"};
  const auto found = [&] { return about("hardware counters", fixture, probes); };
  CHECK(found().grade == Grade::kMissing);
  CHECK_THAT(found().text, Catch::Contains("ENOENT") && Catch::Contains("as skx") && Catch::EndsWith("core 0 of 3"));
  CHECK_THAT(found().remedy, Catch::Contains("virtual PMU"));
  probes.pmu.error = EACCES;
  CHECK_THAT(found().text, Catch::Contains("EACCES"));
  CHECK_THAT(found().remedy, Catch::StartsWith("sysctl kernel.perf_event_paranoid=1 (it is 4)"));
  probes.pmu.error = 0;
  probes.pmu.user_only = true;
  CHECK(found().grade == Grade::kMind);
  CHECK_THAT(found().remedy, Catch::StartsWith("sysctl kernel.perf_event_paranoid=1"));
}

TEST_CASE("doctor judges pages, frequency and load by the kernel's files") {
  Fixture fixture;
  fixture.put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  fixture.put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  fixture.put("/proc/loadavg", "3.50 0.02 0.03 1/100 1234\n");
  CHECK(about("huge pages", fixture).grade == Grade::kMissing);
  CHECK(about("huge pages", fixture).remedy == "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  CHECK(about("frequency", fixture).grade == Grade::kMind);
  CHECK(about("frequency", fixture).remedy ==
        "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
  CHECK(about("load", fixture).grade == Grade::kMind);
}

TEST_CASE("doctor reports a single processor with another governor") {
  Fixture fixture;
  fixture.put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n");
  CHECK(about("frequency", fixture).grade == Grade::kMind);
  CHECK_THAT(about("frequency", fixture).text, Catch::StartsWith("governor performance, powersave"));
}

TEST_CASE("doctor reports huge pages that the kernel does not make by moving others") {
  Fixture fixture;
  fixture.put("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n");
  CHECK(about("huge pages", fixture).grade == Grade::kGood);
  fixture.put("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise madvise [never]\n");
  CHECK(about("huge pages", fixture).grade == Grade::kMind);
  CHECK(about("huge pages", fixture).remedy == "echo madvise > /sys/kernel/mm/transparent_hugepage/defrag");
}

TEST_CASE("doctor reports a clock whose reading is a system call") {
  Fixture fixture;
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  for (const char* fast : {"tsc\n", "kvm-clock\n"}) {
    fixture.put(folder + "current_clocksource", fast);
    CHECK(about("clock", fixture).grade == Grade::kGood);
  }
  fixture.put(folder + "current_clocksource", "hpet\n");
  fixture.put(folder + "available_clocksource", "tsc hpet acpi_pm\n");
  CHECK(about("clock", fixture).grade == Grade::kMind);
  CHECK(about("clock", fixture).remedy ==
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource");
  fixture.put(folder + "available_clocksource", "hpet acpi_pm\n");
  CHECK_THAT(about("clock", fixture).remedy, Catch::StartsWith("boot with"));
}

TEST_CASE("on a machine without /proc and /sys every fact is missing with a reason, and none is zero") {
  const Root nowhere = "/nonexistent/root";
  const MachineInfo machine = read_machine(here(), nowhere);
  CHECK_FALSE(machine.model);
  CHECK_FALSE(machine.model.reason.empty());
  CHECK_FALSE(machine.microcode);
  CHECK_FALSE(machine.boot_id);
  CHECK(machine.boot_id.reason == "/proc/sys/kernel/random/boot_id cannot be read");
  CHECK_FALSE(machine.governor);
  CHECK_FALSE(machine.thp);
  CHECK_FALSE(machine.numa_balancing);
  CHECK_FALSE(machine.damon);
  CHECK_FALSE(machine.virtual_machine);
  CHECK_FALSE(machine.mitigations);
  CHECK_FALSE(load_average(nowhere));
  CHECK_FALSE(page_use(nowhere).known);
  Disturbed disturbed = disturbed_between(disturbance_now(nowhere), disturbance_now(nowhere));
  CHECK_FALSE(disturbed.steal_share);
  CHECK_FALSE(disturbed.migrations);
  CHECK(disturbed.voluntary_switches);
  // Counts of getrusage are missing too if it fails.
  disturbed = disturbed_between({}, {});
  for (const OrReason<u64>& count :
       {disturbed.voluntary_switches, disturbed.involuntary_switches, disturbed.minor_faults, disturbed.major_faults}) {
    CHECK_FALSE(count);
    CHECK(count.reason == "the kernel does not tell (getrusage)");
  }
  Disturbance before, after;
  before.minor_faults = 3;
  after.minor_faults = 5;
  before.major_faults = after.major_faults = 0;
  disturbed = disturbed_between(before, after);
  CHECK(*disturbed.minor_faults == 2);
  CHECK(*disturbed.major_faults == 0);
}

TEST_CASE("machine facts are read from their files") {
  Fixture fixture;
  const MachineInfo machine = read_machine(here(), fixture.root());
  CHECK(*machine.model == "Latch 9000");
  CHECK(*machine.microcode == "0x2b");
  CHECK(*machine.boot_id == "5f0e6c1a-0000-4000-8000-000000000001");
  CHECK(*machine.governor == "performance");
  CHECK(*machine.thp == "madvise");
  CHECK_FALSE(*machine.virtual_machine);
  CHECK_FALSE(*machine.numa_balancing);
  CHECK(*machine.memory_bytes == u64{1} << 30);
  CHECK(machine.mitigations->at(0).second == "Mitigation: TSX disabled");
  REQUIRE(machine.caches.size() == 1);
  CHECK(machine.caches[0].level == 1);
  CHECK(machine.caches[0].type == "data");
  CHECK(*machine.caches[0].bytes == 48 * 1024);
  CHECK(*machine.caches[0].shared_by == 2);
  CHECK(available_memory(fixture.root()) == u64{512} << 20);
  fixture.put("/sys/fs/cgroup/memory.max", "104857600\n");
  fixture.put("/sys/fs/cgroup/memory.current", "4857600\n");
  CHECK(available_memory(fixture.root()) == 100'000'000);
  CHECK(*load_average(fixture.root()) == Approx(.01));
}

TEST_CASE("memory bound to nodes is limited by their free memory and file cache") {
  Fixture fixture;
  const PagePlacement bound{.kind = PagePlacement::Kind::kBind, .nodes = {0, 2}};
  CHECK(available_memory_on(bound, fixture.root()) == ~u64{0});
  for (const char* node : {"0", "2"}) {
    const std::string name = std::string("Node ") + node + " ";
    fixture.put(std::string("/sys/devices/system/node/node") + node + "/meminfo",
                name + "MemTotal: 99 kB\n" + name + "MemFree: 4 kB\n" + name + "Active: 64 kB\n" + name +
                    "Active(file):   2 kB\n" + name + "Inactive(file):   1 kB\n");
  }
  CHECK(available_memory_on(bound, fixture.root()) == 2 * 7 * 1024);
  CHECK(available_memory_on({}, fixture.root()) == ~u64{0});
  CHECK(available_memory_on({.kind = PagePlacement::Kind::kInterleave, .nodes = {0, 2}}, fixture.root()) == ~u64{0});
}

TEST_CASE("local memory is limited by the fullest of the threads' nodes, times their number") {
  Fixture fixture;
  for (const auto& [node, kilobytes] : {std::pair("0", 9), {"1", 4}}) {
    const std::string name = std::string("Node ") + node + " ";
    fixture.put(std::string("/sys/devices/system/node/node") + node + "/meminfo",
                fmt::format("{0}MemFree: {1} kB\n{0}Active(file): 0 kB\n{0}Inactive(file): 0 kB\n", name, kilobytes));
  }
  const auto local = [&](std::vector<u32> nodes) {
    return available_memory_on({.kind = PagePlacement::Kind::kLocal, .nodes = std::move(nodes)}, fixture.root());
  };
  CHECK(local({0}) == 9 * 1024);
  CHECK(local({0, 1}) == 2 * 4 * 1024);
  CHECK(local({}) == ~u64{0});  // the nodes are unknown
}

TEST_CASE("a load average is noted only if it exceeds that of our own earlier runs") {
  CHECK_FALSE(crowd(2.5, 2));
  CHECK_THAT(crowd(2.6, 2).value_or(""), Catch::StartsWith("the load average was 2.6 before the run, on 2 processors"));
  CHECK_FALSE(crowd(2.6, 3));
  CHECK_FALSE(crowd(OrReason<double>::missing("not told"), 2));
}

TEST_CASE("machine facts without a file are missing, not zero") {
  const MachineInfo machine = read_machine(here(), "/nonexistent");
  CHECK_FALSE(machine.memory_bytes);
  CHECK_FALSE(machine.model);
  CHECK(machine.hostname);  // from the kernel itself
  Fixture fixture;
  fixture.put("/sys/devices/system/cpu/cpu0/cache/index0/size", "many\n");
  fixture.put("/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_map", "0\n");
  const MachineInfo odd = read_machine(here(), fixture.root());
  REQUIRE(odd.caches.size() == 1);
  CHECK_FALSE(odd.caches[0].bytes);
  CHECK_FALSE(odd.caches[0].shared_by);
}

TEST_CASE("doctor shows the flags of CPUID") {
  Probes probes = all_work();
  probes.flags.avx2 = probes.flags.tsxldtrk = true;
  CHECK(about("CPUID", Fixture(), probes).text == "announces AVX2, RTM, TSXLDTRK");
  probes.flags = {};
  CHECK(about("CPUID", Fixture(), probes).text == "announces no instruction set that this harness uses");
}

TEST_CASE("steal is a share of all processor time between two readings") {
  Fixture fixture;
  const Disturbance before = disturbance_now(fixture.root());
  fixture.put("/proc/stat", "cpu  10 0 20 300 5 0 1 24 0 0\n");
  Disturbance after = disturbance_now(fixture.root());
  OrReason<double> steal = disturbed_between(before, after).steal_share;
  REQUIRE(steal);
  CHECK(*steal == Approx(1));
  fixture.put("/proc/stat", "cpu  10 0 80 300 5 0 1 24 0 0\n");
  after = disturbance_now(fixture.root());
  steal = disturbed_between(before, after).steal_share;
  REQUIRE(steal);
  CHECK(*steal == Approx(.25));
}

TEST_CASE("the share of huge pages is that of the memory that was added") {
  const PageUse before{.rss = 100 << 20, .huge = 0, .known = true};
  const PageUse after{.rss = 300 << 20, .huge = 150 << 20, .known = true};
  CHECK(*huge_share_between(before, after) == Approx(.75));
  CHECK(*page_bytes_between(before, after) == 2 << 20);
  CHECK(*page_bytes_between(before, {.rss = 300 << 20, .huge = 0, .known = true}) == 4096);
  CHECK_FALSE(huge_share_between({}, after));
}

TEST_CASE("a process that did not grow has small pages if it has no huge page, else the size is unknown") {
  const PageUse grown{.rss = 300 << 20, .huge = 0, .known = true};
  REQUIRE(huge_share_between(grown, grown));
  CHECK(*huge_share_between(grown, grown) == 0);
  CHECK(*page_bytes_between(grown, grown) == 4096);
  CHECK(*page_bytes_between({.rss = 400 << 20, .huge = 2 << 20, .known = true}, grown) == 4096);
  const PageUse left{.rss = 300 << 20, .huge = 2 << 20, .known = true};
  CHECK_FALSE(huge_share_between(left, left));
  CHECK(page_bytes_between(left, left).reason == "the process did not grow");
  CHECK_FALSE(page_bytes_between(grown, {}));
}

TEST_CASE("the probes run on this machine") {
  const Probes probes = run_probes();
  CHECK_FALSE(probes.rtm.evidence.empty());
  const std::string text = doctor_text(diagnose(Topology::discover(), probes));
  CHECK_THAT(text,
             Catch::Contains("transactions") && Catch::Contains("NUMA balancing") && Catch::Contains("huge pages"));
}

TEST_CASE("a modelled machine: the doctor lists what is not measured or published, the least certain last",
          "[doctor]") {
  auto machine = model::MachineFile::of(Spec::parse("haswell-ep"));
  machine.change(std::array{std::pair<std::string, std::string>("qpi.gbps", "2x")});
  const std::string text = model_text(machine);
  CHECK_FALSE(text.starts_with("measured"));
  CHECK(text.find("\npublished") == std::string::npos);
  const std::size_t changed = text.find("assumed  qpi.gbps"), recalled = text.find("recalled l1.kb");
  REQUIRE(changed != std::string::npos);
  REQUIRE(recalled != std::string::npos);
  CHECK(recalled < changed);
  CHECK(text.find("a change on the command line") != std::string::npos);
  CHECK(text.ends_with(" values of haswell-ep are measured or published.\n"));
}

}  // namespace
}  // namespace latchlab
