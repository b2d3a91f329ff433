// Who does which operations of a stream: whoever asks gets the next ones. So a thread that is slow, or loses its
// processor, is dealt less; what is done is at any moment the beginning of the stream, but for what threads hold, and a
// run of N operations does the next N, however many threads do them.
//
// It matters most where the index is a window that moves on (workloads/mix_stream.h). Threads that went on by
// themselves would drift apart, and an erase that overtakes the insert of its key leaves that key behind. So such a
// window is to be long beside what threads hold: they make fewer operations ready for a round then.
//
// Where a stream has sections (Stream::sections), it is dealt to the end of one, and goes on when somebody says so.
// That all threads come there together, hands get smaller before it.
//
// Where a stream is in parts, so that operations on a key keep their order (workloads/trace_stream.h), each thread is
// dealt those of its own.
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

  /// For `threads` threads and the operations from 0 to `end`, each of `keys` keys at most; `window`: how many records
  /// the index holds while the stream replaces them, 0 where it does not.
  Dealer(u32 threads, u64 window, u64 end, u32 keys = 1)
      : Dealer(threads, window, std::vector<u64>{0, end}, {}, keys) {}
  /// The same of a stream in parts (Stream::parts): one that all threads share, or one for each. `sections`: of the one
  /// that they share, to whose ends it deals where in_sections() says so.
  Dealer(u32 threads, u64 window, const std::vector<u64>& parts, std::vector<u64> sections = {}, u32 keys = 1)
      : threads_(threads),
        lanes_(parts.size() - 1),
        round_(round_of(threads, window, keys)),
        sections_(std::move(sections)) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].next.store(parts[i], kRelaxed);  // relaxed: nobody asks
      lanes_[i].end = lanes_[i].limit = lanes_[i].last = parts[i + 1];
    }
  }

  /// Operations that a thread may hold, and should have before a round begins: a multiple of kSliceRequests, at most
  /// kRoundRequests.
  [[nodiscard]] u32 round() const { return round_; }

  /// The next ones of thread t, a multiple of kSliceRequests of them that `room` holds, or what there is before the
  /// end. Any thread, at any time.
  [[nodiscard]] Claim deal(u32 t, u32 room) {
    Lane& lane = lanes_[t % lanes_.size()];
    const u32 most = std::min(room / kSliceRequests * kSliceRequests, fair_share(lane));
    const u64 first = lane.next.fetch_add(most, kRelaxed);  // relaxed: the number is the whole message
    if (first >= lane.end) return {};
    return {.first = first, .count = static_cast<u32>(std::min<u64>(most, lane.end - first))};
  }

  /// Whether each thread has operations of its own; else all share what there is.
  [[nodiscard]] bool in_parts() const { return lanes_.size() > 1; }
  /// The next one for thread t, and how many are still to be dealt to it, or in all where they are shared. While nobody
  /// asks.
  [[nodiscard]] u64 next(u32 t) const { return lanes_[t % lanes_.size()].undealt(); }
  [[nodiscard]] u64 left_for(u32 t) const { return lanes_[t % lanes_.size()].end - next(t); }

  /// The first one of the first part that nobody was dealt, and that part's end. While nobody asks.
  [[nodiscard]] u64 next() const { return lanes_[0].undealt(); }
  [[nodiscard]] u64 end_of_first() const { return lanes_[0].last; }

  /// How many there are that nobody was dealt, of all parts to their ends. While nobody asks.
  [[nodiscard]] u64 left() const {
    u64 left = 0;
    for (const Lane& lane : lanes_) left += lane.last - lane.undealt();
    return left;
  }

  /// Deals `count` more at most, of each part its share in what is left; also if it was to deal less before. While
  /// nobody asks.
  void end_after(u64 count) {
    u64 left = this->left();
    for (Lane& lane : lanes_) {
      const u64 next = lane.undealt(), own = lane.last - next;
      lane.next.store(next, kRelaxed);               // relaxed: nobody asks
      __extension__ using Wide = unsigned __int128;  // of two counts
      const u64 share = count >= left ? own : static_cast<u64>(static_cast<Wide>(own) * count / left);
      lane.limit = next + share;
      count -= share;
      left -= own;
    }
    draw_end();
  }

  /// Whether it deals to the end of a section only, from here on. While nobody asks.
  void in_sections(bool are) {
    in_sections_ = are && !sections_.empty();
    draw_end();
  }
  [[nodiscard]] bool in_sections() const { return in_sections_; }
  /// That one, from 0.
  [[nodiscard]] std::size_t section() const { return section_; }
  /// Goes on to the next one; false if what there is to deal ends with this one. While nobody asks.
  [[nodiscard]] bool next_section() {
    if (lanes_[0].end == lanes_[0].limit) return false;
    ++section_;
    draw_end();
    return true;
  }

 private:
  struct alignas(kFalseSharingBytes) Lane {
    std::atomic<u64> next{0};
    u64 end = 0;                                                        // of what is dealt now
    u64 limit = 0;                                                      // of what is to be dealt
    u64 last = 0;                                                       // of the part
    u64 undealt() const { return std::min(next.load(kRelaxed), end); }  // relaxed: nobody asks, or any moment will do
  };

  /// All threads together hold at most a sixteenth of the window, and each no more keys than a round has requests; but
  /// each a slice.
  static u32 round_of(u32 threads, u64 window, u32 keys) {
    const u64 most = kRoundRequests / keys / kSliceRequests * kSliceRequests;
    const u64 share = window == 0 ? most : std::min(most, window / 16 / threads / kSliceRequests * kSliceRequests);
    return static_cast<u32>(std::max<u64>(share, kSliceRequests));
  }

  /// The most operations that a thread is dealt at once: its share of what is left of a section, in whole slices, at
  /// least one. There is no such limit where the stream has no sections.
  u32 fair_share(const Lane& lane) const {
    if (!in_sections_) return ~u32{0};
    const u64 left = lane.end - lane.undealt();
    return static_cast<u32>(
        std::clamp<u64>(left / threads_ / kSliceRequests * kSliceRequests, kSliceRequests, kRoundRequests));
  }

  /// Makes the ends of what is dealt now what limits and sections say. While nobody asks.
  void draw_end() {
    for (Lane& lane : lanes_) {
      lane.next.store(lane.undealt(), kRelaxed);  // relaxed: nobody asks
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
