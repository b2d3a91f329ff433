#pragma once
// Sized values over two memories (indexes/sized.h): a near one, and a far one on another medium (src/memory/media).
//
//     a new value --> near --cold, and near memory is full--> far        a clock hand finds cold ones (sized_clock.h)
//            `------> far  --the N-th touch----------------> near        the rule decides (placement_rule.h)
//
// A move copies the value to a block of the other memory, and replaces the word by that of the copy if it is still
// there. That is an update of the word with the word expected:
//   1. A move changes no value, so it needs no place in any history.
//   2. The thread is in the values' epoch from the reading of the word to the attempt. So an equal word is the same
//      value (no ABA), and its bytes are readable.
//   3. The thread whose attempt has replaced the word is the only one that retires the old block, after the epoch.
//   4. A move that comes too late frees its copy, which no other thread has seen.
//   5. A claimed word is not moved: its claimer erases it (sized_modify.h).
//
// An operation that finds near memory full leaves its value in far memory, or where it is. The thread's next operation
// moves cold values first, before it enters the epoch. What they leave is free after a grace period. While another
// thread holds that up, no more values are moved, since near memory would drain and still be full.
//
// A value counts as used when it is found, as in a cache (sized_evict.h). A short value lies in its word, and a pair of
// the index is always near: so a miss, and a find of a short value, never touch far memory.
//
// A modelled medium charges the thread that writes a value to far memory, or reads one there: once for a find, a scan's
// pair, a value that is shown as it was before a change, and a pin. A modification that runs under a latch reads far
// values without a charge, since others wait for it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/sized_clock.h"
#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/types.h"
#include "src/memory/attempt_blocks.h"
#include "src/memory/media/far_memory.h"
#include "src/memory/media/medium_charge.h"
#include "src/memory/media/placement_rule.h"
#include "src/memory/memory.h"
#include "src/memory/values.h"
#include "src/stats/shared_counts.h"
#include "sync/attempt.h"

namespace latchlab {

namespace sized {

/// The far memory and the moves of an index. Owner is a Sized.
template <class Owner>
class Tiers {
  using M = typename Owner::Machine;
  using Raw = typename Owner::Raw;
  using ThreadState = typename Owner::ThreadState;
  using Store = typename Owner::Store;
  using Bugs = typename Owner::Bugs;
  using Counts = SharedCounts<TierCounters>;
  /// A hand looks at a chunk in one stay in the epoch.
  using Clock = sized::Clock<M, Raw, Owner::kTiny ? 1 : 31>;
  static_assert(Clock::kMost <= kMostInAttempt, "one batch finds the words of a chunk");

 public:
  /// A thread's part.
  class Thread {
   public:
    explicit Thread(Tiers& tiers) : tiers_(tiers), clock_(tiers.clock_), counts_(tiers.join_counts()) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    ~Thread() { tiers_.leave(counts_); }

    /// Tells the clock of a value that this thread has just published, inside the epoch.
    void published(const Raw& key, u64 word) {
      if (tiers_.rule_.demotes() && !Store::is_short(word) && !Store::is_far(word))
        clock_.add(Clock::class_of(Store::block(word).bytes), key, word);
    }
    /// Tells it of a long word that the index has no longer.
    void retired(u64 word) {
      if (tiers_.rule_.demotes() && !Store::is_far(word)) clock_.gone();
    }

   private:
    friend Tiers;
    Tiers& tiers_;
    typename Clock::Thread clock_;
    Counts& counts_;
    u64 short_bytes_ = 0;       // of the largest block that near memory had no room for since the hand last moved
    bool far_is_full_ = false;  // far memory had no room for what the hand found
    u32 rests_ = 0;             // the next values that do not ask for near memory, since the hand has found nothing
  };

  Tiers(const FarMemory& far, const std::optional<Sharing>& sharing) : rule_(far.rule), memory_(far.memory, sharing) {
    if (rule_.kind == PlacementKind::kSecondTouch)
      throw Contradiction("the rule second-touch drops values, which an index must keep; only a cache may have it");
    if (far.model) charge_.emplace(*far.model, far.slack_ns);
  }

  Memory<M>& memory() { return memory_; }
  const Memory<M>& memory() const { return memory_; }
  std::unique_ptr<Thread> join() { return std::make_unique<Thread>(*this); }
  TierCounters counters() const {
    const std::lock_guard lock(mutex_);
    TierCounters sum = of_ended_;
    for (const auto& counts : counts_) counts->add_to(sum);
    return sum;
  }
  /// Returns the bytes of the clock's lists.
  u64 clock_bytes() const { return clock_.bytes(); }

  /// Returns the word of a new value where the rule says; nothing when both memories are out. A thread that is outside
  /// the epoch makes room in near memory.
  template <class... Value>
  std::optional<u64> make(Owner& owner, ThreadState& me, const Raw& key, bool is_outside, const Value&... value) {
    const u64 hash = hash_of(key);
    if (rule_.begins_near(hash)) {
      if (is_outside) tidy(owner, me);
      if (const std::optional<u64> word = make_near(me, value...)) return word;
      if (is_outside && tidy(owner, me)) {
        if (const std::optional<u64> word = make_near(me, value...)) return word;
      }
    }
    return make_far(me, value...);
  }

  /// Sized::find and Sized::use.
  template <class Visit>
  bool find(Owner& owner, ThreadState& me, const Raw& key, Visit&& visit) {
    tidy(owner, me);
    const bool may_move = me.reclaim_.reserve();
    typename Owner::Old old(me);
    const typename Owner::Inside inside(me);
    const Found word = owner.find_word(me, key);
    if (!word) return false;
    const u32 touches = read(me, *word);
    visit(Store::bytes(*word));
    if (may_move && promotes(key, touches)) {
      const Moving moving(me);
      if (move(owner, me, key, *word, Tier::kNear)) old.take(*word);
    }
    return true;
  }

  /// Finds the words of up to kMostInAttempt keys, and calls visit() while they are readable.
  template <class Visit>
  void visit_group(Owner& owner, ThreadState& me, std::span<const Raw> keys, std::span<Found> words, BatchOrder order,
                   const Visit& visit) {
    tidy(owner, me);
    Moved moved(me);
    const bool may_move = me.reclaim_.reserve();
    const typename Owner::Inside inside(me);
    owner.find_group(me, keys, words, order);
    std::array<u32, kMostInAttempt> touches;
    for (std::size_t i = 0; i < keys.size(); ++i) touches[i] = words[i] ? read(me, *words[i]) : 0;
    visit();
    for (std::size_t i = 0; i < keys.size() && may_move && moved.count < kMostMoved; ++i) {
      if (!promotes(keys[i], touches[i])) continue;
      const Moving moving(me);
      if (move(owner, me, keys[i], *words[i], Tier::kNear)) moved.words[moved.count++] = *words[i];
    }
  }

  /// Notes that a value is read, and waits for its medium. Returns the number of its touches in far memory; 0 if it is
  /// not there.
  u32 read(ThreadState& me, u64 word) {
    if (Store::is_short(word)) return 0;
    Store::mark_used(word);
    if (!Store::is_far(word)) {
      me.tier_->counts_.template add<&TierCounters::near_reads>();
      return 0;
    }
    const u64 bytes = Store::bytes_in_attempt(word).size();
    me.tier_->counts_.template add<&TierCounters::far_reads>();
    me.tier_->counts_.template add<&TierCounters::far_bytes_read>(bytes);
    if (charge_) charge_->transfer(Access::kRead, bytes, M::now());
    return Store::touch(word);
  }
  bool promotes(const Raw& key, u32 touches) const { return touches != 0 && rule_.promotes(hash_of(key), touches); }

  /// Moves the value of this word to the other memory. Returns true if this thread has done so: then it retires the old
  /// block after its stay in the epoch, in which it has found the word. It has reserved room for that.
  bool move(Owner& owner, ThreadState& me, const Raw& key, u64 word, Tier to) {
    if (Owner::is_claimed(word)) return false;
    const ByteSpan bytes = Store::bytes(word);
    const std::optional<u64> copy = to == Tier::kNear ? make_near(me, bytes) : make_far(me, bytes);
    bool has_moved = false;
    if (copy) {
      if (Bugs::kRetireBeforeMove) Owner::retire(me, word);
      has_moved = owner.update_word(me, key, *copy, Bugs::kMoveAnyWord ? Found() : Found(word)).after.has_value();
      if (!has_moved) Store::free(*me.pool_, *copy);
      if (!has_moved) me.tier_->counts_.template add<&TierCounters::late_moves>();
    }
    if (has_moved && to == Tier::kNear) {
      me.tier_->published(key, *copy);
      me.tier_->counts_.template add<&TierCounters::promotions>();
    }
    if (has_moved && to == Tier::kFar) me.tier_->counts_.template add<&TierCounters::demotions>();
    return (has_moved && !Bugs::kRetireBeforeMove) || (copy && Bugs::kRetireLateMove);
  }

  /// Does what earlier operations have left to do: looks at entries of the clock that may be stale, and moves cold
  /// values if near memory was full. The thread is outside the epoch. Returns true if some have gone.
  bool tidy(Owner& owner, ThreadState& me) {
    while (me.tier_->clock_.due() != 0) [[unlikely]] {
      me.tier_->clock_.looked();
      look(owner, me, me.tier_->clock_.due_class(), std::nullopt);
    }
    if (me.tier_->short_bytes_ == 0) [[likely]]
      return false;
    const bool has_room = make_room(owner, me, std::exchange(me.tier_->short_bytes_, 0));
    if (!has_room) me.tier_->rests_ = kRests;
    return has_room;
  }
  /// Moves some cold values to far memory, whose blocks have `least` bytes or more.
  bool make_room(Owner& owner, ThreadState& me, u64 least) {
    if (!rule_.demotes()) return false;
    const Moving moving(me);
    if (me.reclaim_.waiting() > kMostWaiting) Owner::collect(me);
    u64 moved = 0;
    me.tier_->far_is_full_ = me.reclaim_.waiting() > kMostWaiting;
    for (u32 looks = 0; looks < kMostLooks && moved < kEnough && !me.tier_->far_is_full_; ++looks)
      moved += look(owner, me, Clock::class_of(least), least);
    if (moved != 0) Owner::collect(me);
    return moved != 0;
  }

 private:
  /// The most values that one stay in the epoch moves: the reclaimer has room for as many blocks.
  static constexpr std::size_t kMostMoved = AttemptBlocks<M>::kMaxBlocks;
  // A grace period costs fences, which many moves share.
  static constexpr u64 kEnough = Owner::kTiny ? 1 : 64;
  static constexpr u32 kMostLooks = Owner::kTiny ? 2 : 16;
  // Blocks of a thread that wait for other threads. In steady state two batches do.
  static constexpr u64 kMostWaiting = Owner::kTiny ? 16 : 512;
  // Without rests, each operation would ask a memory that has no room, as long as nothing can be moved.
  static constexpr u32 kRests = Owner::kTiny ? 1 : 64;

  /// Looks at the oldest chunk of a size class or of a larger one. Drops entries of values that have gone, and moves
  /// cold values whose blocks have `least` bytes, if that is given. Returns the number of moves.
  std::size_t look(Owner& owner, ThreadState& me, u32 size_class, std::optional<u64> least) {
    auto [taken_class, chunk] = me.tier_->clock_.take(size_class);
    if (chunk == nullptr) return 0;
    me.tier_->counts_.template add<&TierCounters::looks>(chunk->count);
    Moved cold(me);
    const bool may_move = least && me.reclaim_.reserve();
    u32 kept = 0;
    {
      const typename Owner::Inside inside(me);
      std::array<Raw, Clock::kMost> keys;
      std::array<Found, Clock::kMost> words;
      for (u32 i = 0; i < chunk->count; ++i) keys[i] = chunk->entries[i].key;
      owner.index_.find_batch(me.index, std::span(keys).first(chunk->count), std::span(words).first(chunk->count),
                              BatchOrder::kSideBySide);
      for (u32 i = 0; i < chunk->count; ++i) {
        typename Clock::Entry& entry = chunk->entries[i];
        if (words[i] != entry.word) continue;
        if (may_move && cold.count < kMostMoved && !me.tier_->far_is_full_ &&
            Store::block(entry.word).bytes >= *least && !Store::clear_used(entry.word) &&
            move(owner, me, entry.key, entry.word, Tier::kFar)) {
          cold.words[cold.count++] = entry.word;
        } else {
          if (kept != i) chunk->entries[kept] = std::move(entry);
          ++kept;
        }
      }
    }
    chunk->count = kept;
    me.tier_->clock_.put_back(taken_class, std::move(chunk));
    return cold.count;
  }

  /// The words that moves have replaced. It outlives the stay in the epoch: the thread's own stay would delay the
  /// collection.
  struct Moved {
    explicit Moved(ThreadState& thread) : me(thread) {}
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;
    ~Moved() {
      for (std::size_t i = 0; i < count; ++i) Owner::retire(me, words[i]);
    }
    ThreadState& me;
    std::size_t count = 0;
    std::array<u64, kMostMoved> words;
  };

  /// Counts the time until its end as that of moves.
  class Moving {
   public:
    explicit Moving(ThreadState& me) : me_(me) {}
    ~Moving() { me_.tier_->counts_.template add<&TierCounters::moving_ns>(M::now() - start_); }
    Moving(const Moving&) = delete;
    Moving& operator=(const Moving&) = delete;

   private:
    ThreadState& me_;
    const u64 start_ = M::now();
  };

  static u64 hash_of(const Raw& key) {
    if constexpr (std::is_same_v<Raw, std::string_view>) {
      return hash_bytes(key, 0);
    } else {
      return mix64(key);
    }
  }

  template <class... Value>
  std::optional<u64> make_near(ThreadState& me, const Value&... value) {
    if (me.tier_->rests_ != 0) {
      --me.tier_->rests_;
      return std::nullopt;
    }
    const std::optional<u64> word = Store::make(*me.pool_, Tier::kNear, value...);
    if (!word) {
      me.tier_->counts_.template add<&TierCounters::near_full>();
      me.tier_->short_bytes_ = std::max(me.tier_->short_bytes_, Store::block_bytes(value...));
    }
    return word;
  }
  template <class... Value>
  std::optional<u64> make_far(ThreadState& me, const Value&... value) {
    const u64 start = charge_ ? M::now() : 0;
    const std::optional<u64> word = Store::make(*me.pool_, Tier::kFar, value...);
    if (!word) me.tier_->far_is_full_ = true;
    if (!word || !Store::is_far(*word)) return word;
    const u64 bytes = Store::bytes_in_attempt(*word).size();
    me.tier_->counts_.template add<&TierCounters::far_writes>();
    me.tier_->counts_.template add<&TierCounters::far_bytes_written>(bytes);
    if (charge_) charge_->transfer(Access::kWrite, bytes, start);
    return word;
  }

  Counts& join_counts() {
    const std::lock_guard lock(mutex_);
    return *counts_.emplace_back(std::make_unique<Counts>());
  }
  void leave(const Counts& counts) {
    const std::lock_guard lock(mutex_);
    counts.add_to(of_ended_);
    std::erase_if(counts_, [&](const auto& other) { return other.get() == &counts; });
  }

  const PlacementRule rule_;
  Memory<M> memory_;
  std::optional<MediumCharge<M>> charge_;
  Clock clock_;
  mutable std::mutex mutex_;  // guards the next two
  std::vector<std::unique_ptr<Counts>> counts_;
  TierCounters of_ended_;  // of threads that have ended
};

}  // namespace sized

}  // namespace latchlab
