#pragma once
// The lines that threads wait for each other on, found in a bounded table while the model runs.
//
// A run takes millions of lines from one core to another, few of them often. The table has sets of eight lines. A new
// line takes the place of the lightest of its set, and its weight too. So a line with more than an eighth of the weight
// of its set is never missed, whatever the order (Metwally, Agrawal, El Abbadi: "Efficient Computation of Frequent and
// Top-k Elements in Data Streams", ICDT 2005; they have one set). Ticks and counts are exact since the line entered.
#include <algorithm>
#include <array>
#include <vector>

#include "src/base/hash.h"
#include "src/base/types.h"
#include "src/model/parameters.h"

namespace latchlab::model {

struct HotLine {
  static constexpr u64 kNone = ~u64{0};

  u64 line = kNone;
  Ticks waited = 0;              ///< sleeps included
  Ticks asleep = 0;              ///< those; a line that threads sleep on is a lock's
  u64 reads = 0, writes = 0;     ///< references that took the line from other cores, or asked them to give it up
  u64 conflicts = 0;             ///< transactions that an access to it ended
  std::array<u64, 4> threads{};  ///< those that did so, a bit each

  void by(u32 thread) { threads[thread / 64 % 4] |= u64{1} << thread % 64; }
  /// Returns the numbers of the threads, ascending.
  [[nodiscard]] std::vector<u32> thread_numbers() const {
    std::vector<u32> numbers;
    for (u32 i = 0; i < 256; ++i) {
      if (threads[i / 64] >> i % 64 & 1) numbers.push_back(i);
    }
    return numbers;
  }
};

class HotLines {
 public:
  HotLines() { clear(); }

  void waited(u64 line, u32 thread, Ticks took) { of(line, thread, took).waited += took; }
  void slept(u64 line, u32 thread, Ticks took) {
    HotLine& hot = of(line, thread, took);
    hot.waited += took;
    hot.asleep += took;
  }
  void fetched(u64 line, u32 thread, bool writes) {
    HotLine& hot = of(line, thread, 1);
    ++(writes ? hot.writes : hot.reads);
  }
  void conflict(u64 line, u32 thread) { ++of(line, thread, 1).conflicts; }
  /// Takes back a part of the last wait for a line, if it is still known.
  void refund(u64 line, Ticks took) {
    Set& set = set_of(line);
    for (u32 i = 0; i < kWays; ++i) {
      if (set.numbers[i] == line) lines_[at(set, i)].waited -= std::min(took, lines_[at(set, i)].waited);
    }
  }

  /// Returns up to `most` lines, by the ticks waited for them and then by their number.
  [[nodiscard]] std::vector<HotLine> hottest(u64 most) const {
    std::vector<HotLine> all;
    std::ranges::copy_if(lines_, std::back_inserter(all),
                         [](const HotLine& hot) { return hot.line != HotLine::kNone; });
    std::ranges::sort(all, [](const HotLine& a, const HotLine& b) {
      return a.waited != b.waited ? a.waited > b.waited : a.line < b.line;
    });
    if (all.size() > most) all.resize(most);
    return all;
  }
  void clear() {
    sets_.assign(kSets, {});
    lines_.assign(kSets * kWays, {});
  }

 private:
  static constexpr u32 kWays = 8;
  static constexpr u64 kSets = 256;
  struct Set {
    Set() { numbers.fill(HotLine::kNone); }
    std::array<u64, kWays> numbers;
    std::array<u64, kWays> weights{};
  };

  Set& set_of(u64 line) { return sets_[mix64(line) % kSets]; }
  u64 at(const Set& set, u32 way) const { return static_cast<u64>(&set - sets_.data()) * kWays + way; }
  HotLine& of(u64 line, u32 thread, Ticks weight) {
    Set& set = set_of(line);
    u32 way = static_cast<u32>(std::ranges::find(set.numbers, line) - set.numbers.begin());
    if (way == kWays) {
      way = static_cast<u32>(std::ranges::min_element(set.weights) - set.weights.begin());
      set.numbers[way] = line;
      lines_[at(set, way)] = {};
      lines_[at(set, way)].line = line;
    }
    set.weights[way] += weight;
    HotLine& hot = lines_[at(set, way)];
    hot.by(thread);
    return hot;
  }

  std::vector<Set> sets_;
  std::vector<HotLine> lines_;
};

}  // namespace latchlab::model
