// Modifications of the peers that synchronize themselves: each is one step, whatever other threads do.
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "indexes/concepts.h"
#include "indexes/peers/libcuckoo.h"
#include "indexes/peers/tbb.h"
#include "indexes/peers/tbb_unordered.h"
#include "src/base/key.h"
#include "src/base/rng.h"
#include "src/machine/preemption.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

template <class Peer>
constexpr bool kErasesToo = !requires { Peer::kNoErase; };

/// Returns a key of either kind.
template <class Peer>
auto numbered_key(u64 number) {
  if constexpr (std::is_same_v<typename Peer::Raw, u64>) {
    return number;
  } else {
    return "a key with more bytes than a string object holds: " + std::to_string(number);
  }
}

template <class Peer>
void check_each_change() {
  static_assert(kModifies<Peer>);
  Peer peer(Spec::parse("own"), {});
  auto me = peer.join();
  const auto key = numbered_key<Peer>(7);
  std::optional<u64> seen = 1;
  const auto modify = [&](Found after) {
    return peer.modify(me, key, [&](Found before) noexcept {
      seen = before;
      return after;
    });
  };
  const auto check = [&](const Modified& modified, Found before, Found after) {
    CHECK(modified.before == before);
    CHECK(modified.after == after);
    CHECK(seen == before);
    CHECK(peer.find(me, key) == after);
  };
  check(modify({}), {}, {});
  check(modify(5), {}, 5);
  check(modify(6), 5, 6);
  if constexpr (kErasesToo<Peer>) {
    check(modify({}), 6, {});
    check(modify({}), {}, {});
    check(modify(7), {}, 7);
  } else {
    CHECK_THROWS_AS(modify({}), std::logic_error);
    CHECK(peer.find(me, key) == 6);
  }
  CHECK_FALSE(peer.find(me, numbered_key<Peer>(8)));
}

/// Threads count on the same keys, and are interrupted within modifications. A counter that is absent is 0; if the peer
/// erases, it goes back to 0 at kTurn.
template <class Peer>
void check_no_change_is_lost() {
  constexpr u64 kThreads = 3, kKeys = 3, kRounds = 20'000, kTurn = 3;
  Peer peer(Spec::parse("own"), {});
  std::atomic<u64> wrong{0}, waiting{kThreads};
  const auto next = [](Found before) noexcept {
    const u64 count = before.value_or(0) + 1;
    return kErasesToo<Peer> && count == kTurn ? Found() : Found(count);
  };
  std::vector<std::thread> threads;
  for (u64 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto me = peer.join();
      Preemption preemption(draw(test_seed(), 1, t));
      waiting.fetch_sub(1, kRelaxed);
      while (waiting.load(kRelaxed) != 0) std::this_thread::yield();
      for (u64 i = 0; i < kRounds; ++i) {
        preemption.arm();
        const Modified modified = peer.modify(me, numbered_key<Peer>(i % kKeys), next);
        wrong += modified.after != next(modified.before);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  auto me = peer.join();
  for (u64 key = 0; key < kKeys; ++key) {
    u64 done = 0;
    for (u64 i = key; i < kRounds; i += kKeys) done += kThreads;
    CHECK(peer.find(me, numbered_key<Peer>(key)).value_or(0) == (kErasesToo<Peer> ? done % kTurn : done));
  }
}

template <class Peer>
void check_modify() {
  CAPTURE(Peer::kName);
  check_each_change<Peer>();
  check_no_change_is_lost<Peer>();
}

TEST_CASE("Peers: a modification sees the value that it changes, and no change is lost") {
  check_modify<Tbb<U64Key>>();
  check_modify<Tbb<BytesKey>>();
  check_modify<LibCuckoo<U64Key>>();
  check_modify<LibCuckoo<BytesKey>>();
  check_modify<TbbUnordered<U64Key>>();
  check_modify<TbbUnordered<BytesKey>>();
}

}  // namespace
}  // namespace latchlab
