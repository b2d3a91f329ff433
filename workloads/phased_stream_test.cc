#include "workloads/phased_stream.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"
#include "workloads/no_gets_testing.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

using testing::no_gets;

std::vector<WorkloadPhase> phases_in(const std::string& text) {
  const TemporaryFile file(text);
  return read_phases(file.path());
}

std::string complaint(const std::string& text) {
  return testing::refusal([&] { (void)phases_in(text); });
}

std::vector<Op> all_of(const Stream& stream, u64 chunk) {
  std::vector<Op> ops(stream.size());
  for (u64 first = 0; first < ops.size(); first += chunk) {
    stream.fill(first, std::span(ops).subspan(first, std::min<u64>(chunk, ops.size() - first)), no_gets);
  }
  return ops;
}

TEST_CASE("each phase addresses the records that those before it have left") {
  const KeySet keys(Spec::parse("u64"), 7);
  const auto phases = phases_in(
      "a 1000 mix:insert=30,read=70\nb 777 lookup zipf:1\nc 3000 mix:erase=50,read=25,update=25 latest\n"
      "d 1500 mix:insert=50,upsert=25,rmw=12.5,modify=12.5 zipf:0.5\n");
  const PhasedStream stream(3, 1, keys, phases, 5'000);
  REQUIRE(stream.size() == 6'656);
  const std::vector<Op> ops = all_of(stream, 6'656);
  for (const u64 chunk : {1u, 100u, 256u, 999u}) CHECK(all_of(stream, chunk) == ops);

  std::set<u64> there;
  for (u64 n = 0; n < 5'000; ++n) there.insert(keys.key<u64>(n));
  u64 begin = 0;
  for (const WorkloadPhase& phase : phases) {
    CAPTURE(phase.name);
    // Operations of a phase overtake each other by a block; those of earlier phases are all done.
    std::set<u64> during = there;
    for (u64 i = begin; i < begin + phase.operations; ++i) {
      if (ops[i].kind == OpKind::kInsert) CHECK(during.insert(ops[i].key).second);
    }
    for (u64 i = begin; i < begin + phase.operations; ++i) {
      CHECK(during.count(ops[i].key) == 1);
      if (ops[i].kind == OpKind::kInsert) there.insert(ops[i].key);
    }
    for (u64 i = begin; i < begin + phase.operations; ++i) {
      if (ops[i].kind == OpKind::kErase) CHECK(there.erase(ops[i].key) == 1);
    }
    begin += phase.operations;
  }
  CHECK(there.size() == 5'000 + 307 - 1'536 + 768);  // in 4, 12 and 6 blocks
}

TEST_CASE("popular records stay popular under replacement, within a phase and from phase to phase") {
  constexpr u64 kRecords = 1000;
  const KeySet keys(Spec::parse("dense"), 7);  // so record n has the key n
  const auto phases = phases_in(
      "before 5k lookup zipf:1.5\nreplace 5k mix:insert=20,erase=20,update=60 zipf:1.5\n"
      "after 5k lookup zipf:1.5\nwrite 5k mix:update=50,read=50 zipf:1.5\n");
  const PhasedStream stream(3, 1, keys, phases, kRecords);
  REQUIRE(windows_of(phases, kRecords, keys.capacity()).back().gone % kRecords != 0);  // otherwise no record could move
  const std::vector<Op> ops = all_of(stream, 4096);
  const std::vector<u64> ends = stream.sections();
  std::set<u64> hottest;
  for (std::size_t phase = 0; phase < ends.size(); ++phase) {
    std::vector<u64> asked(kRecords);
    for (u64 i = phase == 0 ? 0 : ends[phase - 1]; i < ends[phase]; ++i) {
      if (ops[i].kind == OpKind::kRead || ops[i].kind == OpKind::kUpdate) ++asked[ops[i].key % kRecords];
    }
    hottest.insert(static_cast<u64>(std::ranges::max_element(asked) - asked.begin()));
  }
  CHECK(hottest.size() == 1);
}

TEST_CASE("phases are sections of their stream, in whole blocks") {
  const KeySet keys(Spec::parse("u64"), 7);
  const PhasedStream stream(1, 1, keys, phases_in("a 1 lookup\nb 257 lookup\nc 512 lookup\n"), 10);
  CHECK(stream.sections() == std::vector<u64>{256, 768, 1280});
  CHECK(stream.size() == 1280);
}

TEST_CASE("phases that leave more records than there are keys or ranks are refused") {
  const auto window_after = [](const std::string& text, u64 records, u64 capacity = ~u64{0}) {
    const MixStream::Window window = windows_of(phases_in(text), records, capacity).back();
    return std::pair(window.gone, window.records);
  };
  const auto refused = [](const std::string& text, u64 records, u64 capacity = ~u64{0}) {
    return testing::refusal([&] { (void)windows_of(phases_in(text), records, capacity); });
  };
  CHECK(window_after("a 512 mix:insert=100\nb 256 mix:erase=100\n", 5) == std::pair<u64, u64>(256, 261));
  CHECK(window_after("a 512 mix:insert=100\nb 256 mix:erase=100\n", 5, 517) == std::pair<u64, u64>(256, 261));
  CHECK(refused("a 512 mix:insert=100\nb 256 mix:erase=100\n", 5, 516) ==
        "phase a leaves 517 records, and there are keys for 516");
  CHECK(refused("a 512 lookup\nb 256 mix:erase=100\n", 256) ==
        "phase b erases 256 records, and there are no more than 256");
  CHECK(
      refused("a 256 mix:erase=100\nb 256 lookup hotspot:0.001\n", 600).starts_with("phase b finds too few records: "));
  CHECK(refused("a 256 mix:erase=100\nb 256 lookup zipf:1 flash:10,records=345\n", 600) ==
        "phase b finds too few records: churn flash: a crowd of records=345 among 344; write records=344 or fewer");
  CHECK(refused("a 256 mix:insert=100\n", Ranks::kMost)
            .starts_with("phase a leaves 4503599627370752 records, and a distribution"));
}

TEST_CASE("the smallest number of records at any time is known") {
  const auto least = [](const std::string& text, u64 records) {
    const TemporaryFile file(text);
    return Workload(Spec::parse("phases:" + file.path()), 0).least_records(records, ~u64{0});
  };
  CHECK(least("a 512 mix:erase=100\nb 512 mix:insert=100\n", 1000) == 488);  // between the two phases
  CHECK(least("a 512 mix:insert=100\nb 256 mix:erase=100\n", 1000) == 1000);
  CHECK(least("a 512 mix:erase=100\n", 1000) == 488);
  CHECK(Workload(Spec::parse("ycsb-a"), 0).least_records(1000, ~u64{0}) == 1000);
}

TEST_CASE("a phase that erases more records than there are is refused") {
  const KeySet keys(Spec::parse("u64"), 7);
  const auto phases = phases_in("grow 1000 mix:insert=100\nshrink 2000 mix:erase=100\n");
  CHECK_NOTHROW(PhasedStream(1, 1, keys, phases, 1'025));
  CHECK_THROWS_AS(PhasedStream(1, 1, keys, phases, 1'024), InputError);
}

TEST_CASE("a wrong line is named") {
  CHECK(complaint("# nothing\n").find("has no phase") != std::string::npos);
  CHECK(complaint("a 10k\n").find("line 1 'a 10k' needs a name, a number of operations and a workload") !=
        std::string::npos);
  CHECK(complaint("a 10k lookup uniform none more\n").find("needs a name") != std::string::npos);
  CHECK(complaint("a many lookup\n").find("needs a number of operations from 1") != std::string::npos);
  CHECK(complaint("a 0 lookup\n").find("needs a number of operations from 1") != std::string::npos);
  CHECK(complaint("\na 1k lookup\na 2k lookup\n").find("line 3 'a 2k lookup' repeats the name a") != std::string::npos);
  CHECK(complaint("a 1k insert\n").find("is wrong: insert fills an empty index") != std::string::npos);
  CHECK(complaint("a 1k mix:read=90\n").find("is wrong: workload mix: the shares sum to 90") != std::string::npos);
  CHECK(complaint("a 1k lookup zipf\n").find("is wrong: distribution zipf needs") != std::string::npos);
  CHECK(complaint("a 1k lookup zipf:1 drift\n").find("is wrong: churn drift needs") != std::string::npos);
}

TEST_CASE("a file of phases refuses what options refuse, with the line") {
  CHECK_THAT(complaint("a 1k lookup\nb 1k mix:insert=100 uniform\n"),
             Catch::Contains("line 2 'b 1k mix:insert=100 uniform' is wrong: uniform does not reach mix:insert=100"));
  CHECK_THAT(complaint("a 1k lookup uniform drift:10\n"),
             Catch::Contains("line 1") && Catch::Contains("under uniform no rank"));
  CHECK_THAT(complaint("a 1k mix:insert=100 latest:0 drift:10\n"), Catch::Contains("does not reach"));
  CHECK_THAT(complaint("a 1k ycsb-d latest flash:10\n"),
             Catch::Contains("line 1") && Catch::Contains("under latest every insert"));
  CHECK(complaint("a 1k ycsb-d zipf:1 flash:10\n").empty());
  CHECK(complaint("a 1k lookup latest flash:10\nb 1k mix:insert=100\n").empty());
}

TEST_CASE("a phase cannot be a file of its own") {
  for (const char* workload : {"wiscer:high-churn", "trace:x", "phases:y"}) {
    CHECK_THAT(complaint(fmt::format("a 1k {}\n", workload)),
               Catch::EndsWith(" is a whole workload and cannot be a phase"));
  }
  CHECK_THAT(complaint("a 1k lokup\n"),
             Catch::EndsWith("unknown workload 'lokup'; there are lookup, insert, mix:read=90,insert=10 and "
                             "ycsb-a to ycsb-f; did you mean 'lookup'?"));
}

}  // namespace
}  // namespace latchlab
