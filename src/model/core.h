#pragma once
// How misses overlap. A core has fill buffers, which its hardware threads share; each thread has a window of
// instructions, and knows what its next reference depends on.
//
//     reference to the block of the one before   its address is known: starts at once, beside that block's misses
//     reference to another block                 its address was loaded: waits for all loads of this operation before
//     first reference of an operation            depends on nothing: what was missed before may still be under way
//     load                                       arrives later; the clock goes on, until something needs the value
//     store                                      goes into the store buffer, which empties in order, one store after
//                                                the other; nothing waits for it but a fence
//     locked instruction, begin, commit, fence   wait for all before
//     prefetch                                   takes an instruction and a fill buffer; a later reference waits for
//                                                the rest
//
// A reference also waits for a load that is a whole window of instructions older, since instructions retire in order,
// and for a fill buffer. The rule by blocks stands for the values, which the model does not see. `same_block` is the
// share of the wait that it saves.
//
// A thread stops at a reference whose address is not known, as at a branch that it cannot predict. `run_ahead` is the
// share of that wait in which it issues instructions behind the reference all the same, as an out-of-order core does:
// so misses of the next operation start earlier. The reference itself starts when its address is known. Its effect is
// at the thread's clock, up to one wait before.
//
// Each wait is charged to the thread's account (account.h) as the clock passes it.
#include <algorithm>
#include <array>
#include <vector>

#include "src/base/types.h"
#include "src/model/account.h"
#include "src/model/parameters.h"

namespace latchlab::model {

/// The fill buffers of a core, and the lines that they bring to its L1.
class FillBuffers {
 public:
  explicit FillBuffers(u32 buffers) : until_(buffers) {}

  /// Returns the moment, from `start` on, at which a buffer is free. take() then takes that one. O(buffers).
  [[nodiscard]] Ticks free_from(Ticks start) {
    next_ = static_cast<std::size_t>(std::ranges::min_element(until_) - until_.begin());
    return std::max(start, until_[next_]);
  }
  void take(const Arrival& arrival) {
    until_[next_] = arrival.at;
    coming_[arrival.line % kComing] = arrival;
  }
  /// Returns how the line arrives or arrived; null if nothing is known of it, since others came after it.
  [[nodiscard]] const Arrival* arrival_of(u64 line) const {
    const Arrival& coming = coming_[line % kComing];
    return coming.line == line && coming.at != 0 ? &coming : nullptr;
  }

 private:
  // More than the buffers, since misses that wait for one have their arrival already. A collision forgets the older
  // line, which then seems to have arrived.
  static constexpr u64 kComing = 256;

  std::vector<Ticks> until_;  // by buffer
  std::size_t next_ = 0;
  std::array<Arrival, kComing> coming_{};  // at 0: none
};

/// The instructions of one hardware thread, and what they wait for.
class Strand {
 public:
  /// `busy_sibling` halves the window and slows down the issue; `active_cores` of its socket set the clock.
  Strand(const Parameters& p, bool busy_sibling, u32 active_cores)
      : window_(std::max(1u, p.core.window / (busy_sibling ? 2 : 1))),
        per_instruction_(
            kTicksPerNs / p.core.instructions_per_cycle * (busy_sibling ? p.core.smt_issue : 1) /
            p.clock.ghz_by_active[std::clamp<std::size_t>(active_cores, 1, p.clock.ghz_by_active.size()) - 1]),
        same_block_(p.core.same_block),
        run_ahead_(p.core.run_ahead),
        store_(ticks(p.core.store_ns)),
        pending_(p.core.window + 1) {}

  /// Issues instructions at `now`; returns the clock after them.
  Ticks issue(double instructions, Ticks now) {
    instructions_ += instructions;
    while (count_ != 0 && oldest().number + window_ <= instructions_) now = until(pop(), now);
    rest_ += instructions * per_instruction_;
    const Ticks whole = static_cast<Ticks>(rest_);
    rest_ -= static_cast<double>(whole);
    account_.charge(Cause::kInstructions, whole);
    return now + whole;
  }
  struct Issued {
    Ticks clock, start;  // of the thread, and of the reference: not before the clock
  };
  /// Waits for the address of a reference to this block. Block 0 is no block.
  Issued address_known(u64 block, Ticks now) {
    const Ticks wait = std::max(now, arrives_.at) - now;
    if (block != 0 && block == block_) {
      const Ticks known = now + static_cast<Ticks>((1 - same_block_) * static_cast<double>(wait));
      account_.wait(arrives_, now, known);
      return {known, known};
    }
    block_ = block;
    const Ticks clock = now + wait - static_cast<Ticks>(run_ahead_ * static_cast<double>(wait));
    account_.wait(arrives_, now, clock);
    return {clock, now + wait};
  }
  /// Notes a load that arrives later. A `miss` holds up the window.
  void loads(const Arrival& arrival, bool miss) {
    if (arrival.at > arrives_.at) arrives_ = arrival;
    if (arrival.at > all_.at) all_ = arrival;
    if (!miss) return;
    if (count_ == pending_.size()) pop();
    pending_[(first_ + count_++) % pending_.size()] = {instructions_, arrival};
  }
  /// Notes a store whose line arrives. It leaves the store buffer after the one before it.
  void stores(const Arrival& arrival) {
    emptied_ = std::max(emptied_, arrival.at) + store_;
    if (emptied_ <= all_.at) return;
    all_ = arrival;
    all_.at = emptied_;
    all_.store = true;
  }
  void next_operation() {
    block_ = 0;
    arrives_.at = 0;
  }
  /// Returns the moment at which all loads and stores have arrived, from `now` on; they are no longer pending.
  Ticks drain(Ticks now) {
    now = until(all_, now);
    arrives_.at = 0;
    count_ = 0;
    return now;
  }
  /// Forgets what was under way: an abort does not wait.
  void forget() {
    all_.at = 0;
    emptied_ = 0;
    next_operation();
    count_ = 0;
  }
  [[nodiscard]] Account& account() { return account_; }

 private:
  struct Pending {
    double number = 0;  // instructions before it
    Arrival arrival;
  };
  const Pending& oldest() const { return pending_[first_]; }
  /// Waits for an arrival; returns the clock after it.
  Ticks until(const Arrival& arrival, Ticks now) {
    if (arrival.at <= now) return now;
    account_.wait(arrival, now, arrival.at);
    return arrival.at;
  }
  const Arrival& pop() {
    const Arrival& arrival = oldest().arrival;
    first_ = (first_ + 1) % static_cast<u32>(pending_.size());
    --count_;
    return arrival;
  }

  double window_;
  double per_instruction_;  // ticks
  double same_block_, run_ahead_;
  Ticks store_;
  double instructions_ = 0, rest_ = 0;
  u64 block_ = 0;
  Arrival arrives_;               // of the loads of this operation, the last
  Arrival all_;                   // of all loads and stores, the last
  Ticks emptied_ = 0;             // when the store buffer has no store any more
  std::vector<Pending> pending_;  // a ring: the loads in the window
  u32 first_ = 0, count_ = 0;
  Account account_;
};

}  // namespace latchlab::model
