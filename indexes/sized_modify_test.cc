// Tests of modifications that other changes always overtake: how often the function runs, and what a claim does. The
// changes of others come from a second session of the same thread, at calls of the function and of the index of words.
// So they come in one order, without clocks.
#include "indexes/sized_modify.h"

#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "indexes/art/art.h"
#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/sized.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

enum class Step : u8 { kFind, kModify, kEraseIf };

/// An index of words that calls a function before its operations, outside attempts. The function is not called for
/// operations that it runs itself.
template <class Map>
class Watched : public Map {
 public:
  using Map::Map;

  Found find(typename Map::ThreadState& me, typename Map::Raw key) const {
    tell(Step::kFind);
    return Map::find(me, key);
  }
  template <class F>
  Modified modify(typename Map::ThreadState& me, typename Map::Raw key, const F& f) {
    tell(Step::kModify);
    return Map::modify(me, key, f);
  }
  template <class Wanted>
  Changed erase_if(typename Map::ThreadState& me, typename Map::Raw key, const Wanted& wanted) {
    tell(Step::kEraseIf);
    return Map::erase_if(me, key, wanted);
  }

  static inline std::function<void(Step)> before;

 private:
  static void tell(Step step) {
    if (!before) return;
    const auto told = std::exchange(before, {});
    struct Restore {
      ~Restore() { before = told; }
      const std::function<void(Step)>& told;
    } const restore{told};
    told(step);
  }
};

using Wanted = std::function<Change(std::optional<ByteSpan>)>;

ByteSpan span_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// An index with two sessions: of the thread that modifies one key, and of the others.
template <class Map>
struct Overtaken {
  using Index = Sized<Watched<Map>>;
  using Raw = typename Map::Raw;
  static constexpr u32 kMostStale = Index::kMostStale;
  static inline const MemoryConfig kMemory{.alloc = MemoryConfig::Alloc::kMalloc};

  Overtaken() = default;
  ~Overtaken() { Watched<Map>::before = {}; }

  Raw key() const {
    if constexpr (std::is_same_v<Raw, u64>) return 7;
    if constexpr (!std::is_same_v<Raw, u64>) return "seven";
  }
  /// Modifies the key. Calls meddle(runs) after each run of f outside attempts, which must end stale.
  Effect modify(const Wanted& wish, const std::function<void(u32)>& meddle) {
    runs = 0;
    return by(me, [&](std::optional<ByteSpan> old) {
      ++runs;
      const Change wished = wish(old);
      if (runs <= kMostStale || !old) meddle(runs);
      return wished;
    });
  }
  /// Modifies the key by a session. One type of functions, so that all is compiled once.
  Effect by(typename Index::ThreadState& session, const Wanted& wish) { return index.modify(session, key(), wish); }
  std::optional<std::string> value() {
    std::optional<std::string> found;
    index.find(other, key(),
               [&](ByteSpan bytes) { found.emplace(reinterpret_cast<const char*>(bytes.data()), bytes.size()); });
    return found;
  }
  /// Ends the sessions, and returns the live bytes of the values.
  u64 live_after_all() {
    sessions[0].reset();
    sessions[1].reset();
    return index.bytes().values.live;
  }
  void put(std::string_view text) { (void)index.upsert(other, key(), span_of(text)); }
  void erase() { (void)index.erase(other, key()); }
  /// Puts another value than the last.
  void replace() { put(std::string(10 + ++replaced % 2, 'r')); }

  Index index{kMemory, Spec::parse(Map::Policy::kName), kMemory};
  using Session = typename Index::ThreadState;
  std::optional<Session> sessions[2] = {std::optional<Session>(std::in_place, index),
                                        std::optional<Session>(std::in_place, index)};
  Session &me = *sessions[0], &other = *sessions[1];
  u32 runs = 0, replaced = 0;
};

template <template <class, class> class Table, class Policy>
using Words = Synchronized<Table, Policy, U64Key>;
using Everywhere =
    std::tuple<Words<Art, Olc<Native>>, Words<Art, Spin<Native>>, Words<Art, Rtm<Emulated>>, Words<Cuckoo, Olc<Native>>,
               Words<Cuckoo, Spin<Native>>, Words<Cuckoo, Rtm<Emulated>>, Words<Chained, Olc<Native>>,
               Words<Chained, Spin<Native>>, Words<Chained, Rtm<Emulated>>, ByHash<Words<Cuckoo, Olc<Native>>>>;

const auto kErases = [](std::optional<ByteSpan>) { return Change::erase(); };
const auto kPuts = [](std::optional<ByteSpan>) { return Change::to(span_of("the new value")); };

TEMPLATE_LIST_TEST_CASE("Sized: a function that others always overtake runs nine times on a value", "", Everywhere) {
  Overtaken<TestType> one;
  one.put("first");
  CHECK(one.modify(kErases, [&](u32) { one.replace(); }) == Effect::kErased);
  CHECK(one.runs == one.kMostStale + 1);
  CHECK_FALSE(one.value());

  one.put("first");
  CHECK(one.modify(kPuts, [&](u32) { one.replace(); }) == Effect::kReplaced);
  CHECK(one.runs == one.kMostStale + 1);
  CHECK(one.value() == "the new value");
}

TEMPLATE_LIST_TEST_CASE("Sized: a function that others always overtake runs nine times on nothing", "", Everywhere) {
  Overtaken<TestType> one;
  // The key comes while f runs, and goes before the next look at it.
  Watched<TestType>::before = [&](Step step) {
    if (step != Step::kEraseIf) one.erase();
  };
  CHECK(one.modify(kPuts, [&](u32 run) {
    if (run <= one.kMostStale) one.replace();
  }) == Effect::kInserted);
  CHECK(one.runs == one.kMostStale + 1);
  Watched<TestType>::before = {};
  CHECK(one.value() == "the new value");

  Watched<TestType>::before = [&](Step) { one.erase(); };
  struct Thrown {};
  const auto throws_at_last = [&](std::optional<ByteSpan>) {
    return one.runs > one.kMostStale ? throw Thrown() : Change::to(span_of("x"));
  };
  CHECK_THROWS_AS(one.modify(throws_at_last,
                             [&](u32 run) {
                               if (run <= one.kMostStale) one.replace();
                             }),
                  Thrown);
  Watched<TestType>::before = {};
  one.erase();
  const auto leaves_at_last = [&](std::optional<ByteSpan>) {
    return one.runs > one.kMostStale ? Change::leave() : Change::to(span_of("x"));
  };
  Watched<TestType>::before = [&](Step) { one.erase(); };
  CHECK(one.modify(leaves_at_last, [&](u32 run) {
    if (run <= one.kMostStale) one.replace();
  }) == Effect::kNone);
  CHECK(one.runs == one.kMostStale + 1);
}

TEMPLATE_LIST_TEST_CASE("Sized: a function runs ten times if its key comes and goes each time", "", Everywhere) {
  Overtaken<TestType> one;
  const auto toggles = [](std::optional<ByteSpan> old) { return old ? Change::erase() : Change::to(span_of("put")); };
  const auto meddle = [&](u32) { one.value() ? one.erase() : one.put("of another thread"); };
  // After kMostStale runs the key is absent, and it comes while f runs on nothing. So the last run is on a value.
  CHECK(one.modify(toggles, meddle) == Effect::kErased);
  CHECK(one.runs == one.kMostStale + 2);
  CHECK_FALSE(one.value());

  CHECK(one.modify(kPuts, meddle) == Effect::kReplaced);
  CHECK(one.runs == one.kMostStale + 2);
  CHECK(one.value() == "the new value");
}

TEMPLATE_LIST_TEST_CASE("Sized: other operations neither wait for a claim nor keep the pair", "", Everywhere) {
  const std::string first = GENERATE("short", "a value of more than seven bytes");
  const u32 how = GENERATE(range(0, 7));
  const std::string next = "next";
  Overtaken<TestType> one;
  std::optional<std::string> left;
  const auto see = [&](Step step) {
    if (step != Step::kEraseIf || one.runs <= one.kMostStale) return;
    CHECK(one.value() == first);  // until it is erased
    const auto nothing_before = [](ByteSpan) { FAIL("the pair should have gone"); };
    switch (how) {
      case 0: CHECK_FALSE(one.index.update(one.other, one.key(), span_of(next), nothing_before)); break;
      case 1:
        CHECK(one.index.upsert(one.other, one.key(), span_of(next), nothing_before));
        left = next;
        break;
      case 2: CHECK_FALSE(one.index.erase(one.other, one.key(), nothing_before)); break;
      case 3: CHECK_FALSE(one.index.insert(one.other, one.key(), span_of(next))); break;
      case 4:
        CHECK(one.by(one.other, [&](std::optional<ByteSpan> old) {
          CHECK_FALSE(old);
          return Change::to(span_of(next));
        }) == Effect::kInserted);
        left = next;
        break;
      case 5: {
        const auto pinned = one.index.pin(one.other, one.key());
        CHECK_FALSE(one.index.erase(one.other, one.key()));
        CHECK(std::ranges::equal(pinned->bytes(), span_of(first)));
        break;
      }
      default: break;
    }
  };
  one.put("at first");
  Watched<TestType>::before = see;
  const auto meddle = [&](u32 run) { one.put(run == one.kMostStale ? first : "number " + std::to_string(run)); };
  CHECK(one.modify(kErases, meddle) == Effect::kErased);
  CHECK(one.runs == one.kMostStale + 1);
  CHECK(one.value() == left);
  Watched<TestType>::before = {};
  one.put("last");
  CHECK(one.value() == "last");
}

TEMPLATE_LIST_TEST_CASE("Sized: a claim is taken back if memory is too short to erase", "", Everywhere) {
  const std::string first = GENERATE("short", "a value of more than seven bytes");
  const bool helped = GENERATE(false, true);
  Overtaken<TestType> one;
  bool throws = true;
  Watched<TestType>::before = [&](Step step) {
    if (step != Step::kEraseIf || one.runs <= one.kMostStale || !std::exchange(throws, false)) return;
    if (helped) one.erase();
    throw std::bad_alloc();
  };
  const auto meddle = [&](u32 run) { one.put(run == one.kMostStale ? first : "number " + std::to_string(run)); };
  one.put("at first");
  if (helped) {
    CHECK(one.modify(kErases, meddle) == Effect::kErased);
    CHECK_FALSE(one.value());
  } else {
    CHECK_THROWS_AS(one.modify(kErases, meddle), std::bad_alloc);
    CHECK(one.value() == first);
    CHECK(one.index.update(one.other, one.key(), span_of("next")));
    CHECK(one.by(one.other, kErases) == Effect::kErased);
  }
  CHECK_FALSE(throws);
}

TEMPLATE_LIST_TEST_CASE("Sized: claims lose no block, and free none twice", "", Everywhere) {
  std::optional<Overtaken<TestType>> one(std::in_place);
  for (u32 round = 0; round < 200; ++round) {
    const std::string value(round % 20, 'v');
    one->put("begin");
    REQUIRE(one->modify(kErases, [&](u32 run) { one->put(run % 2 != 0 ? value : value + "longer than a word"); }) ==
            Effect::kErased);
  }
  one->index.idle(one->other);
  one->index.idle(one->me);
  for (u32 round = 0; round < 10; ++round) {  // short values, which retire nothing: they only collect
    one->put("x");
    one->erase();
  }
  CHECK(one->index.reclaim_counters().retired >= 200);
  CHECK(one->live_after_all() == 0);
}

}  // namespace
}  // namespace latchlab::testing
