#pragma once
// Sized values over two memories (indexes/sized.h): a near one, and a far one on another medium (src/memory/media).
//
//     a new value --> near --cold, and near memory is full--> far        a clock hand of each thread finds cold ones
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
#include <vector>

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
  template <bool kHas, class O>
  struct HandOf {
    struct Type {};
  };
  template <class O>
  struct HandOf<true, O> {
    using Type = typename O::Walk;
  };

 public:
  using Counts = SharedCounts<TierCounters>;

  /// A thread's part.
  struct Thread {
    explicit Thread(Counts& mine) : counts(mine) {}
    Counts& counts;
    typename HandOf<Owner::kHasHand, Owner>::Type hand;
    bool near_is_short = false;  // near memory had no room for a value
    bool far_is_full = false;    // far memory had none
    u32 rests = 0;               // the next times that the hand stands still, since it has found nothing to move
  };

  Tiers(const FarMemory& far, const std::optional<Sharing>& sharing) : rule_(far.rule), memory_(far.memory, sharing) {
    if (rule_.kind == PlacementKind::kSecondTouch)
      throw Contradiction("the rule second-touch drops values, which an index must keep; only a cache may have it");
    if (far.model) charge_.emplace(*far.model, far.slack_ns);
  }

  Memory<M>& memory() { return memory_; }
  const Memory<M>& memory() const { return memory_; }
  std::unique_ptr<Thread> join() {
    const std::lock_guard lock(mutex_);
    counts_.push_back(std::make_unique<Counts>());
    return std::make_unique<Thread>(*counts_.back());
  }
  TierCounters counters() const {
    const std::lock_guard lock(mutex_);
    TierCounters sum;
    for (const auto& counts : counts_) counts->add_to(sum);
    return sum;
  }

  /// Returns the word of a new value where the rule says; nothing when both memories are out. A thread that is outside
  /// the epoch makes room in near memory.
  template <class... Value>
  std::optional<u64> make(Owner& owner, ThreadState& me, const Raw& key, bool is_outside, const Value&... value) {
    const u64 hash = hash_of(key);
    if (rule_.begins_near(hash)) {
      if (const std::optional<u64> word = make_near(me, value...)) return word;
      if (is_outside && make_room(owner, me)) {
        if (const std::optional<u64> word = make_near(me, value...)) return word;
      }
    }
    return make_far(me, value...);
  }

  /// Sized::find and Sized::use.
  template <class Visit>
  bool find(Owner& owner, ThreadState& me, const Raw& key, Visit&& visit) {
    if (me.tier_->near_is_short) make_room(owner, me);
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
    if (me.tier_->near_is_short) make_room(owner, me);
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
      me.tier_->counts.template add<&TierCounters::near_reads>();
      return 0;
    }
    const u64 bytes = Store::bytes_in_attempt(word).size();
    me.tier_->counts.template add<&TierCounters::far_reads>();
    me.tier_->counts.template add<&TierCounters::far_bytes_read>(bytes);
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
      if (!has_moved) me.tier_->counts.template add<&TierCounters::late_moves>();
    }
    if (has_moved && to == Tier::kNear) me.tier_->counts.template add<&TierCounters::promotions>();
    if (has_moved && to == Tier::kFar) me.tier_->counts.template add<&TierCounters::demotions>();
    return (has_moved && !Bugs::kRetireBeforeMove) || (copy && Bugs::kRetireLateMove);
  }

  /// Moves cold values to far memory, until some have gone, or the hand has gone round twice. The thread is outside the
  /// epoch. Returns true if some have gone: near memory has their room after a grace period.
  bool make_room(Owner& owner, ThreadState& me) {
    me.tier_->near_is_short = false;
    if constexpr (Owner::kHasHand) {
      if (!rule_.demotes()) return false;
      if (me.tier_->rests != 0) {
        --me.tier_->rests;
        return false;
      }
      const Moving moving(me);
      me.tier_->far_is_full = false;
      for (u32 rounds = 0; rounds < 2 && !me.tier_->far_is_full;) {
        Moved cold(me);
        if (!me.reclaim_.reserve()) return false;
        const typename Owner::Inside inside(me);
        const bool more = owner.index_.walk_on(me.index, me.tier_->hand, kMostMoved, [&](const Raw& key, u64 word) {
          if (cold.count == kMostMoved || Store::is_short(word) || Store::is_far(word) || Store::clear_used(word))
            return;
          if (move(owner, me, key, word, Tier::kFar)) cold.words[cold.count++] = word;
        });
        if (cold.count != 0) return true;
        rounds += !more;
      }
      me.tier_->rests = kRests;
    }
    return false;
  }

 private:
  /// The most values that a step moves: the reclaimer has room for as many blocks.
  static constexpr std::size_t kMostMoved = AttemptBlocks<M>::kMaxBlocks;
  // Without rests, each operation would pay for two rounds of the hand as long as nothing can be moved.
  static constexpr u32 kRests = Owner::kTiny ? 1 : 1000;

  /// The words that moves have replaced. It outlives the stay in the epoch: the thread's own stay would delay the
  /// collection.
  struct Moved {
    explicit Moved(ThreadState& thread) : me(thread) {}
    Moved(const Moved&) = delete;
    Moved& operator=(const Moved&) = delete;
    ~Moved() {
      for (std::size_t i = 0; i < count; ++i) Owner::retire(me, words[i]);
      if (count != 0) Owner::collect(me);
    }
    ThreadState& me;
    std::size_t count = 0;
    std::array<u64, kMostMoved> words;
  };

  /// Counts the time until its end as that of moves.
  class Moving {
   public:
    explicit Moving(ThreadState& me) : me_(me) {}
    ~Moving() { me_.tier_->counts.template add<&TierCounters::moving_ns>(M::now() - start_); }
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
    const std::optional<u64> word = Store::make(*me.pool_, Tier::kNear, value...);
    if (!word) {
      me.tier_->counts.template add<&TierCounters::near_full>();
      me.tier_->near_is_short = true;
    }
    return word;
  }
  template <class... Value>
  std::optional<u64> make_far(ThreadState& me, const Value&... value) {
    const u64 start = charge_ ? M::now() : 0;
    const std::optional<u64> word = Store::make(*me.pool_, Tier::kFar, value...);
    if (!word) me.tier_->far_is_full = true;
    if (!word || !Store::is_far(*word)) return word;
    const u64 bytes = Store::bytes_in_attempt(*word).size();
    me.tier_->counts.template add<&TierCounters::far_writes>();
    me.tier_->counts.template add<&TierCounters::far_bytes_written>(bytes);
    if (charge_) charge_->transfer(Access::kWrite, bytes, start);
    return word;
  }

  const PlacementRule rule_;
  Memory<M> memory_;
  std::optional<MediumCharge<M>> charge_;
  mutable std::mutex mutex_;  // guards the next
  std::vector<std::unique_ptr<Counts>> counts_;
};

}  // namespace sized

}  // namespace latchlab
