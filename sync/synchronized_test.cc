// Tests that the callers of an index without room get IndexFull, and what is done before it in a batch.
#include "sync/synchronized.h"

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "src/base/error.h"
#include "src/base/key.h"
#include "src/base/spec.h"
#include "src/machine/native.h"
#include "src/memory/memory_config.h"
#include "src/testing/catch.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/none.h"
#include "sync/olc.h"

namespace latchlab {
namespace {

/// An index with room for one pair, which does not grow.
template <class Layout, class KeyType>
class OnePair {
 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "one-pair";
  static constexpr bool kOrdered = false;

  static std::size_t extra_bytes(Key) { return 0; }

  template <class Tx>
  Attempt<Found> find_in(Tx& tx, Key key) const {
    const auto at = tx.enter(&node_);
    return tx.confirm(has(at, key) ? Found(at->value.load()) : Found(), at);
  }

  template <class Tx>
  Attempt<PutResult> put_in(Tx& tx, Key key, const auto value, Put how) {
    auto at = tx.enter(&node_);
    const bool found = has(at, key);
    if (found ? how == Put::kInsert : how == Put::kUpdate) return tx.confirm(PutResult::kNo, at);
    if (!found && at->used.load() != 0) return tx.confirm(PutResult::kNoRoom, at);
    if (!tx.upgrade(at)) return kRestart;
    at->key.store(key.raw());
    found ? value.change(at->value) : at->value.store(value.first());
    at->used.store(1);
    return found && how == Put::kUpsert ? PutResult::kNo : PutResult::kYes;
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, Key key, const auto& wanted) {
    auto at = tx.enter(&node_);
    if (!has(at, key) || !wanted.fits(at->value)) return tx.confirm(false, at);
    if (!tx.upgrade(at)) return kRestart;
    at->used.store(0);
    return true;
  }

  template <class Pool>
  void free_all(Pool&) {}

 private:
  struct Node {
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> key;
    typename Layout::template Cell<u64> value;
    typename Layout::template Cell<u64> used;
  };

  static bool has(const auto& at, Key key) { return at->used.load() != 0 && at->key.load() == key.raw(); }

  mutable Node node_;
};

TEMPLATE_TEST_CASE("An index that says kNoRoom and has no Growth is full, and nothing was changed", "", None<Native>,
                   Olc<Native>) {
  Synchronized<OnePair, TestType, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  CHECK(index.insert(me, 1, 10));
  CHECK_THROWS_AS(index.insert(me, 2, 20), IndexFull);
  CHECK_THROWS_AS(index.upsert(me, 2, 20), IndexFull);
  CHECK_FALSE(index.update(me, 2, 20));
  CHECK_FALSE(index.insert(me, 1, 11));
  CHECK_FALSE(index.upsert(me, 1, 12));
  CHECK(index.find(me, 1) == 12u);
  CHECK(index.find(me, 2) == std::nullopt);
  CHECK(index.erase(me, 1));
  CHECK(index.insert(me, 2, 20));
}

TEST_CASE("when a batch of modifications throws, those before it stay and the others are not done") {
  Synchronized<OnePair, Olc<Native>, U64Key> index(Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  CHECK(index.insert(me, 1, 10));
  const std::array<u64, 3> keys{1, 2, 1};
  std::array<Modified, 3> modified;
  const auto put = [](std::size_t i, const Found&) noexcept { return Found(20 + i); };
  CHECK_THROWS_AS(index.modify_batch(me, std::span(keys), std::span(modified), put), IndexFull);
  CHECK(modified[0].before == 10u);
  CHECK(modified[0].after == 20u);
  CHECK_FALSE(modified[1].after);
  CHECK_FALSE(modified[2].after);
  CHECK(index.find(me, 1) == 20u);
}

}  // namespace
}  // namespace latchlab
