#pragma once

// The store of the tier: blocks of a cache under byte strings, in far memory, up to a limit of bytes.
//
//     key --hash--> index of numbers --word--> block of far memory: key size | key ... | bytes of the block ...
//                   near memory                0                    8
//
// The index holds a 64-bit hash of the key. The whole key is compared in the block. Two keys with one hash push each
// other out, which is counted.
//
// A block is copied once on its way in, and read once on its way out:
//   1. `put` makes the value at its place, and the caller fills it there.
//   2. `find` and `take` show the bytes where they lie. They stay readable during the visit.
//   3. So blocks_written and blocks_read are all accesses to the far memory beside keys, and bytes_written and
//      bytes_read their sizes.
//
// `take` removes the block that it shows. The thread whose attempt erases the pair is the only one that sees it, so a
// block that has gone up to the near cache is in one place only.
//
// A modelled medium charges each of these copies (src/memory/media/medium_charge.h). A visit does more than copy, so it
// is not what a reader charges. A block of a modelled medium is copied to a buffer of the seat, and shown there. That
// copy is charged, and the reader waits for it outside the epoch.
//
// The limit is that of the far memory's MemoryBudget. It covers the blocks, what waits to be freed, and its records.
// The index lies in near memory, and is counted (index_bytes), not limited: it takes about 20 bytes a block.
//
// Room is made by one clock hand (indexes/sized_evict.h), which all threads turn in turn. A new block begins marked as
// used, and so does one that was found. So a block survives one round at least and two at most after its last use.
// Without the mark the hand would meet new blocks by chance at once: lifetimes would vary from 0 to one round.
//
// Any thread may call any operation. It borrows a seat, which has the state of one thread in the index and the counts:
//
//     thread --hash of its id--> its home seat, or the next one that is free
//
//   1. A seat belongs to one call at a time: `taken` is exchanged (acquire) and given back (release).
//   2. A thread alone at its home writes lines that no other thread writes.
//   3. There are as many seats as calls at a time, not as threads. So what waits to be freed does not grow with
//      threads that have ended or sleep.
//   4. A visit or a filler may call the store again: the inner call has another seat. What the inner call removes waits
//      to be freed until the outer one ends.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/cuckoo/cuckoo.h"
#include "indexes/sized.h"
#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/machine/native.h"
#include "src/machine/machine.h"
#include "src/memory/media/medium_charge.h"
#include "src/memory/memory_budget.h"
#include "src/memory/memory_config.h"
#include "src/memory/values.h"
#include "src/stats/counters.h"
#include "src/stats/shared_counts.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::tier {

/// Counts of a store. None of them goes back.
struct BlockCounters {
  u64 lookups = 0;         ///< calls of find and of take
  u64 hits = 0;            ///< among them: the block was there
  u64 taken = 0;           ///< among the hits: the block has left the store
  u64 puts = 0;            ///< calls: inserts + present + refused
  u64 inserts = 0;         ///< blocks that have come in
  u64 present = 0;         ///< puts of a block that was there
  u64 refused = 0;         ///< puts of a block that is too long, has no room, or could not be filled
  u64 evictions = 0;       ///< blocks that the clock hand has removed for room
  u64 collisions = 0;      ///< blocks pushed out by a key with the same hash
  u64 erased = 0;          ///< blocks removed by erase
  u64 blocks_written = 0;  ///< copies into far memory: the inserts, and a few that came too late
  u64 bytes_written = 0;
  u64 blocks_read = 0;  ///< copies out of far memory: the hits
  u64 bytes_read = 0;
  u64 bytes_inserted = 0;  ///< bytes of the inserts
  u64 bytes_removed = 0;   ///< bytes of all blocks that have left

  static constexpr auto fields() {
    using C = BlockCounters;
    return std::array{CounterField{"lookups", &C::lookups},
                      CounterField{"hits", &C::hits},
                      CounterField{"taken", &C::taken},
                      CounterField{"puts", &C::puts},
                      CounterField{"inserts", &C::inserts},
                      CounterField{"present", &C::present},
                      CounterField{"refused", &C::refused},
                      CounterField{"evictions", &C::evictions},
                      CounterField{"collisions", &C::collisions},
                      CounterField{"erased", &C::erased},
                      CounterField{"blocks_written", &C::blocks_written},
                      CounterField{"bytes_written", &C::bytes_written},
                      CounterField{"blocks_read", &C::blocks_read},
                      CounterField{"bytes_read", &C::bytes_read},
                      CounterField{"bytes_inserted", &C::bytes_inserted},
                      CounterField{"bytes_removed", &C::bytes_removed}};
  }

  /// Returns the number of blocks in the store. Exact while no operation runs.
  [[nodiscard]] u64 blocks() const { return less(inserts, taken + evictions + collisions + erased); }
  /// Returns the bytes of these blocks, without keys and heads.
  [[nodiscard]] u64 bytes() const { return less(bytes_inserted, bytes_removed); }

 private:
  // Beside changes, a block may be seen to go before it is seen to come.
  static u64 less(u64 come, u64 gone) { return come > gone ? come - gone : 0; }
};

/// What a put has done.
enum class Put : u8 { kInserted, kPresent, kRefused };

/// The hash of a key in the index.
struct BlockHash {
  static u64 of(std::string_view key) { return hash_bytes(key); }
};

/// The store over `Map`, a Synchronized with numbers as keys that can be walked beside writers.
template <class Map, class Hash = BlockHash>
class BlockStoreOf {
  using Index = Sized<Map>;
  static constexpr u64 kHead = 8;  // bytes before the key
  static_assert(Map::kWalksBesideWriters, "the clock hand walks beside writers");

 public:
  /// The longest key and block together, in bytes: a value's, less the head.
  static constexpr u64 kMostBytes = Values<typename Map::Machine>::kMostBytes - kHead;

  /// The time of a modelled medium.
  using Charge = MediumCharge<typename Map::Machine>;

  /// Makes an empty store whose blocks lie in `far` memory, up to its limit. `charge`, if any, is waited for at each
  /// copy, and outlives the store. `seats` is how many calls may run at a time; others wait. Throws std::bad_alloc.
  explicit BlockStoreOf(const MemoryConfig& far, Charge* charge = nullptr, u32 seats = usual_seats())
      : limit_(far.limit),
        charge_(charge),
        index_(far, Spec::parse("olc"), near_memory()),
        seats_(std::max(seats, 1u)) {}
  BlockStoreOf(const BlockStoreOf&) = delete;
  BlockStoreOf& operator=(const BlockStoreOf&) = delete;

  /// Puts a block of `size` bytes, which `fill(std::span<std::byte>)` writes at its place. If a block of the key is
  /// there, it stays: a cache's key names one content. Evicts other blocks for room. `fill` may run again if another
  /// thread puts the same key meanwhile. What it throws, put throws: the block is refused.
  template <class Fill>
  Put put(std::string_view key, u64 size, const Fill& fill) {
    const Seated seat(*this);
    seat.template count<&BlockCounters::puts>();
    const Refusal refusal(seat);
    if (!may_fit(key.size(), size)) return Put::kRefused;
    std::exception_ptr thrown;
    const auto write = [&](std::span<std::byte> to) {
      Head::write(to, key);
      const u64 began = charge_ == nullptr ? 0 : Charge::begin();
      try {
        fill(to.subspan(kHead + key.size()));
      } catch (...) {
        thrown = std::current_exception();
        throw Unfilled();
      }
      if (charge_ != nullptr) charge_->transfer(Access::kWrite, size, began);
      seat.template count<&BlockCounters::blocks_written>();
      seat.template count<&BlockCounters::bytes_written>(size);
    };
    const Change::Writer writer(write);
    std::optional<u64> pushed_out;  // the bytes of the block that goes; the last run of `step` writes it
    const auto step = [&](std::optional<ByteSpan> there) {
      pushed_out.reset();
      if (there) {
        const Head head(*there);
        if (head.key() == key) return Change::leave();
        pushed_out = head.block().size();
      }
      return Change::by(kHead + key.size() + size, writer, Mark::kUsed);
    };
    std::optional<Effect> effect;
    try {
      effect = with_room(seat, size, kMostPutTries, [&] { return index_.modify(seat.me(), Hash::of(key), step); });
    } catch (const Unfilled&) {
      std::rethrow_exception(thrown);
    }
    if (!effect) return Put::kRefused;
    refusal.forget();
    if (*effect == Effect::kNone) {
      seat.template count<&BlockCounters::present>();
      return Put::kPresent;
    }
    seat.template count<&BlockCounters::inserts>();
    seat.template count<&BlockCounters::bytes_inserted>(size);
    if (pushed_out) seat.template remove<&BlockCounters::collisions>(*pushed_out);
    return Put::kInserted;
  }

  /// Calls visit(ByteSpan) for the block of the key, if it is there, and marks it as used. Returns whether it is there.
  template <class Visit>
  bool find(std::string_view key, Visit&& visit) {
    const Seated seat(*this);
    seat.template count<&BlockCounters::lookups>();
    Reading<std::remove_reference_t<Visit>> reading(*this, seat, visit);
    (void)index_.use(seat.me(), Hash::of(key), [&](ByteSpan bytes) {
      const Head head(bytes);
      if (head.key() == key) reading.read(head.block());
    });
    return reading.end();
  }

  /// Removes the block of the key and calls visit(ByteSpan) for it, if it is there. Returns whether it was. Of all
  /// threads that take a block, one gets it. What `visit` throws, take throws; the block has gone all the same. Throws
  /// std::bad_alloc if other threads hold up too many removed blocks. Then nothing has changed.
  template <class Visit>
  bool take(std::string_view key, Visit&& visit) {
    const Seated seat(*this);
    seat.template count<&BlockCounters::lookups>();
    Reading<std::remove_reference_t<Visit>> reading(*this, seat, visit);
    (void)remove<&BlockCounters::taken>(seat, key, [&](ByteSpan block) { reading.read(block); });
    return reading.end();
  }

  /// Removes the block of the key. Returns whether it was there. Throws as take does.
  bool erase(std::string_view key) {
    const Seated seat(*this);
    return remove<&BlockCounters::erased>(seat, key, [](ByteSpan) {});
  }

  /// Returns the counts; exact while no operation runs. O(seats).
  [[nodiscard]] BlockCounters counters() const {
    BlockCounters sum;
    for (const Seat& seat : seats_) seat.counts.add_to(sum);
    return sum;
  }
  /// Returns the limit in bytes; 0 if there is none.
  [[nodiscard]] u64 limit() const { return limit_.bytes(); }
  /// Returns the bytes of far memory that are taken from the system; at most the limit. 0 without a limit.
  [[nodiscard]] u64 charged() const { return limit_.charged(); }
  /// Returns whether the store has ever been full: it has evicted a block for room. It may be a little late.
  [[nodiscard]] bool was_full() const { return was_full_.load(kRelaxed); }  // guards no memory
  /// Returns the bytes of near memory of the index; exact while no operation runs.
  [[nodiscard]] u64 index_bytes() const { return index_.bytes().index.live; }

  /// Returns two seats for each processor.
  static u32 usual_seats() { return std::clamp(2 * std::thread::hardware_concurrency(), 4u, 256u); }

 private:
  /// How often a change that lacks memory tries again in vain, with other threads in between. A put gives up early: a
  /// block that is refused costs one miss. A removal has no other way.
  static constexpr u32 kMostPutTries = 50, kMostRemoveTries = 1000;

  /// The head and the key of a value, before the bytes of the block. It makes every value a long one, which has a mark.
  class Head {
   public:
    explicit Head(ByteSpan value) : value_(value) { std::memcpy(&key_bytes_, value.data(), sizeof key_bytes_); }
    [[nodiscard]] std::string_view key() const {
      return {reinterpret_cast<const char*>(value_.data()) + kHead, key_bytes_};
    }
    [[nodiscard]] ByteSpan block() const { return value_.subspan(kHead + key_bytes_); }

    static void write(std::span<std::byte> to, std::string_view key) {
      const u64 size = key.size();
      std::memcpy(to.data(), &size, sizeof size);
      if (size != 0) std::memcpy(to.data() + kHead, key.data(), size);
    }

   private:
    const ByteSpan value_;
    u64 key_bytes_;
  };

  /// The end of a put whose filler has thrown. It is no exception of the index, so nothing is tried again.
  struct Unfilled {};

  struct alignas(kFalseSharingBytes) Seat {
    std::atomic<bool> taken{false};
    std::optional<typename Index::ThreadState> me;  // made at the first use
    SharedCounts<BlockCounters> counts;
    std::vector<std::byte> room;  // for a block of a modelled medium
  };

  /// A call's possession of a seat.
  class Seated {
   public:
    explicit Seated(BlockStoreOf& store) : seat_(store.free_seat()) {
      try {
        if (!seat_.me) seat_.me.emplace(store.index_);
      } catch (...) {
        give_back();
        throw;
      }
    }
    ~Seated() { give_back(); }
    Seated(const Seated&) = delete;
    Seated& operator=(const Seated&) = delete;

    typename Index::ThreadState& me() const { return *seat_.me; }
    std::vector<std::byte>& room() const { return seat_.room; }
    template <u64 BlockCounters::* kCount>
    void count(u64 more = 1) const {
      seat_.counts.template add<kCount>(more);
    }
    template <u64 BlockCounters::* kWhy>
    void remove(u64 bytes) const {
      count<kWhy>();
      count<&BlockCounters::bytes_removed>(bytes);
    }
    void note_read(u64 bytes) const {
      count<&BlockCounters::hits>();
      count<&BlockCounters::blocks_read>();
      count<&BlockCounters::bytes_read>(bytes);
    }

   private:
    void give_back() const { seat_.taken.store(false, kRelease); }  // pairs with free_seat

    Seat& seat_;
  };

  /// Counts a put as refused, unless it is told to forget that.
  class Refusal {
   public:
    explicit Refusal(const Seated& seat) : seat_(seat) {}
    ~Refusal() {
      if (!forgotten_) seat_.template count<&BlockCounters::refused>();
    }
    Refusal(const Refusal&) = delete;
    Refusal& operator=(const Refusal&) = delete;
    void forget() const { forgotten_ = true; }

   private:
    const Seated& seat_;
    mutable bool forgotten_ = false;
  };

  static MemoryConfig near_memory() { return {.alloc = MemoryConfig::Alloc::kArena}; }

  Seat& free_seat() {
    const std::size_t home = std::hash<std::thread::id>()(std::this_thread::get_id()) % seats_.size();
    for (;;) {
      for (std::size_t i = 0; i < seats_.size(); ++i) {
        Seat& seat = seats_[(home + i) % seats_.size()];
        // Acquire: pairs with give_back, so that this call sees the state as the last one left it.
        if (!seat.taken.load(kRelaxed) && !seat.taken.exchange(true, kAcquire)) return seat;
      }
      std::this_thread::yield();
    }
  }

  /// Returns false for a block that would be too long, or for which the whole store is too small.
  bool may_fit(u64 key_bytes, u64 size) const {
    if (size > kMostBytes || key_bytes > kMostBytes - size) return false;
    return limit_.bytes() == 0 || kHead + key_bytes + size < limit_.bytes();
  }

  /// The read of a block for a visit, which may throw.
  template <class Visit>
  class Reading {
   public:
    Reading(const BlockStoreOf& store, const Seated& seat, Visit& visit)
        : charge_(store.charge_), seat_(seat), visit_(visit) {}
    /// Reads the block, in the epoch. Throws nothing, so that no exception is taken for one of the index.
    void read(ByteSpan block) noexcept {
      hit_ = true;
      seat_.note_read(block.size());
      try {
        if (charge_ == nullptr) return visit_(block);
        began_ = Charge::begin();
        seat_.room().assign(block.begin(), block.end());
      } catch (...) {
        thrown_ = std::current_exception();
      }
    }
    /// Ends the read, outside the epoch. Returns whether a block was read. Throws what the visit has thrown.
    bool end() {
      if (thrown_) std::rethrow_exception(thrown_);
      if (!hit_ || charge_ == nullptr) return hit_;
      charge_->transfer(Access::kRead, seat_.room().size(), began_);
      visit_(ByteSpan(seat_.room()));
      return true;
    }

   private:
    Charge* const charge_;
    const Seated& seat_;
    Visit& visit_;
    bool hit_ = false;
    u64 began_ = 0;
    std::exception_ptr thrown_;
  };

  template <u64 BlockCounters::* kWhy, class Gone>
  bool remove(const Seated& seat, std::string_view key, const Gone& gone) {
    bool hit = false;
    const auto before = [&](ByteSpan bytes) {
      const Head head(bytes);
      hit = head.key() == key;
      if (!hit) return seat.template remove<&BlockCounters::collisions>(head.block().size());
      seat.template remove<kWhy>(head.block().size());
      gone(head.block());
    };
    if (!with_room(seat, 0, kMostRemoveTries, [&] { return index_.erase(seat.me(), Hash::of(key), before); }))
      throw std::bad_alloc();
    return hit;
  }

  /// Returns run(), which needs about so many bytes. If memory is out, evicts blocks and runs it again. Returns nothing
  /// if that is in vain. It evicts little more than twice what is needed: what was removed may be held up by other
  /// threads, or lie in pieces that the memory cannot join, and then further evictions would only empty the store.
  template <class Run>
  auto with_room(const Seated& seat, u64 bytes, u32 most_tries, const Run& run) -> std::optional<decltype(run())> {
    u64 evicted = 0;
    for (u32 vain = 0, rounds = 0; vain < most_tries;) {
      try {
        return run();
      } catch (const std::bad_alloc&) {
      } catch (const IndexFull&) {}
      if (limit_.bytes() == 0) break;
      // The hand begins anywhere, clears all marks in a round, and then removes all blocks in another.
      if (rounds < 3 && evicted < 2 * bytes + kMostBeside) {
        try {
          rounds += evict(seat, evicted);
          continue;
        } catch (const std::bad_alloc&) {
          // Another thread holds up what was removed.
        }
      }
      ++vain;
      std::this_thread::yield();
    }
    return std::nullopt;
  }
  /// Evicts some blocks, and adds their bytes. Returns whether the hand has come round.
  bool evict(const Seated& seat, u64& evicted) {
    const auto gone = [&](u64, ByteSpan bytes) {
      seat.template remove<&BlockCounters::evictions>(Head(bytes).block().size());
      evicted += bytes.size();
    };
    if (!was_full()) was_full_.store(true, kRelaxed);
    const std::scoped_lock lock(hand_mutex_);
    for (;;) {
      const Eviction step = index_.evict(seat.me(), hand_, kStep, gone);
      if (step.pairs != 0 || step.came_round) return step.came_round;
    }
  }
  /// The bytes that an operation evicts beside those that it needs.
  static constexpr u64 kMostBeside = 64 << 10;
  /// The pairs that the hand looks at before it stops. Fewer leave more of the limit in use.
  static constexpr std::size_t kStep = 8;

  const MemoryBudget limit_;
  Charge* const charge_;  // null: the far memory has its own speed
  Index index_;
  std::atomic<bool> was_full_{false};
  std::mutex hand_mutex_;  // guards the hand
  typename Index::Walk hand_;
  std::vector<Seat> seats_;
};

using BlockStore = BlockStoreOf<Synchronized<Cuckoo, Olc<Native>, U64Key>>;

}  // namespace latchlab::tier
