#pragma once
// Where the time of a modelled thread goes: each tick of its clock is charged to one cause, once.
//
//     clock   |  issue  |      waits for a load      | locked |   asleep   |
//     causes   instructions  queue  | other_socket     locked..   asleep
//
// Misses overlap, so a miss is charged only for the time that its thread waited for it, and by what the miss did in
// that time (Arrival). A wait for several misses is charged to the one that ends it.
//
// Time that no call of the model takes is found as a gap before the next call, in which the thread was idle. A
// transaction that is undone takes its charges with it: all its time is lost (kAborted). So the causes of a thread add
// up to its time, also when a conflict sets its clock back.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/arch/rtm_status.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "src/model/hot_lines.h"
#include "src/model/parameters.h"

namespace latchlab::model {

enum class Cause : u8 {
  kInstructions,
  kL1,
  kL2,
  kL3,              ///< the L3 of the own cluster
  kOwnCluster,      ///< a core under the same L3
  kOtherCluster,    ///< caches of another cluster of the socket
  kOtherSocket,     ///< caches of another socket
  kDramNear,        ///< memory of the own cluster
  kDramFar,         ///< memory of another one
  kPageWalks,       ///< page walks
  kFillBuffers,     ///< until a fill buffer is free
  kLineInTransfer,  ///< until the line's ownership has got to those that asked before
  kChannels,        ///< the queue of a memory channel
  kLinks,           ///< the queue of a link between sockets
  kFences,          ///< stores that a fence, a locked instruction or a transaction waits for
  kLocked,          ///< locked instructions besides their misses
  kTransactions,    ///< beginning and committing
  kAborted,         ///< attempts that were undone, and their aborts
  kFaults,
  kSystemCalls,  ///< system calls
  kSpaceLock,    ///< waiting for the kernel's lock of the address space
  kTimer,        ///< the kernel's timer
  kAsleep,       ///< until another thread writes a line that the thread has looked at
  kPauses,       ///< and yields
  kAllocations,
  kIdle,  ///< between calls: in a run, until other threads are ready, or an operation is due
};
}  // namespace latchlab::model

namespace latchlab {
template <>
inline constexpr std::array kWords<model::Cause>{
    "instructions"sv, "l1"sv,           "l2"sv,         "l3"sv,         "own_cluster"sv,  "other_cluster"sv,
    "other_socket"sv, "dram_near"sv,    "dram_far"sv,   "page_walks"sv, "fill_buffers"sv, "line_in_transfer"sv,
    "channels"sv,     "links"sv,        "fences"sv,     "locked"sv,     "transactions"sv, "aborted"sv,
    "faults"sv,       "system_calls"sv, "space_lock"sv, "timer"sv,      "asleep"sv,       "pauses"sv,
    "allocations"sv,  "idle"sv};
}  // namespace latchlab

namespace latchlab::model {

inline constexpr std::size_t kCauses = kWords<Cause>.size();
using Times = std::array<Ticks, kCauses>;  // by cause

/// The way of a reference to its line. The parts follow one another and end at `at`.
struct Arrival {
  /// A moment of which nothing else is known.
  Arrival(Ticks moment = 0) : at(moment) {}  // NOLINT: a moment is an arrival

  Ticks at;
  u64 line = 0;
  // In the order in which they pass. Each is far below four minutes.
  u32 walk = 0, buffer = 0, transfer = 0, channel = 0, link = 0, source = 0;
  Cause from = Cause::kL1;  // the source
  bool store = false;
  bool shared = false;  // the line was taken from other cores, or waited for them
};

/// Aborts of one cause, or by one structure.
struct Lost {
  static constexpr u64 kNobody = ~u64{0};  ///< no structure
  u64 key;                                 // an AbortCause, or the structure (Model::conflict)
  u64 count;
  Ticks ticks;
};

/// The account of one thread. All ticks are charged in the order of its clock.
class Account {
 public:
  /// Forgets all charges; the clock is at `now`. `lines` gets what the thread waits for; null: nothing does.
  void restart(u32 thread, HotLines* lines, Ticks now) {
    *this = {};
    thread_ = thread;
    lines_ = lines;
    clock_ = now;
  }

  /// Begins a call at this moment. A moment before the clock is that of a new phase, whose clock was rounded down.
  void at(Ticks now) {
    end(now);
    clock_ = now;
  }
  /// Ends the account at this moment. A moment before the clock was rounded down.
  void end(Ticks now) {
    if (now > clock_) charge(Cause::kIdle, now - clock_);
  }
  void charge(Cause cause, Ticks took) {
    times_[static_cast<std::size_t>(cause)] += took;
    clock_ += took;
  }
  /// Charges the wait from one moment to another, not after the arrival, to what the reference did then.
  void wait(const Arrival& arrival, Ticks from, Ticks to) {
    if (to <= from) return;
    if (arrival.shared && lines_ != nullptr) {
      lines_->waited(arrival.line, thread_, to - from);
      waited_on_ = arrival.line;
      waited_ = to - from;
      waited_until_ = clock_ + (to - from);
    }
    if (arrival.store) return charge(Cause::kFences, to - from);
    if (to == arrival.at && to - from <= arrival.source) return charge(arrival.from, to - from);
    wait_in_parts(arrival, from, to);
  }
  /// Charges a sleep that ends at this moment, on a line.
  void sleep(u64 line, Ticks until) {
    if (until <= clock_) return;
    if (lines_ != nullptr) lines_->slept(line, thread_, until - clock_);
    charge(Cause::kAsleep, until - clock_);
  }

  /// Begins an attempt, to which all charges belong until commit() or undone().
  void begin() {
    before_ = times_;
    attempt_ = clock_;
    attempting_ = true;
  }
  void commit() { attempting_ = false; }
  /// Loses the attempt, whose time ended at this moment or at the clock. Returns the ticks that are lost.
  Ticks undone(Ticks at) {
    if (!attempting_) return 0;
    attempting_ = false;
    if (at < clock_) {
      if (waited_until_ == clock_ && lines_ != nullptr) lines_->refund(waited_on_, std::min(waited_, clock_ - at));
      clock_ = at;
    }
    const Ticks lost = clock_ - attempt_;
    times_ = before_;
    times_[static_cast<std::size_t>(Cause::kAborted)] += lost;
    return lost;
  }

  [[nodiscard]] const Times& times() const { return times_; }

 private:
  void wait_in_parts(const Arrival& arrival, Ticks from, Ticks to);

  Times times_{}, before_{};
  Ticks clock_ = 0, attempt_ = 0;
  bool attempting_ = false;
  u32 thread_ = 0;
  HotLines* lines_ = nullptr;
  // The last wait for a shared line, which an abort may cut short.
  u64 waited_on_ = 0;
  Ticks waited_ = 0, waited_until_ = 0;
};

/// Adds an abort to those of its key. O(keys).
void add_lost(std::vector<Lost>& all, u64 key, Ticks took);

}  // namespace latchlab::model
