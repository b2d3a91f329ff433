#include "workloads/phased_stream.h"

#include <set>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

std::vector<Op> no_gets;   // of streams that have none

std::vector<WorkloadPhase> phases_in(const std::string& text) {
  const TemporaryFile file(text);
  return read_phases(file.path());
}

std::string complaint(const std::string& text) {
  try {
    (void)phases_in(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::vector<Op> all_of(const Stream& stream, u64 chunk) {
  std::vector<Op> ops(stream.size());
  for (u64 first = 0; first < ops.size(); first += chunk) {
    stream.fill(first, std::span(ops).subspan(first, std::min<u64>(chunk, ops.size() - first)), no_gets);
  }
  return ops;
}

TEST_CASE("phases follow each other, and each addresses the records that those before it have left") {
  const KeySet keys(Spec::parse("u64"), 7);
  const auto phases = phases_in("a 1000 mix:insert=30,read=70\nb 777 lookup zipf:1\nc 3000 mix:erase=50,read=25,update=25 latest\n"
                                "d 1500 mix:insert=50,upsert=25,rmw=25 zipf:0.5\n");
  const PhasedStream stream(3, 1, keys, phases, 5'000);
  REQUIRE(stream.size() == 6'656);
  const std::vector<Op> ops = all_of(stream, 6'656);
  for (const u64 chunk : {1u, 100u, 256u, 999u}) CHECK(all_of(stream, chunk) == ops);

  std::set<u64> there;
  for (u64 n = 0; n < 5'000; ++n) there.insert(keys.key<u64>(n));
  u64 begin = 0;
  for (const WorkloadPhase& phase : phases) {
    CAPTURE(phase.name);
    // Operations of a phase overtake each other by a block; of the phases before all are done.
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
  CHECK(there.size() == 5'000 + 307 - 1'536 + 768);   // of 4, 12 and 6 blocks
}

TEST_CASE("a phase may not erase more records than there are") {
  const KeySet keys(Spec::parse("u64"), 7);
  const auto phases = phases_in("grow 1000 mix:insert=100\nshrink 2000 mix:erase=100\n");
  CHECK_NOTHROW(PhasedStream(1, 1, keys, phases, 1'025));
  CHECK_THROWS_AS(PhasedStream(1, 1, keys, phases, 1'024), InputError);
}

TEST_CASE("a line that is wrong is named") {
  CHECK(complaint("# nothing\n").find("has no phase") != std::string::npos);
  CHECK(complaint("a 10k\n").find("line 1 'a 10k' needs a name, a number of operations and a workload") != std::string::npos);
  CHECK(complaint("a 10k lookup uniform none more\n").find("needs a name") != std::string::npos);
  CHECK(complaint("a many lookup\n").find("needs a number of operations from 1") != std::string::npos);
  CHECK(complaint("a 0 lookup\n").find("needs a number of operations from 1") != std::string::npos);
  CHECK(complaint("\na 1k lookup\na 2k lookup\n").find("line 3 'a 2k lookup' says a again") != std::string::npos);
  CHECK(complaint("a 1k insert\n").find("is wrong: insert fills an empty index") != std::string::npos);
  CHECK(complaint("a 1k mix:read=90\n").find("is wrong: workload mix: the shares sum to 90") != std::string::npos);
  CHECK(complaint("a 1k lookup zipf\n").find("is wrong: distribution zipf needs") != std::string::npos);
  CHECK(complaint("a 1k lookup zipf:1 drift\n").find("is wrong: churn drift needs") != std::string::npos);
}

}  // namespace
}  // namespace latchlab
