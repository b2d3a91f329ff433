// Counts what operations of cuckoo execute under olc, in a table whose buckets are large.
#include <cstdio>
#include <functional>

#include "indexes/cuckoo/cuckoo.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/executed.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("cuckoo: under olc an update and an insert at home lock one instruction, a lookup none", "[release]") {
  using Index = Synchronized<Cuckoo, Olc<Native>, U64Key>;
  Index index(Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  constexpr u64 kKeys = 180'000;  // in 2^17 buckets, a third full
  for (u64 i = 0; i < kKeys; ++i) index.insert(me, mix64(i), i);
  struct Operation {
    const char* name;
    std::function<void(u64 i)> run;
    u64 instructions, locked;
  };
  // The bounds leave a tenth. Some 30 instructions are of the call, and make the key.
  const Operation operations[] = {
      {"hit", [&](u64 i) { (void)index.find(me, mix64(i)); }, 143, 0},
      {"miss", [&](u64 i) { (void)index.find(me, mix64(kKeys + i)); }, 150, 0},
      {"update", [&](u64 i) { (void)index.update(me, mix64(i), i + 1); }, 160, 1},
      {"insert", [&](u64 i) { (void)index.insert(me, mix64(kKeys + i), i); }, 195, 1},
  };
  for (const Operation& operation : operations) {
    INFO(operation.name);
    const auto executed = executed_by_most(operation.run);
    if (!executed) {
      WARN("skipped: this system does not let a process trace another");
      return;
    }
    std::printf("%s in cuckoo under olc: %lu instructions, %lu locked\n", operation.name, executed->instructions,
                executed->locked);
    CHECK(executed->instructions > 30);
    CHECK(executed->instructions <= operation.instructions);
    CHECK(executed->locked == operation.locked);
  }
}

}  // namespace
}  // namespace latchlab::testing
