// Tests of one modification (Synchronized::modify) beside a thread that changes the key at the worst moments. Others
// are in modify_batch_test.cc and modify_race_test.cc.
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>

#include "indexes/cuckoo/cuckoo.h"
#include "src/base/key.h"
#include "src/machine/abort_injection.h"
#include "src/machine/emulated.h"
#include "src/testing/catch.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

TEST_CASE("modify: the last run of its function counts, also after an attempt that aborted on a value") {
  using Index = Synchronized<Cuckoo, Rtm<Emulated>, U64Key>;
  constexpr u64 kKey = 7;
  Index index(Spec::parse("rtm:20"), MemoryConfig{});
  enum Wish : int { kNothing, kErase, kInsert, kEnd };
  std::atomic<int> wish{kNothing};
  std::thread other([&] {
    auto me = index.join();
    for (int now = wish.load(); now != kEnd; now = wish.load()) {
      if (now == kInsert) (void)index.insert(me, kKey, 1);
      if (now == kErase) (void)index.erase(me, kKey);
      if (now != kNothing) wish.compare_exchange_strong(now, kNothing);
      std::this_thread::yield();
    }
  });
  const auto wait = [&] {
    while (wish != kNothing) std::this_thread::yield();
  };
  {
    auto me = index.join();
    u64 inserted = 0, wrong = 0;
    for (u32 i = 0; i < 200; ++i) {
      (void)index.erase(me, kKey);
      // The key is absent at first. It comes before the upsert, whose attempts abort, and goes before the last of them.
      AbortInjection::Script script(40);
      for (std::size_t k = 1; k < 12; ++k) script[k] = PlannedAbort{.at = AbortMoment::kCommit, .status = 2};
      Found last;
      bool came = false;
      const auto f = [&](const Found& before) noexcept {
        last = before;
        if (before) {
          wish = kErase;
        } else if (!std::exchange(came, true)) {
          wish = kInsert;
          wait();
        }
        return before ? before : Found(2);
      };
      {
        auto injection = Emulated::inject(AbortInjection::script(script));
        const Modified done = index.modify(me, kKey, f);
        inserted += !done.before && done.after;
        wrong += last != done.before;
      }
      wait();
    }
    CHECK(inserted > 0);
    CHECK(wrong == 0);
  }
  wish = kEnd;
  other.join();
}

}  // namespace
}  // namespace latchlab
