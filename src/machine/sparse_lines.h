#pragma once
// The states of those few lines of a large memory that transactions have read or written, or that fibers wait for.
//
// It is a hash table of line numbers. An idle state is not removed, since a caller may hold the states of others. The
// idle ones go when the table is half full. So a reference is valid until the next call of of().
#include <vector>

#include "src/base/types.h"

namespace latchlab {

template <class State>
class SparseLines {
 public:
  SparseLines() { resize(kFewest); }

  /// Returns the state of a line if the table has it, else null. O(1).
  State* find(u32 line) {
    for (u64 at = home(line);; at = next(at)) {
      if (line1_[at] == line + u64{1}) return &states_[at];
      if (line1_[at] == 0) return nullptr;
    }
  }
  /// Returns the state of a line, which is idle if it is new. O(1) on average.
  State& of(u32 line) {
    if (State* const known = find(line)) return *known;
    if (used_ * 2 >= line1_.size()) drop_idle();
    return add(line);
  }
  void clear() {
    line1_.clear();
    states_.clear();
    resize(kFewest);
  }

 private:
  static constexpr u64 kFewest = 4096;  // its numbers and some states fit into the cache of the host

  u64 home(u32 line) const { return (line * 0x9e3779b97f4a7c15u >> 32) & (line1_.size() - 1); }
  u64 next(u64 at) const { return (at + 1) & (line1_.size() - 1); }
  State& add(u32 line) {
    u64 at = home(line);
    while (line1_[at] != 0) at = next(at);
    line1_[at] = line + u64{1};
    ++used_;
    return states_[at] = {};
  }
  void resize(u64 size) {
    used_ = 0;
    line1_.assign(size, 0);
    states_.resize(size);
  }
  /// Removes the idle states, and doubles the table if few were idle.
  [[gnu::noinline]] void drop_idle() {
    std::vector<u64> lines;
    std::vector<State> states;
    for (u64 at = 0; at < line1_.size(); ++at) {
      if (line1_[at] == 0 || states_[at].idle()) continue;
      lines.push_back(line1_[at] - 1);
      states.push_back(states_[at]);
    }
    resize(lines.size() * 4 >= line1_.size() ? line1_.size() * 2 : line1_.size());
    for (u64 i = 0; i < lines.size(); ++i) add(static_cast<u32>(lines[i])) = states[i];
  }

  std::vector<u64> line1_;  // one plus the number; 0 if the place is empty
  std::vector<State> states_;
  u64 used_ = 0;
};

}  // namespace latchlab
