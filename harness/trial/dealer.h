// The dealer hands the operations of a stream to threads: a thread that asks claims the next ones. Three consequences:
//
//   1. a thread that is slow, or descheduled, claims less;
//   2. the operations done are at any moment the beginning of the stream, except for those that threads hold;
//   3. a run of N operations does the next N, with any number of threads.
//
// This matters most if the index is a moving window over the keys (workloads/mix_stream.h). Threads that advanced
// independently would drift apart, and an erase that overtakes the insert of its key leaves that key behind. So the
// window must be long compared to the operations that threads hold: threads then make fewer ready for a round.
//
// A stream with sections (Stream::sections) is dealt to the end of a section; next_section() goes on to the next one.
// Claims get smaller towards the end of a section, so that all threads arrive there together.
//
// A stream in parts keeps the order of operations on a key (workloads/trace_stream.h): each thread claims operations of
// its own part.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "harness/loop/request.h"
#include "src/base/types.h"

namespace latchlab {

class Dealer {
 public:
  struct Claim {
    u64 first = 0;
    u32 count = 0;
  };

  /// Deals the operations from 0 to `end` to `threads` threads. An operation has at most `keys` keys. `window` is how
  /// many records the index holds while the stream replaces them; 0 if it does not replace them.
  Dealer(u32 threads, u64 window, u64 end, u32 keys = 1)
      : Dealer(threads, window, std::vector<u64>{0, end}, {}, keys) {}
  /// Deals a stream in parts (Stream::parts): one part that all threads share, or one for each thread. `sections` are
  /// the ends of the sections of a shared part; they matter while in_sections() is true.
  Dealer(u32 threads, u64 window, const std::vector<u64>& parts, std::vector<u64> sections = {}, u32 keys = 1)
      : threads_(threads),
        lanes_(parts.size() - 1),
        round_(round_of(threads, window, keys)),
        sections_(std::move(sections)) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].next.store(parts[i], kRelaxed);  // relaxed: no thread claims yet
      lanes_[i].end = lanes_[i].limit = lanes_[i].last = parts[i + 1];
    }
  }

  /// Returns how many operations a thread may hold, and should hold before a round begins: a multiple of
  /// kSliceRequests, at most kRoundRequests.
  [[nodiscard]] u32 round() const { return round_; }

  /// Claims the next operations for thread t: the largest multiple of kSliceRequests that fits into `room`, or fewer at
  /// the end. In sections it also claims no more than fair_share(). Any thread may call it at any time.
  [[nodiscard]] Claim deal(u32 t, u32 room) {
    Lane& lane = lanes_[t % lanes_.size()];
    const u32 most = std::min(room / kSliceRequests * kSliceRequests, fair_share(lane));
    const u64 first = lane.next.fetch_add(most, kRelaxed);  // relaxed: it publishes nothing but the number
    if (first >= lane.end) return {};
    return {.first = first, .count = static_cast<u32>(std::min<u64>(most, lane.end - first))};
  }

  /// True if each thread has a part of its own; false if all threads share one.
  [[nodiscard]] bool in_parts() const { return lanes_.size() > 1; }

  // Call all that follow, except the getter in_sections(), while no thread claims.

  /// Return the next operation of thread t's part, and how many operations of that part are still to be dealt.
  [[nodiscard]] u64 next(u32 t) const { return lanes_[t % lanes_.size()].undealt(); }
  [[nodiscard]] u64 left_for(u32 t) const { return lanes_[t % lanes_.size()].end - next(t); }

  /// Return the first operation of the first part that no thread has claimed, and that part's end.
  [[nodiscard]] u64 next() const { return lanes_[0].undealt(); }
  [[nodiscard]] u64 end_of_first() const { return lanes_[0].last; }

  /// Returns how many operations no thread has claimed, in all parts to their ends.
  [[nodiscard]] u64 left() const {
    u64 left = 0;
    for (const Lane& lane : lanes_) left += lane.last - lane.undealt();
    return left;
  }

  /// Deals at most `count` more operations, of each part in proportion to what is left of it. It replaces an earlier
  /// limit, also a smaller one.
  void end_after(u64 count) {
    u64 left = this->left();
    for (Lane& lane : lanes_) {
      const u64 next = lane.undealt(), own = lane.last - next;
      lane.next.store(next, kRelaxed);               // relaxed: no thread claims
      __extension__ using Wide = unsigned __int128;  // the product of two counts may exceed 64 bits
      const u64 share = count >= left ? own : static_cast<u64>(static_cast<Wide>(own) * count / left);
      lane.limit = next + share;
      count -= share;
      left -= own;
    }
    draw_end();
  }

  /// From here on deals to the end of the current section only, if `are` and the stream has sections.
  void in_sections(bool are) {
    in_sections_ = are && !sections_.empty();
    draw_end();
  }
  [[nodiscard]] bool in_sections() const { return in_sections_; }
  /// Returns the current section, from 0.
  [[nodiscard]] std::size_t section() const { return section_; }
  /// Goes on to the next section. Returns false if there is nothing to deal after the current one.
  [[nodiscard]] bool next_section() {
    if (lanes_[0].end == lanes_[0].limit) return false;
    ++section_;
    draw_end();
    return true;
  }

 private:
  struct alignas(kFalseSharingBytes) Lane {
    std::atomic<u64> next{0};
    u64 end = 0;    // the end of what can be claimed now
    u64 limit = 0;  // the end that end_after() has set
    u64 last = 0;   // the end of the part
    /// Returns the first operation that no thread has claimed. Relaxed: no thread claims, or an old value will do.
    u64 undealt() const { return std::min(next.load(kRelaxed), end); }
  };

  /// Returns how many operations a thread may hold. All threads together hold at most a sixteenth of the window, and
  /// each at most kRoundRequests keys; but each may hold at least one slice.
  static u32 round_of(u32 threads, u64 window, u32 keys) {
    const u64 most = kRoundRequests / keys / kSliceRequests * kSliceRequests;
    const u64 share = window == 0 ? most : std::min(most, window / 16 / threads / kSliceRequests * kSliceRequests);
    return static_cast<u32>(std::max<u64>(share, kSliceRequests));
  }

  /// Returns the most operations that a thread may claim at once: its share of the rest of a section in whole slices,
  /// at least one. There is no such limit if the stream has no sections.
  u32 fair_share(const Lane& lane) const {
    if (!in_sections_) return ~u32{0};
    const u64 left = lane.end - lane.undealt();
    return static_cast<u32>(
        std::clamp<u64>(left / threads_ / kSliceRequests * kSliceRequests, kSliceRequests, kRoundRequests));
  }

  /// Sets each lane's end from its limit and the current section.
  void draw_end() {
    for (Lane& lane : lanes_) {
      lane.next.store(lane.undealt(), kRelaxed);  // relaxed: no thread claims
      lane.end = in_sections_ ? std::min(lane.limit, sections_[section_]) : lane.limit;
    }
  }

  const u32 threads_;
  std::vector<Lane> lanes_;
  const u32 round_;
  const std::vector<u64> sections_;
  std::size_t section_ = 0;
  bool in_sections_ = false;
};

}  // namespace latchlab
