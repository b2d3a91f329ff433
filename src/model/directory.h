#pragma once
// The state of each line: its holders, its home, and until when it is under way. 24 bytes a line, in a
// table with open addressing by the line's number.
//
//     word 0   | number 42 | owner + 1: 7 | written | dirty | snoop all | home 4 |
//     word 1   | holders: a bit a core                                 |
//     word 2   | busy until 48                   | L3s 16: a bit each  |
//
// An owner is the only core that has the line; it may write without asking. `dirty` says that memory has an older
// value.
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/base/types.h"
#include "src/model/parameters.h"

namespace latchlab::model {

struct Line {
  static constexpr u64 kNoNumber = (u64{1} << 42) - 1;

  u64 number : 42 = kNoNumber;
  u64 owner1 : 7 = 0;     // one plus the core; 0 for none
  u64 written : 1 = 0;    // by the owner, since it became that
  u64 dirty : 1 = 0;      // memory has an older value
  u64 snoop_all : 1 = 0;  // the state of the home's directory: a miss must ask all caches
  u64 home : 4 = 0;       // a cluster
  u64 holders = 0;
  u64 busy : 48 = 0;  // ticks: 4.8 hours
  u64 l3s : 16 = 0;

  [[nodiscard]] bool owned_by(u32 core) const { return owner1 == core + 1; }
  void set_owner(u32 core) { owner1 = (core + 1) & 127; }
  void no_owner() { owner1 = written = 0; }
};
static_assert(sizeof(Line) == 24, "lines are a third of the memory of a modelled run");
static_assert(kMostCores < 128 && kMostClusters <= 16, "an owner has seven bits, a home four");

class Directory {
 public:
  Directory() : lines_(kFirst) {}

  /// Returns the line, which is new to it (in no cache) if it was never asked for. The next call may move it.
  Line& at(u64 number, u32 home, bool snoop_all) {
    if (used_ * 3 >= lines_.size() * 2) grow();
    Line& line = slot_of(number);
    if (line.number == Line::kNoNumber) {
      ++used_;
      line.number = number & Line::kNoNumber;
      line.home = home & 15;
      line.snoop_all = snoop_all;
    }
    return line;
  }
  /// Returns a line that is there, or null; moves none.
  Line* find(u64 number) {
    Line& line = slot_of(number);
    return line.number == Line::kNoNumber ? nullptr : &line;
  }
  [[nodiscard]] u64 size() const { return used_; }
  /// Calls visit(line) for every line.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Line& line : lines_) {
      if (line.number != Line::kNoNumber) visit(line);
    }
  }

 private:
  static constexpr u64 kFirst = u64{1} << 12;

  /// Returns the place of the line, which is empty if it is not there.
  Line& slot_of(u64 number) {
    const u64 mask = lines_.size() - 1;
    // Neighbours stay neighbours, so that a walk over memory is one over the table: runs of 8 lines are hashed
    // together.
    u64 at = (mix64(number >> 3) << 3 | (number & 7)) & mask;
    while (lines_[at].number != Line::kNoNumber && lines_[at].number != number) at = (at + 1) & mask;
    return lines_[at];
  }
  void grow() {
    std::vector<Line> old = std::exchange(lines_, std::vector<Line>(lines_.size() * 2));
    for (const Line& line : old) {
      if (line.number != Line::kNoNumber) slot_of(line.number) = line;
    }
  }

  std::vector<Line> lines_;
  u64 used_ = 0;
};

}  // namespace latchlab::model
