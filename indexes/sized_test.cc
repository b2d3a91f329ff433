// Tests of indexes of sized values, under policies of every class of transactions.
#include "indexes/sized.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/starving_test.h"
#include "src/base/rng.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

using Alloc = MemoryConfig::Alloc;
using Model = std::map<u64, std::string>;

ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_in(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
/// Returns a text of `size` bytes that a number determines.
std::string text_of(u64 size, u64 number) {
  std::string text(size, '\0');
  for (u64 i = 0; i < size; ++i) text[i] = static_cast<char>(number * 31 + i);
  return text;
}
constexpr u64 kLengths[] = {0, 1, 7, 8, 9, 24, 40, 100, 1000, 5000, 70'000};

using Show = std::function<void(ByteSpan)>;
using Wish = std::function<Change(std::optional<ByteSpan>)>;

/// One thread's access to an index of sized values whose type is erased.
struct AnySession {
  virtual ~AnySession() = default;
  virtual bool find(u64 key, const Show& show) = 0;
  virtual std::size_t find_batch(std::span<const u64> keys, const std::function<void(std::size_t, ByteSpan)>& show) = 0;
  // Without `show` these call the forms without `before`.
  virtual bool insert(u64 key, ByteSpan value, const Show& show = {}) = 0;
  virtual bool upsert(u64 key, ByteSpan value, const Show& show = {}) = 0;
  virtual bool update(u64 key, ByteSpan value, const Show& show = {}) = 0;
  virtual bool erase(u64 key, const Show& show = {}) = 0;
  virtual Effect modify(u64 key, const Wish& wish) = 0;
  /// Returns a pin's bytes, as a function that owns the pin; nothing if the key is absent.
  virtual std::function<ByteSpan()> pin(u64 key) = 0;
  virtual void idle() = 0;
};
struct AnyIndex {
  virtual ~AnyIndex() = default;
  virtual std::unique_ptr<AnySession> join() = 0;
  virtual SizedFootprint bytes() const = 0;
  virtual ReclaimCounters counters() const = 0;
};

template <class Map>
class SizedSession : public AnySession {
 public:
  explicit SizedSession(Sized<Map>& index) : index_(index), me_(index.join()) {}

  bool find(u64 key, const Show& show) override { return index_.find(me_, key, show); }
  std::size_t find_batch(std::span<const u64> keys, const std::function<void(std::size_t, ByteSpan)>& show) override {
    return index_.find_batch(me_, keys, show);
  }
  bool insert(u64 key, ByteSpan value, const Show& show) override {
    return show ? index_.insert(me_, key, value, show) : index_.insert(me_, key, value);
  }
  bool upsert(u64 key, ByteSpan value, const Show& show) override {
    return show ? index_.upsert(me_, key, value, show) : index_.upsert(me_, key, value);
  }
  bool update(u64 key, ByteSpan value, const Show& show) override {
    return show ? index_.update(me_, key, value, show) : index_.update(me_, key, value);
  }
  bool erase(u64 key, const Show& show) override {
    return show ? index_.erase(me_, key, show) : index_.erase(me_, key);
  }
  Effect modify(u64 key, const Wish& wish) override { return index_.modify(me_, key, wish); }
  std::function<ByteSpan()> pin(u64 key) override {
    auto pinned = index_.pin(me_, key);
    if (!pinned) return {};
    return [shared = std::make_shared<Pinned<typename Map::Machine>>(*std::move(pinned))] { return shared->bytes(); };
  }
  void idle() override { index_.idle(me_); }

 private:
  Sized<Map>& index_;
  typename Sized<Map>::ThreadState me_;
};
template <class Map>
class SizedIndex : public AnyIndex {
 public:
  SizedIndex(const Spec& policy, const MemoryConfig& memory) : index_(memory, policy, memory) {}
  std::unique_ptr<AnySession> join() override { return std::make_unique<SizedSession<Map>>(index_); }
  SizedFootprint bytes() const override { return index_.bytes(); }
  ReclaimCounters counters() const override { return index_.reclaim_counters(); }

 private:
  Sized<Map> index_;
};

struct Subject {
  std::string name;
  bool shared;  // several threads may change it
  std::function<std::unique_ptr<AnyIndex>(const MemoryConfig&)> make;
};
template <template <class, class> class Index, class Policy>
Subject subject(bool shared = true) {
  std::string name(Index<typename Policy::Layout, U64Key>::kName);
  name.append(" under ").append(Policy::kName).append(" on ").append(Policy::Machine::kName);
  return {name, shared,
          [spec = Spec::parse(std::string(Policy::kName))](const MemoryConfig& memory) -> std::unique_ptr<AnyIndex> {
            return std::make_unique<SizedIndex<Synchronized<Index, Policy, U64Key>>>(spec, memory);
          }};
}
std::vector<Subject> subjects() {
  return {subject<Art, Spin<Native>>(),     subject<Art, Olc<Native>>(),      subject<Art, Rtm<Emulated>>(),
          subject<Cuckoo, Spin<Native>>(),  subject<Cuckoo, Olc<Native>>(),   subject<Cuckoo, Rtm<Emulated>>(),
          subject<Chained, Spin<Native>>(), subject<Chained, Olc<Native>>(),  subject<Chained, Rtm<Emulated>>(),
          subject<Art, Rtm<Native>>(),      subject<Art, None<Native>>(false)};
}

/// An index of a subject, with its plan of failures.
struct Indexed {
  FailurePlan plan;
  MemoryBudget limit{u64{1} << 40};  // for its count of bytes
  std::unique_ptr<AnyIndex> index;

  explicit Indexed(const Subject& subject, Alloc alloc = Alloc::kArena, Reclaim reclaim = Reclaim::kEpoch)
      : index(subject.make({.alloc = alloc, .reclaim = reclaim, .limit = limit, .fail = &plan})) {}
  AnyIndex* operator->() { return index.get(); }
  /// Returns the live bytes of the values after the last session has ended.
  u64 live_after_all() {
    index->join();
    return index->bytes().values.live;
  }
};

std::optional<std::string> found(AnySession& me, u64 key) {
  std::optional<std::string> text;
  const bool present = me.find(key, [&](ByteSpan value) { text = text_in(value); });
  REQUIRE(present == text.has_value());
  return text;
}

void check_against_a_map(const Subject& subject, Alloc alloc) {
  Indexed index(subject, alloc);
  {
    const auto me = index->join();
    Rng rng(test_seed());
    Model model;
    for (u64 i = 0; i < 4000; ++i) {
      const u64 key = rng.below(40);
      const std::string text = text_of(kLengths[rng.below(i % 50 == 0 ? 11 : 8)], i);
      const auto at = model.find(key);
      const bool present = at != model.end();
      std::optional<std::string> before;
      const auto keep = [&](ByteSpan value) { before = text_in(value); };
      const auto shows = [&] { return present ? std::optional(at->second) : std::nullopt; };
      switch (rng.below(8)) {
        case 0: REQUIRE(me->insert(key, bytes_of(text)) == model.emplace(key, text).second); break;
        case 1:
          REQUIRE(me->insert(key, bytes_of(text), keep) == !present);
          REQUIRE(before == shows());
          model.emplace(key, text);
          break;
        case 2:
          REQUIRE(me->upsert(key, bytes_of(text), keep) == !present);
          REQUIRE(before == shows());
          model[key] = text;
          break;
        case 3:
          REQUIRE(me->update(key, bytes_of(text), keep) == present);
          REQUIRE(before == shows());
          if (present) at->second = text;
          break;
        case 4:
          REQUIRE(me->erase(key, keep) == present);
          REQUIRE(before == shows());
          model.erase(key);
          break;
        case 5: {
          const u64 wish = rng.below(3);
          const Effect effect = me->modify(key, [&](std::optional<ByteSpan> old) {
            REQUIRE(old.has_value() == present);
            if (old) REQUIRE(text_in(*old) == at->second);
            if (wish == 0) return Change::leave();
            if (wish == 1) return Change::erase();
            return Change::to(old.value_or(ByteSpan()).first(std::min<u64>(old ? old->size() : 0, 50)), bytes_of(text));
          });
          if (wish == 1) {
            REQUIRE(effect == (present ? Effect::kErased : Effect::kNone));
            model.erase(key);
          } else if (wish == 2) {
            REQUIRE(effect == (present ? Effect::kReplaced : Effect::kInserted));
            model[key] = model[key].substr(0, 50) + text;
          } else {
            REQUIRE(effect == Effect::kNone);
          }
          break;
        }
        case 6: {
          std::vector<u64> keys;
          for (u64 k = 0; k < 100; ++k) keys.push_back((k * 7 + i) % 50);
          std::vector<std::optional<std::string>> seen(keys.size());
          const std::size_t count = me->find_batch(std::span<const u64>(keys),
                                                   [&](std::size_t n, ByteSpan value) { seen[n] = text_in(value); });
          std::size_t wanted = 0;
          for (std::size_t n = 0; n < keys.size(); ++n) {
            const auto one = model.find(keys[n]);
            wanted += one != model.end();
            REQUIRE(seen[n] == (one == model.end() ? std::nullopt : std::optional(one->second)));
          }
          REQUIRE(count == wanted);
          break;
        }
        default: REQUIRE(found(*me, key) == shows());
      }
    }
    for (const auto& [key, text] : model) REQUIRE(me->erase(key));
    me->idle();
  }
  CHECK(index.live_after_all() == 0);
  CHECK(index->counters().pending == 0);
}

TEST_CASE("Sized: operations agree with a map of strings", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const Alloc alloc : {Alloc::kMalloc, Alloc::kArenaTouch}) check_against_a_map(subject, alloc);
    }
  }
}

void check_exceptions(const Subject& subject) {
  struct Thrown {};
  const auto fail = [](auto&&...) -> Change { throw Thrown(); };
  Indexed index(subject, Alloc::kMalloc);
  {
    const auto me = index->join();
    const std::string first = text_of(100, 1), second = text_of(200, 2);
    CHECK_THROWS_AS(me->modify(1, fail), Thrown);
    CHECK_FALSE(found(*me, 1).has_value());
    REQUIRE(me->insert(1, bytes_of(first)));
    CHECK_THROWS_AS(me->find(1, fail), Thrown);
    CHECK_THROWS_AS(me->insert(1, bytes_of(second), fail), Thrown);
    CHECK_THROWS_AS(me->modify(1, fail), Thrown);
    CHECK(found(*me, 1) == first);
    CHECK_THROWS_AS(me->update(1, bytes_of(second), fail), Thrown);  // done all the same
    CHECK(found(*me, 1) == second);
    CHECK_THROWS_AS(me->upsert(1, bytes_of(first), fail), Thrown);
    CHECK(found(*me, 1) == first);
    CHECK_THROWS_AS(me->erase(1, fail), Thrown);
    CHECK_FALSE(found(*me, 1).has_value());
    const std::string most(Values<Native>::kMostBytes + 1, 'x');
    CHECK_THROWS_AS(me->upsert(1, bytes_of(most)), std::length_error);
    CHECK_THROWS_AS(me->modify(1, [&](auto) { return Change::to(bytes_of(most)); }), std::length_error);
    CHECK_FALSE(found(*me, 1).has_value());
  }
  CHECK(index.live_after_all() == 0);
}

TEST_CASE("Sized: what a visitor or a function throws leaves the index usable", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) { check_exceptions(subject); }
  }
}

void check_overtaken(const Subject& subject) {
  constexpr u32 kMostStale = Sized<Synchronized<Art, Spin<Native>, U64Key>>::kMostStale;
  struct Thrown {};
  Indexed index(subject, Alloc::kMalloc);
  {
    const auto me = index->join(), other = index->join();
    REQUIRE(me->insert(1, bytes_of("begin of a value")));
    u32 runs = 0;
    // Other changes come between the word and the attempt, as long as the function runs outside attempts.
    const auto overtaken = [&](std::optional<ByteSpan>) {
      if (++runs <= kMostStale) {
        REQUIRE(other->modify(1, [](std::optional<ByteSpan> old) { return Change::to(*old, bytes_of("+other")); }) ==
                Effect::kReplaced);
      }
    };
    const auto modify = [&](auto&& wish) {
      runs = 0;
      return me->modify(1, [&](std::optional<ByteSpan> old) {
        overtaken(old);
        return wish(old);
      });
    };
    std::string wanted = "begin of a value";
    const auto others = [&] {
      for (u32 i = 0; i < kMostStale; ++i) wanted += "+other";
    };
    const std::string piece = text_of(300, 3);
    others();
    CHECK(modify([&](auto old) { return Change::to(*old, bytes_of(piece)); }) == Effect::kReplaced);
    wanted += piece;
    CHECK(runs == kMostStale + 1);
    CHECK(found(*me, 1) == wanted);
    others();
    CHECK(modify([&](auto) { return runs > kMostStale ? Change::leave() : Change::to(bytes_of(piece)); }) ==
          Effect::kNone);
    CHECK(found(*me, 1) == wanted);
    others();
    CHECK_THROWS_AS(modify([&](auto) -> Change {
                      if (runs > kMostStale) throw Thrown();
                      return Change::to(bytes_of(piece));
                    }),
                    Thrown);
    CHECK(found(*me, 1) == wanted);
    // The room has the size of the last result outside; the next is larger.
    others();
    const std::string large = text_of(100'000, 4);
    CHECK(modify([&](auto old) { return Change::to(*old, runs > kMostStale ? bytes_of(large) : bytes_of(piece)); }) ==
          Effect::kReplaced);
    wanted += large;
    CHECK(found(*me, 1) == wanted);
    others();
    CHECK(modify([](auto) { return Change::to(bytes_of("short")); }) == Effect::kReplaced);
    CHECK(found(*me, 1) == "short");
    CHECK(modify([](auto) { return Change::erase(); }) == Effect::kErased);
    CHECK_FALSE(found(*me, 1).has_value());
  }
  CHECK(index.live_after_all() == 0);
}

TEST_CASE("Sized: a function that others always overtake runs inside the attempt", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) { check_overtaken(subject); }
  }
}

void check_pins(const Subject& subject, Alloc alloc, u64 size) {
  Indexed index(subject, alloc);
  {
    const std::string first = text_of(size, 1);
    const auto me = index->join();
    CHECK_FALSE(me->pin(1));
    REQUIRE(me->insert(1, bytes_of(first)));
    auto pinned = me->pin(1);
    REQUIRE(pinned);
    for (u64 i = 0; i < 1000; ++i) REQUIRE_FALSE(me->upsert(1, bytes_of(text_of(300, i))));
    REQUIRE(me->erase(1));
    std::string seen;
    std::thread([&] {
      seen = text_in(pinned());
      pinned = {};
    }).join();
    CHECK(seen == first);
  }
  CHECK(index.live_after_all() == 0);
  CHECK(index->counters().pending == 0);
}

TEST_CASE("Sized: a pin keeps a value that was replaced and erased since", "[sized]") {
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const u64 size : {3, 3000}) {
        check_pins(subject, Alloc::kMalloc, size);
        check_pins(subject, Alloc::kArena, size);
      }
    }
  }
}

TEST_CASE("Sized: large values that were replaced are freed long before a batch is full", "[sized]") {
  Indexed index(subjects().front());
  const auto me = index->join();
  const std::string large = text_of(3 << 20, 1);
  for (u64 i = 0; i < 20; ++i) {
    (void)me->upsert(1, bytes_of(large));
    CHECK(index->bytes().values.live < u64{20} << 20);
  }
}

/// Modifies random values through two sessions in turn, each time to another random size. From a tenth of the
/// modifications on, the memory may grow by an eighth. The sessions have one thread: a thread that waits for a
/// processor inside an operation would hold memory for a time that a test cannot know.
void check_flat(const Subject& subject, u64 modifies) {
  constexpr u64 kKeys = 4000, kMostBytes = 3000, kParts = 10;
  Indexed index(subject);
  const std::unique_ptr<AnySession> sessions[] = {index->join(), index->join()};
  const std::string text = text_of(kMostBytes, 1);
  u64 reserved = 0, live = 0;
  Rng rng(test_seed());
  for (u64 part = 0; part < kParts; ++part) {
    for (u64 i = 0; i < modifies / kParts; ++i) {
      const ByteSpan value = bytes_of(text).first(rng() % kMostBytes);
      sessions[rng() % 2]->modify(rng() % kKeys, [&](std::optional<ByteSpan>) { return Change::to(value); });
    }
    const Footprint now = index->bytes().values;
    if (part == 0) {
      reserved = now.reserved;
      live = now.live;
    }
    CAPTURE(subject.name, part);
    CHECK(now.reserved <= reserved + reserved / 8);
    CHECK(now.live <= live + live / 8);
  }
}

TEST_CASE("Sized: values of random sizes hold as much memory after many modifications as after a tenth",
          "[sized][no-tsan]") {  // one thread
  check_flat(subject<Cuckoo, Olc<Native>>(), 2'000'000);
}
TEST_CASE("Sized: values of random sizes hold as much memory after 100 million modifications as after 10 million",
          "[.all][release]") {
  check_flat(subject<Cuckoo, Olc<Native>>(), 100'000'000);
}

void check_threads(const Subject& subject, Reclaim reclaim) {
  constexpr u32 kThreads = 4, kRounds = 1500, kKeys = 3;
  Indexed index(subject, Alloc::kMalloc, reclaim);
  std::atomic<u64> wrong{0};
  std::vector<u32> appended(kThreads);
  const u64 seed = test_seed();
  // A value is a row of pieces of 4 bytes: the thread, the number of its piece in two bytes, and a check.
  const auto whole = [](ByteSpan value) {
    if (value.size() % 4 != 0) return false;
    for (std::size_t i = 0; i < value.size(); i += 4) {
      if ((value[i] ^ value[i + 1] ^ value[i + 2]) != value[i + 3]) return false;
    }
    return true;
  };
  std::vector<std::vector<std::string>> taken(kThreads);
  const auto work = [&](u32 number) {
    const auto me = index->join();
    for (u32 i = 0; i < kRounds; ++i) {
      const u64 random = draw(seed, number, i), key = random % kKeys;
      const std::byte piece[] = {static_cast<std::byte>(number), static_cast<std::byte>(i),
                                 static_cast<std::byte>(i >> 8), static_cast<std::byte>(number ^ i ^ i >> 8)};
      switch (random >> 8 & 3) {
        case 0:
        case 1:
          me->modify(key, [&](std::optional<ByteSpan> old) { return Change::to(old.value_or(ByteSpan()), piece); });
          ++appended[number];
          break;
        case 2: me->find(key, [&](ByteSpan value) { wrong.fetch_add(!whole(value), kRelaxed); }); break;
        default:
          // Long values are taken away, so that keys come and go.
          if (random >> 10 & 3) break;
          me->erase(key, [&](ByteSpan value) { taken[number].push_back(text_in(value)); });
      }
    }
    me->idle();
  };
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  u64 pieces = 0, wanted = 0;
  {
    const auto me = index->join();
    std::vector<std::string> last;
    for (u64 key = 0; key < kKeys; ++key) me->erase(key, [&](ByteSpan value) { last.push_back(text_in(value)); });
    taken.push_back(last);
  }
  for (const auto& some : taken) {
    for (const std::string& value : some) {
      wrong.fetch_add(!whole(bytes_of(value)), kRelaxed);
      pieces += value.size() / 4;
    }
  }
  for (const u32 count : appended) wanted += count;
  CHECK(wrong.load(kRelaxed) == 0);
  CHECK(pieces == wanted);
  CHECK(index.live_after_all() == 0);
}

TEST_CASE("Sized: threads that append lose nothing, and readers see whole values", "[sized]") {
  for (const Subject& subject : subjects()) {
    if (!subject.shared) continue;
    DYNAMIC_SECTION(subject.name) {
      for (const Reclaim reclaim : {Reclaim::kEpoch, Reclaim::kQsbr}) check_threads(subject, reclaim);
    }
  }
}

void starve(const Subject& subject, Alloc alloc, Reclaim reclaim, FailurePlan::Then then) {
  INFO(word(alloc) << ", " << word(reclaim));
  Indexed index(subject, alloc, reclaim);
  Model model;
  u64 failures = 0;
  {
    const auto me = index->join(), quiet = index->join();
    CHECK_FALSE(found(*quiet, 1).has_value());  // it is quiet from now on: under qsbr all that is retired waits for it
    const auto live = [&] {
      const auto [pairs, values] = index->bytes();
      return pairs.live - pairs.room + values.live;
    };
    const auto unchanged = [&] {
      for (u64 key = 0; key < 8; ++key) {
        const auto at = model.find(key);
        if (found(*me, key) != (at == model.end() ? std::nullopt : std::optional(at->second))) return false;
      }
      return true;
    };
    const Starving starving{index.plan, live, unchanged};
    const auto until_done = [&](const char* what, auto&& operation) {
      INFO(what);
      failures += starve_until_done(starving, then, operation);
    };
    for (u64 round = 0; round < 40; ++round) {
      const u64 key = round % 8, size = kLengths[round * 3 % 10];
      const bool present = model.contains(key);
      const std::string text = text_of(size, round), more = text_of(size + 20, round + 1);
      until_done("upsert", [&] { return me->upsert(key, bytes_of(text)) == !present; });
      model[key] = text;
      until_done("update", [&] { return me->update(key, bytes_of(more)); });
      model[key] = more;
      const auto append = [&](std::optional<ByteSpan> old) { return Change::to(*old, bytes_of(text)); };
      until_done("modify to replace", [&] { return me->modify(key, append) == Effect::kReplaced; });
      model[key] += text;
      until_done("refused insert", [&] { return !me->insert(key, bytes_of(text)); });
      if (round % 3 == 0) continue;
      until_done("erase", [&] { return me->erase(key); });
      model.erase(key);
      if (round % 3 == 1) continue;
      until_done("insert", [&] { return me->insert(key, bytes_of(text)); });
      model[key] = text;
      const auto leave_nothing = [](std::optional<ByteSpan>) { return Change::erase(); };
      until_done("modify to erase", [&] { return me->modify(key, leave_nothing) == Effect::kErased; });
      model.erase(key);
      const auto put = [&](std::optional<ByteSpan>) { return Change::to(bytes_of(more)); };
      until_done("modify to insert", [&] { return me->modify(key, put) == Effect::kInserted; });
      model[key] = more;
    }
    if (then == FailurePlan::Then::kForEver) CHECK(failures > 50);  // after one failure the second try succeeds
    for (const auto& [key, text] : model) REQUIRE(me->erase(key));
  }
  const u64 live = index.live_after_all();
  if (reclaim != Reclaim::kLeak) CHECK(live == 0);
  index.index.reset();
  CHECK(index.limit.charged() == 0);
}

TEST_CASE("Sized: every operation beside a quiet thread succeeds or changes nothing, no matter which allocation fails",
          "[sized][no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const auto then : {FailurePlan::Then::kOnce, FailurePlan::Then::kForEver}) {
        for (const Reclaim reclaim : {Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak}) {
          starve(subject, Alloc::kMalloc, reclaim, then);
          starve(subject, Alloc::kArena, reclaim, then);
        }
      }
    }
  }
}

}  // namespace
}  // namespace latchlab::testing
