// Tests of when a cuckoo table reports that it is settled, so that older marks are ignored. They grow a table step by
// step, with slow threads. One stray has only an older mark. A table that reports too early loses that key.
#include <optional>

#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "src/machine/native.h"
#include "sync/none.h"
#include "sync/policy_testing.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

class Grown {
  using Policy = Tiny<None<Native>>;  // begins with two buckets, claims two at a time, and counts every key
  using Body = Cuckoo<Policy::Layout, U64Key>;

 public:
  using Growth = Body::Growth;

  /// Makes a table of eight buckets. The stray is in bucket 0, and will be in bucket 8, since bucket 2, its primary
  /// one, is full. Its mark dates from the time of four buckets.
  Grown() {
    insert(2, 7), insert(1, 3), insert(3, 4);  // fills two buckets
    finish(claim());
    while (!finish(claim())) {}
    put(stray_);
    insert(4, 6), insert(5, 3), insert(7, 3);  // fills four buckets
  }
  ~Grown() { body_.free_all(*me_.pool); }
  Grown(const Grown&) = delete;
  Grown& operator=(const Grown&) = delete;

  /// Inserts keys that only this one of sixteen buckets can hold.
  void insert(u64 bucket, u32 count) {
    for (u32 i = 0; i < count; ++i) put(number_of(bucket, bucket, taken_++, 4));
  }
  /// Inserts more keys, too many for eight buckets.
  void fill_eight() {
    insert(0, 6), insert(1, 4), insert(3, 3), insert(4, 1), insert(5, 4), insert(6, 7), insert(7, 2);
  }
  bool finds_stray() {
    return house_.policy.read(me_, [&](auto& tx) { return body_.find_in(tx, U64Key(stray_)); }) ==
           std::optional<u64>(stray_);
  }

  /// Returns a task after `steps` steps: the first ones allocate what it lacks.
  Growth claim(u32 steps = 1) {
    Growth growth;
    while (steps-- > 0) step(growth);
    return growth;
  }
  void step(Growth& growth) {
    REQUIRE(growth.prepare(*me_.pool));
    Growth after;
    const StepResult stepped =
        house_.policy.write(me_, [&](auto& tx) { return body_.maintain_in(tx, U64Key(), growth, after); });
    if (stepped == StepResult::kOneDone) {
      growth.one_done();
    } else {
      growth = after;
    }
  }
  /// Finishes the task. Returns true if there was nothing to do.
  bool finish(Growth growth) {
    const bool nothing = growth.done();
    while (!growth.done()) step(growth);
    return nothing;
  }

 private:
  void put(u64 number) {
    const PutResult placed =
        house_.policy.write(me_, [&](auto& tx) { return body_.put_in(tx, U64Key(number), number, Put::kInsert); });
    REQUIRE(placed == PutResult::kYes);
  }

  const u64 stray_ = number_of(2, 8, 0, 4);
  House<Policy> house_{"none"};
  House<Policy>::ThreadState me_{house_};
  Body body_;
  u32 taken_ = 0;
};

TEST_CASE("cuckoo: nothing is settled while a bucket may still have to be split") {
  Grown table;
  table.finish(table.claim());  // splits two of four buckets
  auto late = table.claim(2);   // claims the other two
  CHECK(table.finish(table.claim()));
  CHECK(table.finds_stray());
  table.finish(late);
  CHECK(table.finds_stray());
  CHECK_FALSE(table.finish(table.claim()));
  while (!table.finish(table.claim())) {}
  CHECK(table.finds_stray());
}

TEST_CASE("cuckoo: a bucket that is split before its claimant settles it does not count as settled") {
  Grown table;
  for (u32 run = 0; run < 2; ++run) table.finish(table.claim());
  auto late = table.claim();  // to settle buckets 0 and 1
  for (u32 run = 1; run < 4; ++run) CHECK_FALSE(table.finish(table.claim()));
  CHECK(table.finish(table.claim()));
  CHECK(table.finds_stray());
  table.fill_eight();
  table.finish(table.claim());  // splits them
  table.finish(late);
  CHECK(table.finds_stray());
}

TEST_CASE("cuckoo: a bucket settled among eight does not count when there are sixteen") {
  Grown table;
  for (u32 run = 0; run < 2; ++run) table.finish(table.claim());
  auto late = table.claim();           // to settle buckets 0 and 1
  table.step(late), table.step(late);  // settles them without a report
  for (u32 run = 1; run < 4; ++run) CHECK_FALSE(table.finish(table.claim()));
  table.fill_eight();
  for (u32 run = 0; run < 4; ++run) table.finish(table.claim());
  table.finish(late);
  for (u32 run = 0; run < 4; ++run) CHECK_FALSE(table.finish(table.claim()));
  auto last = table.claim();  // to settle buckets 8 and 9
  for (u32 run = 5; run < 8; ++run) CHECK_FALSE(table.finish(table.claim()));
  CHECK(table.finds_stray());
  table.finish(last);
  CHECK(table.finds_stray());
  CHECK(table.finish(table.claim()));
}

}  // namespace
}  // namespace latchlab::testing
