#include "harness/commands/machine_survey.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/text/progress_lines.h"
#include "src/testing/catch.h"
#include "src/testing/json_schema.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using model::MachineFile;
using model::Tag;
using testing::refusal;

/// Returns a survey with every number that a machine of one socket can have.
MachineSurvey made_up() {
  MachineSurvey s;
  s.shape = {.sockets = 1, .clusters = 2, .cores = 2, .threads = 1};
  s.date = "2026-11-27";
  s.model = "A \"fast\" processor";
  s.vendor = "AuthenticAMD";
  s.notes = {"noisy: other programs had the processors"};
  s.caches = {{.level = 1, .type = "data", .bytes = 32768, .shared_by = 1U},
              {.level = 1, .type = "instruction", .bytes = 65536, .shared_by = 1U},
              {.level = 2, .type = "unified", .bytes = 524288, .shared_by = 1U},
              {.level = 3, .type = "unified", .bytes = 33554432, .shared_by = 4U}};
  s.ways = {8U, 8U, 16U};
  s.l3_share = .5;
  s.l3_inclusive = false;
  s.cycle_ns = std::vector<double>{.2777, .2857};
  s.l1 = MachineSurvey::Level{.bytes = 16384, .ns = 1.114};
  s.l2 = MachineSurvey::Level{.bytes = 131072, .ns = 3.5};
  s.l3 = MachineSurvey::Level{.bytes = 4 << 20, .ns = 13.333};
  s.memory[0] = MachineSurvey::Level{.bytes = 512 << 20, .ns = 100.4};
  s.memory[1] = MachineSurvey::Level{.bytes = 512 << 20, .ns = 104.5};
  s.memory[2] = OrReason<MachineSurvey::Level>::missing("unused with one socket");
  s.small_pages_ns = 130.4;
  s.independent_ns = 6.5;
  s.gb_per_cluster = 12.345;
  s.gb_over_link = OrReason<double>::missing("unused with one socket");
  s.written_elsewhere_ns = {22.2, 99.9, OrReason<double>::missing("unused with one socket")};
  s.taken_from_reader_ns = {30., 90., OrReason<double>::missing("unused with one socket")};
  s.fetch_add_ns = 4.5;
  s.transaction_ns = OrReason<double>::missing("CPUID has no RTM");
  s.small_fault_ns = 700.;
  s.huge_fault_ns = 110000.;
  s.protect_ns = 1234.5;
  s.tick_hz = 250.;
  s.numa_balancing = false;
  return s;
}

MachineFile shipped(const std::string& name) { return MachineFile::of(Spec::parse(name)); }

const MachineFile::Value& value_in(const MachineFile& file, std::string_view key) {
  const auto found = std::ranges::find(file.values(), key, &MachineFile::Value::key);
  REQUIRE(found != file.values().end());
  return *found;
}

TEST_CASE("the machine file of a made-up survey is the committed one") {
  testing::check_committed("harness/commands/machine_survey_test.toml",
                           machine_text(made_up(), "made-up", shipped("epyc")));
}

TEST_CASE("a written machine file loads, and says of each value where it is from") {
  const MachineFile file = MachineFile::parse(machine_text(made_up(), "made-up", shipped("epyc")), "made-up.toml");
  CHECK(file.name() == "made-up");
  CHECK_FALSE(file.parameters().htm.present);
  CHECK(file.parameters().all_threads() == 4);
  for (const MachineFile::Value& value : file.values()) {
    CAPTURE(value.key, value.source);
    if (value.tag == Tag::kMeasured) {
      CHECK(value.source.starts_with("this machine: ./bench limits, 2026-11-27, A \"fast\" processor: "));
    } else {
      CHECK(value.tag == Tag::kAssumed);
      CHECK(value.source.starts_with("from epyc, "));
    }
  }
}

TEST_CASE("values of a machine file follow from what was measured") {
  const MachineFile file = MachineFile::parse(machine_text(made_up(), "made-up", shipped("epyc")), "made-up.toml");
  const auto& p = file.parameters();
  CHECK(p.clock.ghz_by_active == std::vector<double>{3.6, 3.5});
  CHECK(p.l1.kb == 32);  // of data, not of instructions
  CHECK(p.l3.mb_per_cluster == 16);
  CHECK(p.l3.kind == model::L3Kind::kVictim);
  CHECK(p.tlb.walk_ns == 30);
  CHECK(p.core.fill_buffers == 15);
  CHECK(p.core.atomic_ns == 3.39);
  CHECK(p.l3.exclusive_elsewhere == 25.5);
  CHECK(p.cluster.modified == 99.9);
  // A huge page is 511 pages more to clear: (110000 - 700) / (511 * 4096).
  CHECK(p.kernel.clear_ns_per_byte == .0522);
  CHECK(p.kernel.fault_ns == 486);
  CHECK(p.kernel.marks_per_s == 0);
}

TEST_CASE("a value that was not measured is another machine's, with the reason") {
  MachineSurvey survey = made_up();
  survey.memory[0] = OrReason<MachineSurvey::Level>::missing("the kernel gives no huge pages");
  survey.caches.clear();
  survey.numa_balancing = true;  // then the rate of marks is unknown
  survey.fetch_add_ns = .5;      // less than a load: what was measured cannot be an increment's own cost
  const MachineFile epyc = shipped("epyc");
  const MachineFile file = MachineFile::parse(machine_text(survey, "made-up", epyc), "made-up.toml");
  for (const auto& [key, why] :
       {std::pair{"dram.local", " (here: the kernel gives no huge pages)"},
        std::pair{"tlb.walk_ns", " (here: the kernel gives no huge pages)"},
        std::pair{"core.fill_buffers", " (here: the kernel gives no huge pages)"},
        std::pair{"l2.kb", " (here: the kernel lists no L2 cache)"},
        std::pair{"socket.modified", " (here: unused with one socket)"}, std::pair{"kernel.marks_per_s", ""}}) {
    const MachineFile::Value& here = value_in(file, key);
    const MachineFile::Value& there = value_in(epyc, key);
    CAPTURE(key);
    CHECK(here.tag == Tag::kAssumed);
    CHECK(here.text == there.text);
    CHECK(here.source == "from epyc, " + std::string(word(there.tag)) + " there: " + there.source + why);
  }
  CHECK(file.parameters().core.atomic_ns == 0);
}

TEST_CASE("a measured value out of range is another machine's, and says what was measured") {
  MachineSurvey survey = made_up();
  survey.ways[0] = 512U;
  const MachineFile file = MachineFile::parse(machine_text(survey, "made-up", shipped("epyc")), "made-up.toml");
  const MachineFile::Value& ways = value_in(file, "l1.ways");
  CHECK(ways.text == "8");
  CHECK_THAT(ways.source, Catch::EndsWith("(here: measured as 512, but it must be a whole number from 1 to 32)"));
}

TEST_CASE("the cost of a transaction is shared out between begin and commit, if the other machine has any") {
  MachineSurvey survey = made_up();
  survey.transaction_ns = 15.114;
  const MachineFile file = MachineFile::parse(machine_text(survey, "made-up", shipped("haswell-ep")), "made-up.toml");
  CHECK(file.parameters().htm.present);
  CHECK(file.parameters().htm.begin == 8);
  CHECK(file.parameters().htm.commit == 6);
  CHECK(value_in(file, "htm.begin").tag == Tag::kAssumed);
  CHECK_THAT(value_in(file, "htm.begin").source, Catch::Contains("a transaction that reads one line takes 15.1 ns"));
  CHECK(value_in(file, "htm.abort").source.starts_with("from haswell-ep, recalled there: "));
  CHECK_THAT(refusal([&] { (void)machine_text(survey, "made-up", shipped("epyc")); }),
             Catch::StartsWith("--like=epyc: it has no transactions, and this machine has"));
}

TEST_CASE("the nearest shipped machine goes by vendor and kind of L3") {
  const auto unknown = OrReason<bool>::missing("CPUID does not describe the L3 cache");
  CHECK(machine_like("AuthenticAMD", true) == "epyc");
  CHECK(machine_like("GenuineIntel", false) == "sapphire-rapids");
  CHECK(machine_like("GenuineIntel", true) == "haswell-ep");
  CHECK(machine_like("GenuineIntel", unknown) == "haswell-ep");
  CHECK(machine_like("", false) == "haswell-ep");
}

TEST_CASE("only a machine of equal parts, and of few enough, has a shape") {
  const auto shape = [](const char* description) {
    const auto s = shape_of(Topology::synthetic(description));
    return std::array{s.sockets, s.clusters, s.cores, s.threads};
  };
  CHECK(shape("pack:2 l3:2 core:7 pu:2") == std::array{2U, 2U, 7U, 2U});
  CHECK(shape("pu:2") == std::array{1U, 1U, 2U, 1U});
  CHECK_THAT(refusal([&] { shape("pack:1 l3:1 core:65 pu:1"); }),
             Catch::Contains("at most 64 cores in 16 clusters, and this machine has 65 in 1; choose processors"));
  Topology uneven = Topology::synthetic("pack:1 l3:2 core:2 pu:1");
  uneven.restrict_to({0, 1, 2});
  CHECK_THAT(refusal([&] { (void)shape_of(uneven); }), Catch::Contains("and this machine has not"));
  uneven.restrict_to({0, 1});
  CHECK(shape_of(uneven).clusters == 1);
}

TEST_CASE("a written machine file never replaces another") {
  const TemporaryFile there("old");
  const auto write = [&](const std::string& path, const char* like) { return write_machine(path, like, made_up()); };
  CHECK(refusal([&] { (void)write(there.path(), ""); }) ==
        "machine file '" + there.path() + "': cannot be written: File exists");
  std::ifstream old(there.path());
  CHECK(std::string(std::istreambuf_iterator<char>(old), {}) == "old");
  const std::string path = there.path() + ".toml";
  CHECK_THAT(write(path, ""),
             Catch::Contains("; epyc has the others, the nearest shipped machine (--like=NAME); wrote"));
  CHECK(MachineFile::of(Spec::parse("file:" + path)).parameters().tlb.walk_ns == 30);
  std::filesystem::remove(path);
  CHECK_THAT(write(path, "sapphire-rapids"), Catch::Contains("; sapphire-rapids has the others; wrote "));
  std::filesystem::remove(path);
}

TEST_CASE("every value of this machine's file is measured, or has a reason", "[realtime]") {
  const Topology topology = Topology::discover();
  Survey limits;
  limits.machine = read_machine(topology);
  limits.limits = no_limits("not asked for");
  LimitsPlan plan;
  plan.footprint = 4 << 20;
  plan.time_ns = 2'000'000;
  const MachineSurvey survey = survey_machine(plan, topology, limits, *make_progress(ProgressMode::kNone));
  const MachineFile file = MachineFile::parse(machine_text(survey, "here", shipped("haswell-ep")), "here.toml");
  CHECK_FALSE(file.parameters().htm.present);
  for (const char* key : {"topology.cores", "clock.ghz_by_active", "kernel.hz", "kernel.mprotect_ns"})
    CHECK(value_in(file, key).tag == Tag::kMeasured);
  CHECK_THAT(value_in(file, "core.atomic_ns").source, Catch::EndsWith(" (here: interrupted, or no memory)"));
}

}  // namespace
}  // namespace latchlab
