#include "src/model/transactions.h"

#include "src/model/machine_file.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

Parameters with_read(ReadSet read, u32 lines = 4) {
  Parameters p = MachineFile::of(Spec::parse("haswell-ep")).parameters();
  p.htm.read = read;
  p.htm.read_lines = lines;
  return p;
}

/// Returns the threads that have been ended, in order.
std::vector<u32> ended(const Transactions& transactions, u32 status) {
  std::vector<u32> threads;
  for (const Ended& end : transactions.ended()) {
    CHECK(end.status == status);
    threads.push_back(end.thread);
  }
  return threads;
}
using Threads = std::vector<u32>;

TEST_CASE("Model transactions: a written line that leaves L1 ends the transaction, by any sibling's hand") {
  // Threads 0 and 1 share core 3; thread 2 is on core 4.
  Transactions transactions(with_read(ReadSet::kL3), {3, 3, 4});
  for (const u32 thread : {0, 1, 2}) transactions.begin(thread);
  transactions.writes(0, 10);
  transactions.reads(1, 10);
  transactions.writes(2, 11);
  transactions.gone_from_l1(3, 11);
  transactions.gone_from_l1(4, 10);
  CHECK(ended(transactions, kAbortCapacity).empty());
  transactions.gone_from_l1(3, 10);
  CHECK(ended(transactions, kAbortCapacity) == Threads{0});
}

TEST_CASE("Model transactions: a line read may leave L1 but not the L3 of its cluster") {
  Transactions transactions(with_read(ReadSet::kL3), {0, 7});
  for (const u32 thread : {0, 1}) {
    transactions.begin(thread);
    transactions.reads(thread, 10);
  }
  transactions.gone_from_l1(0, 10);
  CHECK(transactions.ended().empty());
  transactions.gone_from_l3(1, 10);
  CHECK(ended(transactions, kAbortCapacity) == Threads{1});
}

TEST_CASE("Model transactions: htm.read=l1 tracks reads in L1") {
  Transactions transactions(with_read(ReadSet::kL1), {0});
  transactions.begin(0);
  transactions.reads(0, 10);
  transactions.gone_from_l3(0, 10);
  CHECK(transactions.ended().empty());
  transactions.gone_from_l1(0, 10);
  CHECK(ended(transactions, kAbortCapacity) == Threads{0});
}

TEST_CASE("Model transactions: htm.read=lines counts distinct lines") {
  Transactions transactions(with_read(ReadSet::kLines, 4), {0});
  transactions.begin(0);
  for (const u64 line : {1, 2, 3, 4, 1, 2}) transactions.reads(0, line);
  CHECK(transactions.ended().empty());
  transactions.reads(0, 5);
  CHECK(ended(transactions, kAbortCapacity) == Threads{0});
}

TEST_CASE("Model transactions: one is ended once, and not after its finish") {
  Transactions transactions(with_read(ReadSet::kL3), {0});
  transactions.begin(0);
  transactions.writes(0, 10);
  transactions.end(0, 0);
  transactions.gone_from_l1(0, 10);
  CHECK(ended(transactions, 0) == Threads{0});
  CHECK(transactions.running(0));
  CHECK(transactions.written(0) == std::vector<u64>{10});
  transactions.forget_ended();
  transactions.finish(0);
  CHECK_FALSE(transactions.running(0));
  transactions.gone_from_l1(0, 10);
  transactions.end(0, 0);
  CHECK(transactions.ended().empty());
  transactions.begin(0);
  transactions.gone_from_l1(0, 10);
  CHECK(transactions.ended().empty());
}

}  // namespace
}  // namespace latchlab::model
