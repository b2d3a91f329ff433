#include "services/kv/store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/simdht/simdht.h"
#include "services/kv/server_testing.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "sync/none.h"

namespace latchlab::kv {
namespace {

using testing::after;
using testing::kHashSeed;
using testing::StoreOver;
using Stores = std::tuple<StoreOver<Cuckoo>, StoreOver<Chained>>;
using Session = Store::Session;

constexpr u64 kSmallLimit = 16 << 20;

StoreOptions limited() {
  StoreOptions options;
  options.limit = kSmallLimit;
  return options;
}

/// A store with a session, used by one thread.
template <class Kind>
class Used {
 public:
  explicit Used(const StoreOptions& options = {}) : store_(options, kHashSeed), session_(store_.join()) {}

  Store& store() { return store_; }
  Session& session() { return *session_; }
  Session* operator->() { return session_.get(); }
  Moment now = after(0);

  Effect put(std::string_view key, std::string_view value, i64 expires = 0) {
    return session_->put(store_.key(key), now, {.expires = expires}, value);
  }
  Effect erase(std::string_view key) {
    return session_->change(store_.key(key), now, [](const Item*) { return Wish::erase(); });
  }
  /// Returns the value of a key; "absent" for none.
  std::string get(const Key& key) {
    std::string value = "absent";
    session_->find({&key, 1}, now, kAlone, [&](std::size_t, Store::Items items) {
      if (items[0]) value = items[0]->value();
    });
    return value;
  }
  std::string get(std::string_view key) { return get(store_.key(key)); }
  StoreCounters counters() { return store_.counters(); }

 private:
  Kind store_;
  std::unique_ptr<Session> session_;
};

u64 bytes_of(std::string_view key, std::string_view value) { return kItemHead + key.size() + value.size(); }

TEMPLATE_LIST_TEST_CASE("A store finds what was put, changed and not erased", "", Stores) {
  Used<TestType> used;
  CHECK(used.get("a") == "absent");
  CHECK(used.put("a", "1") == Effect::kInserted);
  CHECK(used.put("a", "22") == Effect::kReplaced);
  CHECK(used.put("", "the empty key") == Effect::kInserted);
  CHECK(used.get("a") == "22");
  CHECK(used.get("") == "the empty key");
  const std::string long_key(kMostItemKeyBytes, 'k');
  CHECK(used.put(long_key, "") == Effect::kInserted);
  CHECK(used.get(long_key).empty());
  const auto append = [&](std::string_view key) {
    return used->change(used.store().key(key), used.now, [](const Item* before) {
      if (before == nullptr) return Wish::leave();
      return Wish::put(before->fields(), before->value(), "-more");
    });
  };
  CHECK(append("a") == Effect::kReplaced);
  CHECK(used.get("a") == "22-more");
  CHECK(append("b") == Effect::kNone);
  CHECK(used.counters().items == 3);
  CHECK(used.counters().bytes == bytes_of("a", "22-more") + bytes_of("", "the empty key") + bytes_of(long_key, ""));
  CHECK(used.counters().total_items == 5);
  CHECK(used.erase("a") == Effect::kErased);
  CHECK(used.erase("a") == Effect::kNone);
  CHECK(used.get("a") == "absent");
  CHECK(used.counters().items == 2);
}

TEMPLATE_LIST_TEST_CASE("An item keeps the fields that it was stored with", "", Stores) {
  Used<TestType> used;
  const Key key = used.store().key("a");
  const ItemFields fields{.expires = after(5000).ms, .flags = 0xdeadbeef, .recent = 17, .stale = true};
  (void)used->put(key, used.now, fields, "x");
  std::optional<ItemFields> first;
  used->find({&key, 1}, used.now, kAlone, [&](std::size_t, Store::Items items) { first = items[0]->fields(); });
  REQUIRE(first);
  CHECK(first->expires == fields.expires);
  CHECK(first->flags == fields.flags);
  CHECK(first->recent == 17);
  CHECK(first->stale);
  CHECK(first->key_bytes == 1);
  CHECK(first->cas != 0);
  (void)used.put("a", "x");
  CHECK(used->next_cas() > first->cas + 1);
}

TEMPLATE_LIST_TEST_CASE("An item is absent from its time on, and find, change and sweep remove it", "", Stores) {
  Used<TestType> used;
  const i64 end = after(1000).ms;
  for (const std::string key : {"found", "put", "left", "erased", "swept", "walked"}) (void)used.put(key, "x", end);
  (void)used.put("stays", "x");
  used.now = after(999);
  CHECK(used.get("found") == "x");
  CHECK(used->sweep(1000, used.now).removed == 0);
  used.now = after(1000);
  CHECK(used.counters().items == 7);
  std::set<std::string> walked;
  const auto walk = used->begin_walk();
  while (used->walk_on(*walk, 10, used.now, [&](const Item& item) { walked.emplace(item.key()); })) {}
  CHECK(walked == std::set<std::string>{"stays"});

  CHECK(used.get("found") == "absent");
  CHECK(used.counters().items == 6);
  CHECK(used.counters().expired == 1);
  CHECK(used.put("put", "y") == Effect::kInserted);
  CHECK(used.counters().items == 6);
  CHECK(used.counters().expired == 2);
  const Effect left = used->change(used.store().key("left"), used.now, [](const Item* before) {
    CHECK(before == nullptr);
    return Wish::leave();
  });
  CHECK(left == Effect::kNone);
  CHECK(used.counters().items == 5);
  CHECK(used.erase("erased") == Effect::kNone);
  CHECK(used.counters().items == 4);
  CHECK(used->sweep(1000, used.now).removed == 2);
  const StoreCounters counters = used.counters();
  CHECK(counters.items == 2);
  CHECK(counters.bytes == bytes_of("put", "y") + bytes_of("stays", "x"));
  CHECK(counters.expired == 6);
  CHECK(counters.expired_unfetched == 6);  // nobody calls Item::access here
  CHECK(counters.evictions == 0);
}

TEST_CASE("A store over an index without walks lets dead items be until an operation comes by") {
  Used<StoreOf<Synchronized<SimdHt, None<Native>, U64Key>>> used;
  for (u32 i = 0; i < 100; ++i) (void)used.put("stays" + std::to_string(i), std::string(i, 'x'));
  for (const std::string key : {"found", "put", "erased", "left"}) (void)used.put(key, "x", after(1000).ms);
  used.now = after(1000);
  CHECK(used->begin_walk() == nullptr);
  CHECK(used->sweep(1000, used.now).removed == 0);
  CHECK(used.counters().items == 104);
  CHECK(used.get("found") == "absent");
  CHECK(used.put("put", "y") == Effect::kInserted);
  CHECK(used.erase("erased") == Effect::kNone);
  CHECK(used.counters().items == 102);
  CHECK(used.counters().expired == 3);
  for (u32 i = 0; i < 100; ++i) CHECK(used.get("stays" + std::to_string(i)) == std::string(i, 'x'));
  used.store().flush(0, used.now);
  CHECK(used.counters().items == 0);
  CHECK(used.get("stays1") == "absent");
}

TEMPLATE_LIST_TEST_CASE("A dead item that another thread revives meanwhile stays", "", Stores) {
  Used<TestType> used;
  const auto other = used.store().join();
  (void)used.put("a", "x", after(1000).ms);
  const Key key = used.store().key("a");
  // The first session's moment is later than the second one's, as with two loops of which one has begun its turn
  // before.
  used->find({&key, 1}, after(1000), kAlone, [&](std::size_t, Store::Items items) {
    CHECK_FALSE(items[0]);
    CHECK(other->change(key, after(999), [](const Item* before) {
      ItemFields kept = before->fields();
      kept.expires = 0;
      return Wish::put(kept, before->value());
    }) == Effect::kReplaced);
  });
  used.now = after(2000);
  CHECK(used.get("a") == "x");
  CHECK(used.counters().items == 1);
}

TEMPLATE_LIST_TEST_CASE("A flush removes what was stored before it, at once or at its time", "", Stores) {
  Used<TestType> used;
  (void)used.put("a", "1");
  (void)used.put("b", "1");
  used.store().flush(0, used.now);
  CHECK(used.counters().items == 0);
  CHECK(used.counters().bytes == 0);
  CHECK(used.get("a") == "absent");
  CHECK(used.put("b", "2") == Effect::kInserted);
  CHECK(used.counters().items == 1);
  CHECK(used.counters().expired == 2);
  used.store().flush(after(5000).ms, used.now);
  used.store().flush(after(9000).ms, used.now);  // only the last time counts
  (void)used.put("c", "1");
  used.now = after(8999);
  CHECK(used.get("b") == "2");
  used.now = after(9000);
  CHECK(used.get("b") == "absent");
  CHECK(used.counters().items == 0);
  CHECK(used->sweep(1000, used.now).removed == 1);
  CHECK(used.put("c", "2") == Effect::kInserted);
  used.now = after(20'000);
  CHECK(used.get("c") == "2");
  CHECK(used.counters().items == 1);
  CHECK(used.counters().bytes == bytes_of("c", "2"));
}

TEMPLATE_LIST_TEST_CASE("A flush that is due happens, also if the next call is another flush", "", Stores) {
  Used<TestType> used;
  (void)used.put("a", "1");
  used.store().flush(after(1000).ms, used.now);
  used.now = after(2000);
  used.store().flush(after(9000).ms, used.now);
  CHECK(used.get("a") == "absent");
}

TEMPLATE_LIST_TEST_CASE("Random operations of two sessions have the effects and the counts of a map", "", Stores) {
  struct Stored {
    std::string value;
    i64 expires;
  };
  Rng rng(test_seed());
  Used<TestType> used;
  const auto second = used.store().join();
  const std::array<Session*, 2> sessions{&used.session(), second.get()};
  std::map<std::string, Stored> oracle;
  i64 ms = 0, flush_at = 0;
  u64 puts = 0;
  const auto live = [&](const std::string& key) {
    const auto at = oracle.find(key);
    return at != oracle.end() && (at->second.expires == 0 || at->second.expires > after(ms).ms) ? &at->second : nullptr;
  };
  for (u32 i = 0; i < 20'000; ++i) {
    ms += static_cast<i64>(rng.below(10));
    const Moment now = after(ms);
    if (flush_at != 0 && flush_at <= now.ms) {
      oracle.clear();
      flush_at = 0;
    }
    Session& session = *sessions[rng.below(2)];
    const std::string text = "key" + std::to_string(rng.below(150));
    const Key key = used.store().key(text);
    const Stored* const there = live(text);
    const i64 expires = rng.below(2) == 0 ? 0 : now.ms + static_cast<i64>(rng.below(2000));
    const std::string value(rng.below(50), 'v');
    CAPTURE(i, text);
    switch (rng.below(10)) {
      case 0:
      case 1:
      case 2:
        REQUIRE(session.put(key, now, {.expires = expires}, value) == (there ? Effect::kReplaced : Effect::kInserted));
        oracle[text] = {value, expires};
        ++puts;
        break;
      case 3: {
        const Effect effect = session.change(key, now, [&](const Item* before) {
          return before == nullptr ? Wish::leave() : Wish::put(before->fields(), before->value(), "!");
        });
        REQUIRE(effect == (there ? Effect::kReplaced : Effect::kNone));
        if (there) oracle[text].value += "!";
        puts += there != nullptr;
        break;
      }
      case 4:
        REQUIRE(session.change(key, now, [](const Item*) { return Wish::erase(); }) ==
                (there ? Effect::kErased : Effect::kNone));
        oracle.erase(text);
        break;
      case 5: (void)session.sweep(5, now); break;
      case 6:
        if (rng.below(100) == 0) {
          flush_at = rng.below(2) == 0 ? now.ms : now.ms + static_cast<i64>(rng.below(500));
          used.store().flush(flush_at, now);
          if (flush_at == now.ms) {
            oracle.clear();
            flush_at = 0;
          }
        }
        break;
      default: {
        std::string found = "absent";
        session.find({&key, 1}, now, rng.below(2) == 0 ? kAlone : kTogether, [&](std::size_t, Store::Items items) {
          if (items[0]) found = items[0]->value();
        });
        REQUIRE(found == (there ? there->value : "absent"));
      }
    }
    if (i % 500 != 0) continue;
    // After a whole sweep only the live are left.
    for (u32 steps = 0; steps < 200; ++steps) (void)session.sweep(16, now);
    u64 items = 0, bytes = 0;
    for (const auto& [name, stored] : oracle) {
      if (!live(name)) continue;
      ++items;
      bytes += bytes_of(name, stored.value);
    }
    const StoreCounters counters = used.counters();
    REQUIRE(counters.items == items);
    REQUIRE(counters.bytes == bytes);
    REQUIRE(counters.total_items == puts);
  }
}

TEMPLATE_LIST_TEST_CASE("A store at its limit evicts, never throws, and its counts add up", "", Stores) {
  Used<TestType> used(limited());
  constexpr u64 kItems = 100'000;
  const std::string value(500, 'v');
  const auto name = [](u64 number) { return "key" + std::to_string(number); };
  u64 popular_hits = 0, popular_asked = 0;
  for (u64 i = 0; i < kItems; ++i) {
    REQUIRE_NOTHROW(used.put(name(i), value));
    REQUIRE(used.store().reserved() <= kSmallLimit);
    if (i % 50 != 0) continue;
    for (u64 popular = 0; popular < std::min<u64>(i, 20); ++popular) {
      ++popular_asked;
      popular_hits += used.get(name(popular)) == value;
    }
  }
  const StoreCounters counters = used.counters();
  CHECK(popular_hits == popular_asked);
  CHECK(counters.total_items == kItems);
  CHECK(counters.evictions > kItems / 2);
  CHECK(counters.evicted_unfetched == counters.evictions);
  CHECK(counters.items + counters.evictions == kItems);
  CHECK(counters.out_of_memory == 0);
  CHECK(counters.items > 5000);
  u64 there = 0;
  for (u64 i = 0; i < kItems; ++i) there += used.get(name(i)) == value;
  CHECK(there == counters.items);
}

TEMPLATE_LIST_TEST_CASE("An item for which there can be no room is refused, and the store goes on", "", Stores) {
  Used<TestType> used(limited());
  (void)used.put("a", "old");
  const std::string longest((16 << 20) - 64, 'x');  // it fits into a value, but not beside the index into the limit
  CHECK_THROWS_AS(used.put("a", longest), std::bad_alloc);
  CHECK_THROWS_AS(used->change(used.store().key("a"), used.now, [&](const Item*) { return Wish::put({}, longest); }),
                  std::bad_alloc);
  const StoreCounters counters = used.counters();
  CHECK(counters.out_of_memory == 2);
  CHECK(counters.total_items == 1);
  CHECK(counters.items + counters.evictions == 1);  // the hand may have taken what was there
  const std::string too_long((16 << 20) + 1, 'x');
  CHECK_THROWS_AS(used.put("b", too_long), std::length_error);
  CHECK(used.put("b", "small") == Effect::kInserted);
  CHECK(used.get("b") == "small");
  CHECK(used.store().reserved() <= kSmallLimit);
}

TEMPLATE_LIST_TEST_CASE("A store that is full of small items has room for large ones", "", Stores) {
  Used<TestType> used(limited());
  const std::string small(100, 's'), large(1 << 20, 'l');
  for (u64 i = 0; i < 200'000; ++i) (void)used.put(std::to_string(i), small);
  for (u64 i = 0; i < 20; ++i) REQUIRE_NOTHROW(used.put(std::to_string(i), large));
  CHECK(used.get("19").size() == large.size());
  CHECK(used.counters().out_of_memory == 0);
  CHECK(used.store().reserved() <= kSmallLimit);
}

TEMPLATE_LIST_TEST_CASE("Two keys with one hash push each other out, and never answer for each other", "", Stores) {
  Used<TestType> used;
  const Key a{.hash = 77, .text = "a"}, b{.hash = 77, .text = "b"};
  CHECK(used->put(a, used.now, {}, "of a") == Effect::kInserted);
  CHECK(used.get(b) == "absent");
  CHECK(used.get(a) == "of a");
  CHECK(used->change(b, used.now, [](const Item* before) {
    CHECK(before == nullptr);
    return Wish::leave();
  }) == Effect::kNone);
  CHECK(used.get(a) == "of a");
  CHECK(used.counters().collisions == 0);
  CHECK(used->put(b, used.now, {}, "of b") == Effect::kInserted);
  CHECK(used.get(a) == "absent");
  CHECK(used.get(b) == "of b");
  CHECK(used.counters().collisions == 1);
  CHECK(used->change(a, used.now, [](const Item*) { return Wish::put({}, "again"); }) == Effect::kInserted);
  CHECK(used.get(a) == "again");
  CHECK(used.get(b) == "absent");
  const std::array both{a, b, a};
  used->find(both, used.now, kTogether, [&](std::size_t, Store::Items items) {
    REQUIRE(items.size() == 3);
    CHECK(items[0]->value() == "again");
    CHECK_FALSE(items[1]);
    CHECK(items[2]->value() == "again");
  });
  const StoreCounters counters = used.counters();
  CHECK(counters.collisions == 2);
  CHECK(counters.items == 1);
  CHECK(counters.bytes == bytes_of("a", "again"));
}

TEMPLATE_LIST_TEST_CASE("A visit gets the items in the order of the keys, alone and in batches", "", Stores) {
  Rng rng(test_seed());
  Used<TestType> used;
  std::vector<std::string> names;
  for (u64 i = 0; i < 300; ++i) {
    names.push_back("key" + std::to_string(i));
    if (i % 3 != 0) (void)used.put(names.back(), "value " + names.back(), i % 3 == 1 ? 0 : after(1000 + i % 2).ms);
  }
  used.now = after(1000);
  for (const std::size_t count : {0, 1, 2, 63, 64, 65, 128, 129, 250}) {
    CAPTURE(count);
    std::vector<Key> keys;
    for (std::size_t i = 0; i < count; ++i) keys.push_back(used.store().key(names[rng.below(names.size())]));
    constexpr std::array kBatches{kAlone, kTogether, Batching{.keys = 5, .order = BatchOrder::kInTurn}};
    std::array<std::vector<std::string>, kBatches.size()> found;
    for (std::size_t way = 0; way < kBatches.size(); ++way) {
      used->find(keys, used.now, kBatches[way], [&](std::size_t first, Store::Items items) {
        REQUIRE(first == found[way].size());
        REQUIRE(items.size() <= kBatches[way].keys);
        for (std::size_t i = 0; i < items.size(); ++i) {
          if (items[i]) CHECK(items[i]->key() == keys[first + i].text);
          found[way].emplace_back(items[i] ? items[i]->value() : "absent");
        }
      });
      REQUIRE(found[way].size() == count);
      CHECK(found[way] == found[0]);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("A walk visits each item that stays at least once, beside changes", "", Stores) {
  Rng rng(test_seed());
  Used<TestType> used;
  std::set<std::string> stays;
  for (u64 i = 0; i < 1000; ++i) {
    stays.insert("stays" + std::to_string(i));
    (void)used.put("stays" + std::to_string(i), "x");
    (void)used.put("goes" + std::to_string(i), "x");
  }
  std::set<std::string> seen;
  const auto walk = used->begin_walk();
  bool more = true;
  u32 steps = 0;
  while (more) {
    more = used->walk_on(*walk, 20, used.now, [&](const Item& item) { seen.emplace(item.key()); });
    REQUIRE(++steps < 10'000);
    for (u32 i = 0; i < 50; ++i) {
      (void)used.erase("goes" + std::to_string(rng.below(1000)));
      (void)used.put("new" + std::to_string(rng.below(5000)), "x");
      (void)used.put("stays" + std::to_string(rng.below(1000)), "another value");
    }
  }
  CHECK(std::ranges::includes(seen, stays));
}

TEST_CASE("An access is noted with its second, and a win is kept") {
  Used<StoreOver<Cuckoo>> used;
  (void)used.put("a", "a value that is no short one");
  const Key key = used.store().key("a");
  used->find({&key, 1}, used.now, kAlone, [&](std::size_t, Store::Items items) {
    const Item& item = *items[0];
    CHECK(item.recent() == 0);
    item.access(5);
    CHECK(item.recent() == (Recent::kFetched | 5));
    CHECK(item.win());
    CHECK_FALSE(item.win());
    item.access(6);
    CHECK(item.recent() == (Recent::kFetched | Recent::kWon | 6));
  });
}

TEST_CASE("One of several threads wins an item") {
  Used<StoreOver<Cuckoo>> used;
  for (u32 round = 0; round < 100; ++round) {
    (void)used.put("a", "x");
    std::atomic<u32> wins{0};
    std::vector<std::thread> threads;
    for (u32 id = 0; id < 3; ++id) {
      threads.emplace_back([&, id] {
        const auto session = used.store().join();
        const Key key = used.store().key("a");
        session->find({&key, 1}, after(0), kAlone, [&](std::size_t, Store::Items items) {
          items[0]->access(id);
          wins += items[0]->win();
        });
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(wins == 1);
  }
}

TEMPLATE_LIST_TEST_CASE("Counts of threads that evict beside each other add up", "", Stores) {
  TestType store(limited(), kHashSeed);
  constexpr u64 kThreads = 3, kEach = 20'000;
  const std::string value(400, 'v');
  std::atomic<u64> failed{0};
  std::vector<std::thread> threads;
  for (u64 id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      const auto session = store.join();
      Rng rng(test_seed() + id);
      for (u64 i = 0; i < kEach; ++i) {
        const std::string text = std::to_string(rng.below(50'000));
        try {
          (void)session->put(store.key(text), after(0), {}, value);
        } catch (const std::bad_alloc&) {
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto session = store.join();
  u64 items = 0, bytes = 0;
  const auto walk = session->begin_walk();
  while (session->walk_on(*walk, 64, after(0), [&](const Item& item) { ++items, bytes += item.size(); })) {}
  const StoreCounters counters = store.counters();
  CHECK(counters.items == items);
  CHECK(counters.bytes == bytes);
  CHECK(counters.total_items + failed == kThreads * kEach);
  CHECK(counters.evictions > 0);
  CHECK(counters.out_of_memory == failed);
  CHECK(store.reserved() <= kSmallLimit);
}

}  // namespace
}  // namespace latchlab::kv
