#pragma once

// The store over one index under one policy (store.h). Only the generated units of stores, and tests, include this: it
// compiles the index.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/sized.h"
#include "services/kv/store.h"
#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "src/stats/shared_counts.h"
#include "sync/synchronized.h"

namespace latchlab::kv {

/// The counts of one session: those of StoreCounters, of which one thread at a time knows how many items of a
/// generation have come and gone. One thread writes them, and any thread reads them, so they need no order.
class Tally {
 public:
  /// Counts items that came or went, and their bytes, unless a flush that this thread knows has forgotten them.
  void count_items(u32 generation, i64 items, i64 bytes) {
    const u32 known = generation_.load(kRelaxed);
    if (generation < known) return;
    if (generation > known) {
      items_.store(0, kRelaxed);
      bytes_.store(0, kRelaxed);
      generation_.store(generation, kRelaxed);
    }
    items_.store(items_.load(kRelaxed) + static_cast<u64>(items), kRelaxed);
    bytes_.store(bytes_.load(kRelaxed) + static_cast<u64>(bytes), kRelaxed);
  }
  /// Adds the counts; those of items only if they are of this generation. One thread may have removed what another has
  /// stored. So only the sum over all threads is a number of items.
  void add_to(StoreCounters& sum, u32 generation) const {
    events.add_to(sum);
    if (generation_.load(kRelaxed) != generation) return;
    sum.items += items_.load(kRelaxed);
    sum.bytes += bytes_.load(kRelaxed);
  }

  SharedCounts<StoreCounters> events;  ///< but for items and bytes

 private:
  alignas(kFalseSharingBytes) std::atomic<u32> generation_{0};
  std::atomic<u64> items_{0}, bytes_{0};  // modulo 2^64
};

/// The store over `Map`, a Synchronized with numbers as keys. It can be walked if Map can.
template <class Map>
class StoreOf final : public Store {
  using Index = Sized<Map>;
  static constexpr bool kWalks = Map::kWalksBesideWriters;
  struct NoWalk {};
  using IndexWalk = std::conditional_t<kWalks, typename Index::Walk, NoWalk>;

 public:
  StoreOf(const StoreOptions& options, u64 seed) : StoreOf(options, seed, memory_of(options)) {}

  std::unique_ptr<Store::Session> join() override {
    const std::scoped_lock lock(mutex_);
    tallies_.push_back(std::make_unique<Tally>());
    return std::make_unique<Session>(*this, *tallies_.back());
  }

  void flush(i64 at, Moment now) override {
    (void)generation(now);  // a flush that is due, and that no operation has met yet, is not replaced
    flush_at_.store(at == 0 ? now.ms : at, kRelaxed);
    (void)generation(now);
  }

  StoreCounters counters() const override {
    const std::scoped_lock lock(mutex_);
    StoreCounters sum;
    for (const auto& tally : tallies_) tally->add_to(sum, generation_.load(kRelaxed));
    // Beside changes, an item may be seen to go by one thread before another is seen to store it.
    for (u64* const count : {&sum.items, &sum.bytes}) {
      if (static_cast<i64>(*count) < 0) *count = 0;
    }
    return sum;
  }

  u64 reserved() const override {
    const SizedFootprint bytes = index_.bytes();
    return limit_.bytes() == 0 ? bytes.index.reserved + bytes.values.reserved : limit_.charged();
  }

 private:
  /// How often a change that lacks memory waits for other threads.
  static constexpr u32 kMostWaits = 1000;
  /// The most dead items that an operation, or a step of the sweep, removes.
  static constexpr std::size_t kMostRemoved = 64;

  class Walk final : public Store::Walk {
   public:
    IndexWalk walk;
  };

  class Session final : public Store::Session {
   public:
    Session(StoreOf& store, Tally& tally) : store_(store), tally_(tally), me_(store.index_.join()) {}

    void find(std::span<const Key> keys, Moment now, const Batching& batch,
              FunctionRef<void(std::size_t first, Items items)> visit) override {
      std::array<u64, kMostInAttempt> hashes;
      std::array<std::optional<Item>, kMostInAttempt> items;
      const u32 generation = store_.generation(now);
      Graveyard dead;
      for (std::size_t first = 0; first < keys.size(); first += batch.keys) {
        const std::span<const Key> group = keys.subspan(first, std::min<std::size_t>(batch.keys, keys.size() - first));
        const auto show = [&](std::size_t i, std::optional<ByteSpan> bytes) {
          items[i].reset();
          if (!bytes) return;
          const Item item(*bytes);
          if (!is_live(item, generation, now)) return dead.add(group[i].hash, item.cas());
          if (item.key() == group[i].text) items[i] = item;
        };
        if (group.size() == 1) {
          // Inside the visit the item is valid; a miss is told after it.
          if (store_.index_.use(me_, group[0].hash, [&](ByteSpan bytes) {
                show(0, bytes);
                visit(first, Items(items.data(), 1));
              }))
            continue;
          items[0].reset();
          visit(first, Items(items.data(), 1));
          continue;
        }
        for (std::size_t i = 0; i < group.size(); ++i) hashes[i] = group[i].hash;
        const auto show_all = [&](std::size_t, const typename Index::FoundValues& found) {
          for (std::size_t i = 0; i < found.size(); ++i) show(i, found[i]);
          visit(first, Items(items.data(), found.size()));
        };
        store_.index_.use_groups(me_, std::span<const u64>(hashes.data(), group.size()), show_all, batch.order);
      }
      (void)remove(dead, now);
    }

    Effect change(const Key& key, Moment now, FunctionRef<Wish(const Item* before)> decide) override {
      return with_room([&] {
        const u32 generation = store_.generation(now);
        Seen seen;
        const auto step = [&](std::optional<ByteSpan> bytes) -> latchlab::Change {
          const std::optional<Item> before = seen.look(bytes, key.text, generation, now);
          const Wish wish = decide(before ? &*before : nullptr);
          seen.stored = 0;
          seen.in_place = wish.mark() != Mark::kClear;
          switch (wish.kind()) {
            case Wish::Kind::kLeave: return latchlab::Change::leave();
            case Wish::Kind::kErase: return latchlab::Change::erase();
            case Wish::Kind::kPut: break;
          }
          ByteSpan second = as_bytes(wish.second());
          const ByteSpan first = as_bytes(wish.first());
          begin_item(wish.fields(), key.text, generation);
          if (wish.second().empty()) {
            second = first;
          } else {
            room_.insert(room_.end(), first.begin(), first.end());
          }
          seen.stored = room_.size() + second.size();
          return latchlab::Change::to(room_, second, wish.mark());
        };
        const Effect effect = store_.index_.modify(me_, key.hash, step);
        if (effect == Effect::kNone && seen.kind == Seen::Kind::kExpired) {
          Graveyard dead;
          dead.add(key.hash, seen.cas);
          (void)remove(dead, now);
        }
        return told(effect, seen, generation);
      });
    }

    Effect put(const Key& key, Moment now, const ItemFields& fields, std::string_view value) override {
      return with_room([&] {
        const u32 generation = store_.generation(now);
        begin_item(fields, key.text, generation);
        room_.insert(room_.end(), as_bytes(value).begin(), as_bytes(value).end());
        Seen seen;
        seen.stored = room_.size();
        const bool added = store_.index_.upsert(
            me_, key.hash, room_, [&](ByteSpan before) { (void)seen.look(before, key.text, generation, now); });
        return told(added ? Effect::kInserted : Effect::kReplaced, seen, generation);
      });
    }

    Swept sweep([[maybe_unused]] std::size_t most, Moment now) override {
      const u32 generation = store_.generation(now);
      Graveyard dead;
      Swept swept;
      walk_index(sweep_, most, [&](u64 hash, const Item& item) {
        ++swept.looked;
        if (!is_live(item, generation, now)) dead.add(hash, item.cas());
      });
      swept.removed = remove(dead, now);
      return swept;
    }

    std::unique_ptr<Store::Walk> begin_walk() override { return kWalks ? std::make_unique<Walk>() : nullptr; }
    bool walk_on(Store::Walk& walk, std::size_t most, Moment now, FunctionRef<void(const Item& item)> visit) override {
      const u32 generation = store_.generation(now);
      return walk_index(static_cast<Walk&>(walk).walk, most, [&](u64, const Item& item) {
        if (is_live(item, generation, now)) visit(item);
      });
    }

    u64 next_cas() override { return store_.next_cas_.fetch_add(1, kRelaxed); }
    void idle() override { store_.index_.idle(me_); }

   private:
    /// The item that an operation has found under its hash, and the size of the one that it stores.
    struct Seen {
      enum class Kind : u8 { kNothing, kLive, kExpired, kCollision };
      Kind kind = Kind::kNothing;
      bool fetched = false;
      u32 generation = 0;
      u64 cas = 0;
      std::size_t bytes = 0;   // of the item that was there
      std::size_t stored = 0;  // of the one that was put
      bool in_place = false;   // as clients see it: the item was changed, and none was stored

      /// Notes what is there, and returns it if it is live.
      std::optional<Item> look(std::optional<ByteSpan> found, std::string_view key, u32 current, Moment now) {
        kind = Kind::kNothing;
        if (!found) return std::nullopt;
        const Item item(*found);
        bytes = found->size();
        generation = item.generation();
        cas = item.cas();
        fetched = (item.recent() & Recent::kFetched) != 0;
        kind = !is_live(item, current, now) ? Kind::kExpired : item.key() != key ? Kind::kCollision : Kind::kLive;
        return kind == Kind::kLive ? std::optional(item) : std::nullopt;
      }
    };

    /// Calls visit(hash, item) for the next items of a walk, dead ones too. Returns false at the end.
    template <class Visit>
    bool walk_index(IndexWalk& walk, std::size_t most, const Visit& visit) {
      if constexpr (kWalks) {
        return store_.index_.walk_on(me_, walk, most, [&](u64 hash, ByteSpan bytes) { visit(hash, Item(bytes)); });
      }
      return false;
    }

    static ByteSpan as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
    static bool is_live(const Item& item, u32 generation, Moment now) {
      return item.generation() == generation && (item.expires() == 0 || item.expires() > now.ms);
    }
    /// Some dead items that an operation has come by, to be removed after it.
    class Graveyard {
     public:
      void add(u64 hash, u64 cas) {
        if (count_ < dead_.size()) dead_[count_++] = {hash, cas};
      }
      struct Dead {
        u64 hash, cas;
      };
      std::span<const Dead> all() const { return {dead_.data(), count_}; }

     private:
      std::array<Dead, kMostRemoved> dead_;
      std::size_t count_ = 0;
    };
    /// Removes them, unless they have changed since. Returns how many it has removed. Those that it lacks memory for
    /// stay.
    std::size_t remove(const Graveyard& dead, Moment now) {
      std::size_t removed = 0;
      for (const auto& [hash, cas] : dead.all()) {
        const u32 generation = store_.generation(now);
        Seen seen;
        const auto step = [&](std::optional<ByteSpan> bytes) {
          // A touch keeps the cas. So a thread with an earlier moment may have revived the item.
          const bool same = bytes && Item(*bytes).cas() == cas;
          const bool still_dead = same && !seen.look(bytes, Item(*bytes).key(), generation, now);
          return still_dead ? latchlab::Change::erase() : latchlab::Change::leave();
        };
        try {
          const Effect effect = store_.index_.modify(me_, hash, step);
          removed += effect == Effect::kErased;
          (void)told(effect, seen, generation);
        } catch (const std::bad_alloc&) {
          break;
        }
      }
      return removed;
    }

    /// Writes the head and the key of an item to room_.
    void begin_item(ItemFields fields, std::string_view key, u32 generation) {
      if (fields.cas == 0) fields.cas = next_cas();
      fields.generation = generation;
      fields.key_bytes = static_cast<u16>(key.size());
      room_.resize(kItemHead);
      Item::write_head(room_.data(), fields);
      room_.insert(room_.end(), as_bytes(key).begin(), as_bytes(key).end());
    }

    /// Counts what an operation has done. Returns the effect as clients see it, for whom the dead are absent.
    Effect told(Effect effect, const Seen& seen, u32 generation) {
      note_moved(seen.bytes + seen.stored);
      const bool put = effect == Effect::kInserted || effect == Effect::kReplaced;
      const bool removed = effect == Effect::kReplaced || effect == Effect::kErased;
      if (put) {
        tally_.count_items(generation, 1, static_cast<i64>(seen.stored));
        if (!seen.in_place) tally_.events.add<&StoreCounters::total_items>();
      }
      if (!removed || seen.kind == Seen::Kind::kNothing) return effect;
      tally_.count_items(seen.generation, -1, -static_cast<i64>(seen.bytes));
      if (seen.kind == Seen::Kind::kLive) return effect;
      if (seen.kind == Seen::Kind::kCollision) tally_.events.add<&StoreCounters::collisions>();
      if (seen.kind == Seen::Kind::kExpired) {
        tally_.events.add<&StoreCounters::expired>();
        if (!seen.fetched) tally_.events.add<&StoreCounters::expired_unfetched>();
      }
      return put ? Effect::kInserted : Effect::kNone;
    }

    /// Returns run(). If memory is out, evicts items and runs it again, until the hand has gone round twice: once it
    /// clears the marks of all items, and then it removes them. Another thread may hold up what was removed; then this
    /// one lets it run, a bounded number of times.
    template <class Run>
    auto with_room(const Run& run) {
      for (u32 rounds = 0, waits = 0;;) {
        try {
          return run();
        } catch (const std::bad_alloc&) {
        } catch (const IndexFull&) {}
        if (!store_.limited() || rounds == 2 || waits == kMostWaits) {
          tally_.events.add<&StoreCounters::out_of_memory>();
          throw std::bad_alloc();
        }
        try {
          rounds += evict();
        } catch (const std::bad_alloc&) {
          ++waits;
          std::this_thread::yield();
        }
      }
    }
    /// Evicts some items. Returns whether the hand has come round.
    bool evict() {
      const auto gone = [&](u64, ByteSpan bytes) {
        const Item item(bytes);
        tally_.count_items(item.generation(), -1, -static_cast<i64>(bytes.size()));
        tally_.events.add<&StoreCounters::evictions>();
        if ((item.recent() & Recent::kFetched) == 0) tally_.events.add<&StoreCounters::evicted_unfetched>();
      };
      if constexpr (kWalks) {
        for (;;) {
          const Eviction step = store_.index_.evict(me_, hand_, kMostInAttempt, gone);
          if (step.pairs != 0 || step.came_round) return step.came_round;
        }
      }
      return true;
    }

    StoreOf& store_;
    Tally& tally_;
    typename Index::ThreadState me_;
    IndexWalk hand_, sweep_;
    std::vector<std::byte> room_;  // for the item of a change
  };

  StoreOf(const StoreOptions& options, u64 seed, const MemoryConfig& memory)
      : Store(seed), limit_(memory.limit), index_(make(options, memory)) {}

  static MemoryConfig memory_of(const StoreOptions& options) {
    return {.alloc = MemoryConfig::Alloc::kArena, .thp = options.huge_pages, .limit = MemoryBudget(options.limit)};
  }
  /// Returns the memory of the items, which shares the limit of the index. A pool never joins small free blocks to
  /// large ones (src/memory/pool.h), so a full store of small items would refuse large ones for ever. malloc joins
  /// them. Blocks aligned to lines would take twice the memory.
  static MemoryConfig items_memory(const StoreOptions& options, MemoryConfig memory) {
    if (!options.huge_pages) memory.alloc = MemoryConfig::Alloc::kMalloc;
    memory.malloc_alignment = alignof(std::max_align_t);
    return memory;
  }
  static Index make(const StoreOptions& options, const MemoryConfig& memory) {
    const MemoryConfig items = items_memory(options, memory);
    if constexpr (requires { typename Map::Body::Options; }) {
      return Index(items, options.sync, memory, options.index);
    } else {
      return Index(items, options.sync, memory);
    }
  }

  bool limited() const { return limit_.bytes() != 0; }

  /// Returns the generation of items that are stored now, after a flush that is due.
  u32 generation(Moment now) {
    i64 at = flush_at_.load(kRelaxed);
    if (at != 0 && at <= now.ms) [[unlikely]] {
      // Relaxed: the generation is all that a flush changes. One thread wins, so that a flush counts once.
      if (flush_at_.compare_exchange_strong(at, 0, kRelaxed)) generation_.fetch_add(1, kRelaxed);
    }
    return generation_.load(kRelaxed);
  }

  const MemoryBudget limit_;
  Index index_;
  std::atomic<u32> generation_{1};
  std::atomic<i64> flush_at_{0};  // milliseconds since 1970; 0: no flush is to come
  alignas(kFalseSharingBytes) std::atomic<u64> next_cas_{1};
  mutable std::mutex mutex_;  // guards tallies_
  std::vector<std::unique_ptr<Tally>> tallies_;
};

}  // namespace latchlab::kv
