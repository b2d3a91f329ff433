#pragma once
// `memc3`: the table with which SimdHT-Bench compares, after MemC3 (Fan, Andersen, Kaminsky, NSDI 2013), written anew.
// A key has two buckets of four slots. A slot is a one-byte tag and a pointer to the pair. Slots are compared one by
// one.
//
// The table synchronizes itself, so its policy word is `own`. There is one writer at a time, and readers write nothing.
// All keys share 8192 versions. A writer that moves, removes or begins a key makes the key's version odd meanwhile. A
// reader that finds the version odd or changed restarts. The bucket and the tag of a key determine its other bucket, so
// the search for a path reads no pair.
//
// Beyond the paper the table grows: the writer builds a table of twice as many buckets at once, while readers use the
// old one. Pairs and outgrown tables are freed only with the index. So a reader that notices a change late has read
// valid memory.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/path_search.h"
#include "src/arch/prefetch.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/own.h"

namespace latchlab {

template <class KeyType>
class MemC3 {
 public:
  using Policy = Own;
  using Key = KeyType;
  using Raw = u64;
  static constexpr std::string_view kName = "memc3";
  static constexpr bool kOrdered = false;
  static constexpr std::string_view kOwnMemory = "memc3 allocates its tables and pairs with operator new";

  /// The state of a thread: nothing but counters.
  struct ThreadState {
    Policy::Counters counters;
  };

  /// Makes an empty table. Throws InputError if `policy` has options, since it takes none.
  MemC3(const Spec& policy, const MemoryConfig&) {
    Policy::Options::parse(policy);
    tables_.push_back(std::make_unique<Table>(kFirstBuckets));
    table_.store(tables_.back().get(), kRelaxed);  // no other thread uses the index yet
  }
  MemC3(const MemC3&) = delete;
  MemC3& operator=(const MemC3&) = delete;

  ThreadState join() { return {}; }

  std::optional<u64> find(ThreadState&, u64 key) const {
    const u64 hash = mix64(key);
    const std::atomic<u64>& version = version_of(hash);
    for (u32 tries = 1;; ++tries) {
      const u64 before = version.load(kAcquire);  // pairs with ~Changing
      if ((before & 1) == 0) {
        const Table& table = *table_.load(kAcquire);  // pairs with grow
        std::optional<u64> found;
        if (const Item* const item = table.find(hash, key))
          found = item->value.load(kAcquire);  // pairs with put and new_item
        // Relaxed: all loads before it acquire, so it comes after them.
        if (version.load(kRelaxed) == before) return found;
      }
      if (tries % 64 == 0) std::this_thread::yield();
    }
  }
  /// Prefetches the first bucket of each key.
  [[gnu::always_inline]] void prefetch(ThreadState&, std::span<const u64> keys, const auto&) const {
    const Table& table = *table_.load(kAcquire);  // pairs with grow
    for (const u64 key : keys) prefetch_read(&table.buckets[table.first(mix64(key))]);
  }
  /// Prefetches the pairs in the first bucket of each key that have its tag.
  [[gnu::always_inline]] void prefetch_further(ThreadState&, std::span<const u64> keys) const {
    const Table& table = *table_.load(kAcquire);  // pairs with grow
    for (const u64 key : keys) {
      const u64 hash = mix64(key);
      for (const std::atomic<u64>& slot : table.buckets[table.first(hash)].slot) {
        const u64 word = slot.load(kRelaxed);  // relaxed: the pair is not read
        if (tag_in(word) == tag_of(hash)) prefetch_read(item_of(word));
      }
    }
  }
  bool insert(ThreadState&, u64 key, u64 value) { return put(key, value, Put::kInsert); }
  bool update(ThreadState&, u64 key, u64 value) { return put(key, value, Put::kUpdate); }
  bool upsert(ThreadState&, u64 key, u64 value) { return put(key, value, Put::kUpsert); }
  bool erase(ThreadState&, u64 key) {
    const std::lock_guard lock(writer_);
    const u64 hash = mix64(key);
    std::atomic<u64>* const slot = tables_.back()->slot_of(hash, key);
    if (slot == nullptr) return false;
    remove(hash, *slot);
    return true;
  }
  /// Changes the key in one step from what is there to f(what is there).
  template <class F>
  Modified modify(ThreadState&, u64 key, const F& f) {
    const std::lock_guard lock(writer_);
    const u64 hash = mix64(key);
    std::atomic<u64>* const slot = tables_.back()->slot_of(hash, key);
    // Relaxed, since only writers store slots and values, under the lock.
    Item* const item = slot == nullptr ? nullptr : item_of(slot->load(kRelaxed));
    const Found before = item == nullptr ? Found() : Found(item->value.load(kRelaxed));
    const Found after = f(before);
    if (item == nullptr) {
      if (after) add(hash, key, *after);
    } else if (after) {
      item->value.store(*after, kRelease);  // pairs with find
    } else {
      remove(hash, *slot);
    }
    return {before, after};
  }

  /// Visits every pair. No thread may change the table meanwhile.
  template <class Visit>
  void for_each(ThreadState&, Visit&& visit) const {
    for (const Bucket& bucket : tables_.back()->buckets) {
      for (const std::atomic<u64>& slot : bucket.slot) {
        if (const u64 word = slot.load(kRelaxed))
          visit(item_of(word)->key.load(kRelaxed), item_of(word)->value.load(kRelaxed));
      }
    }
  }

  /// O(tables). Exact while no thread changes the table.
  Footprint bytes() const {
    u64 bytes = slabs_.size() * kSlab * (sizeof(Item) + sizeof(Item*));
    for (const auto& table : tables_) bytes += table->buckets.size() * sizeof(Bucket);
    return {.live = bytes - free_.size() * sizeof(Item), .reserved = bytes};
  }

 private:
  static constexpr u64 kFirstBuckets = 256, kSlab = 4096, kVersions = 8192;
  static constexpr u32 kMostSpots = 512;

  struct Item {
    std::atomic<u64> key{0}, value{0};
  };
  /// A bucket. A slot is tag : 8 | address of the item : 56, or 0 if it is free. The tag is not 0. A slot is one word,
  /// so that one store changes it.
  struct alignas(32) Bucket {
    std::atomic<u64> slot[4]{};
  };
  static u64 tag_of(u64 hash) { return hash >> 56 | (hash >> 56 == 0); }
  static u64 tag_in(u64 slot) { return slot >> 56; }
  static Item* item_of(u64 slot) { return reinterpret_cast<Item*>(slot << 8 >> 8); }
  static u64 slot_for(u64 tag, const Item* item) { return tag << 56 | reinterpret_cast<u64>(item); }

  struct Table {
    explicit Table(u64 count) : buckets(count), mask(count - 1) {}

    u64 first(u64 hash) const { return hash & mask; }
    /// Returns the other bucket of an item with this tag in bucket b.
    u64 other(u64 b, u64 tag) const { return (b ^ tag * 0xc6a4a7935bd1e995u) & mask; }

    const Item* find(u64 hash, u64 key) const {
      const u64 tag = tag_of(hash), b = first(hash);
      for (const u64 at : {b, other(b, tag)}) {
        for (const std::atomic<u64>& slot : buckets[at].slot) {
          // Pairs with the store of the slot in place or move: the item is complete.
          const u64 word = slot.load(kAcquire);
          // Acquire: pairs with new_item. The item may belong to another key by now, and is complete then too.
          if (tag_in(word) == tag && item_of(word)->key.load(kAcquire) == key) return item_of(word);
        }
      }
      return nullptr;
    }
    std::atomic<u64>* slot_of(u64 hash, u64 key) {
      const u64 tag = tag_of(hash), b = first(hash);
      for (const u64 at : {b, other(b, tag)}) {
        for (std::atomic<u64>& slot : buckets[at].slot) {
          const u64 word = slot.load(kRelaxed);
          if (tag_in(word) == tag && item_of(word)->key.load(kRelaxed) == key) return &slot;
        }
      }
      return nullptr;
    }
    std::atomic<u64>* free_slot(u64 b) {
      for (std::atomic<u64>& slot : buckets[b].slot) {
        if (slot.load(kRelaxed) == 0) return &slot;
      }
      return nullptr;
    }

    std::vector<Bucket> buckets;
    u64 mask;
  };

  /// Makes a version odd as long as this object lives.
  class Changing {
   public:
    explicit Changing(std::atomic<u64>& version) : version_(version) {
      version_.store(version_.load(kRelaxed) + 1,
                     kRelaxed);  // relaxed: the stores that it announces follow, and release
    }
    ~Changing() { version_.store(version_.load(kRelaxed) + 1, kRelease); }  // pairs with find
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    std::atomic<u64>& version_;
  };
  std::atomic<u64>& version_of(u64 hash) const { return versions_[hash >> 32 & (kVersions - 1)]; }

  bool put(u64 key, u64 value, Put how) {
    const std::lock_guard lock(writer_);
    const u64 hash = mix64(key);
    if (const std::atomic<u64>* const slot = tables_.back()->slot_of(hash, key)) {
      if (how != Put::kInsert) item_of(slot->load(kRelaxed))->value.store(value, kRelease);  // pairs with find
      return how == Put::kUpdate;
    }
    if (how == Put::kUpdate) return false;
    add(hash, key, value);
    return true;
  }

  /// Adds the pair of an absent key.
  void add(u64 hash, u64 key, u64 value) {
    Item* const item = new_item(key, value);
    try {
      while (!place(*tables_.back(), hash, item, Readers::kSome)) grow();
    } catch (...) {
      free_.push_back(item);
      throw;
    }
  }
  /// Removes the pair of a key with this hash from its slot.
  void remove(u64 hash, std::atomic<u64>& slot) {
    Item* const item = item_of(slot.load(kRelaxed));  // relaxed, since only writers store it, under the lock
    const Changing changing(version_of(hash));
    slot.store(0, kRelease);  // pairs with Table::find
    free_.push_back(item);    // new_item has reserved room for all items
  }

  Item* new_item(u64 key, u64 value) {
    if (free_.empty()) {
      free_.reserve((slabs_.size() + 1) * kSlab);
      slabs_.push_back(std::make_unique<Item[]>(kSlab));
      for (u64 i = kSlab; i-- > 0;) free_.push_back(&slabs_.back()[i]);
    }
    Item* const item = free_.back();
    free_.pop_back();
    // No slot leads to the new key yet, but a slow reader may have read a slot of the item's previous key. If that
    // reader looks for the new key, it must not find it here yet. The odd version makes it restart.
    const Changing changing(version_of(mix64(key)));
    item->value.store(value, kRelease);  // pairs with find, which sees the value if it sees the key
    item->key.store(key, kRelease);      // pairs with Table::find
    return item;
  }

  /// Tells whether other threads may be reading the table.
  enum class Readers : u8 { kNone, kSome };

  /// Inserts an item for an absent key. Returns false if there is no path for it.
  bool place(Table& table, u64 hash, Item* item, Readers readers) {
    const u64 tag = tag_of(hash), b = table.first(hash);
    PathSearch<u32, kMostSpots> search;  // moves are named by slots
    for (const u64 at : {b, table.other(b, tag)}) {
      if (std::atomic<u64>* const slot = table.free_slot(at)) {
        slot->store(slot_for(tag, item), kRelease);  // pairs with Table::find
        return true;
      }
      search.begin(at);
    }
    for (u32 spot = 0; spot < search.size(); ++spot) {
      const u64 at = search.bucket(spot);
      for (u32 i = 0; i < 4 && !search.full(); ++i) {
        const u64 next = table.other(at, tag_in(table.buckets[at].slot[i].load(kRelaxed)));
        if (!search.come_to(next, i, spot)) continue;
        if (std::atomic<u64>* room = table.free_slot(next)) {
          search.for_each_move(search.size() - 1, [&](u64 from, u32 slot) {
            room = move(table.buckets[from].slot[slot], *room, readers);
          });
          room->store(slot_for(tag, item), kRelease);  // pairs with Table::find
          return true;
        }
      }
    }
    return false;
  }
  /// Moves an item to the free slot `room`. Returns the slot that has become free.
  std::atomic<u64>* move(std::atomic<u64>& source, std::atomic<u64>& room, Readers readers) {
    const u64 word = source.load(kRelaxed);
    std::optional<Changing> changing;
    if (readers == Readers::kSome) changing.emplace(version_of(mix64(item_of(word)->key.load(kRelaxed))));
    room.store(word, kRelease);  // pairs with Table::find, like the next store
    source.store(0, kRelease);
    return &source;
  }

  /// Replaces the table by one with twice as many buckets, or more if needed. No version changes, since the old table
  /// stays as it is. A reader that has seen the version after a later move or removal sees the new table. Throws
  /// std::bad_alloc, and then has changed nothing.
  void grow() {
    tables_.reserve(tables_.size() + 1);
    for (u64 count = 2 * (tables_.back()->mask + 1);; count *= 2) {
      auto larger = std::make_unique<Table>(count);
      if (!copy(*tables_.back(), *larger)) continue;
      table_.store(larger.get(), kRelease);  // pairs with find
      tables_.push_back(std::move(larger));
      return;
    }
  }
  bool copy(const Table& from, Table& to) {
    for (const Bucket& bucket : from.buckets) {
      for (const std::atomic<u64>& slot : bucket.slot) {
        const u64 word = slot.load(kRelaxed);
        if (word == 0) continue;
        if (!place(to, mix64(item_of(word)->key.load(kRelaxed)), item_of(word), Readers::kNone)) return false;
      }
    }
    return true;
  }

  std::atomic<const Table*> table_;
  // Readers store nothing here.
  alignas(kFalseSharingBytes) mutable std::array<std::atomic<u64>, kVersions> versions_{};
  alignas(kFalseSharingBytes) std::mutex writer_;  // guards all fields below
  std::vector<std::unique_ptr<Table>> tables_;     // the last one is current
  std::vector<std::unique_ptr<Item[]>> slabs_;
  std::vector<Item*> free_;
};

}  // namespace latchlab
