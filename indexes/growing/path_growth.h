#pragma once
// The maintenance task of an insert into a cuckoo table that grows (table.h): it makes room for a key that has none, or
// does the work that the table asks for.
//
//     for_room() -> kSearch: look for a path --> kMove: move its keys --> done
//                      ^        | no path          | stale                     the caller tries its insert again
//                      |        v                  v
//                      |   kTable: split a run   kSearch, or kTable after kMostStale stale paths
//
// The search (path_search.h) is an attempt of its own, and its result is a hint. The attempt that moves the keys proves
// the path. If it cannot, the path is stale. That is a value and not a restart, since another attempt would find the
// same.
#include <algorithm>
#include <array>

#include "sync/attempt.h"

namespace latchlab::growing {

/// The task. `Move` names a key that moves, as in the search.
template <class Table, class Move, u32 kMostMoves>
class PathGrowth {
 public:
  enum class Step : u8 { kTable, kSearch, kMove };

  PathGrowth() {}  // not defaulted: the arrays need no zeros
  /// Returns a task for a key that found no room.
  static PathGrowth for_room() {
    PathGrowth growth;
    growth.step_ = Step::kSearch;
    return growth;
  }
  bool done() const { return step_ == Step::kTable && table_.done(); }
  template <class Pool>
  [[nodiscard]] bool prepare(Pool& pool) {
    return table_.prepare(pool);
  }
  void one_done() { table_.one_done(); }
  template <class Pool>
  void release(Pool& pool) {
    table_.release(pool);
  }

  Step step() const { return step_; }
  /// Returns the number of moves of the path. Key i moves from bucket i to bucket i + 1.
  u32 moves() const { return moves_; }
  u64 bucket(u32 i) const { return bucket_[i]; }
  const Move& moved(u32 i) const { return moved_[i]; }

  // The results of the steps. Each is kChanged, and writes the rest of the task to `after`.

  /// Returns the result of a search that found a path, whose end is a spot. `seen` is the table's size before it.
  template <class Search>
  StepResult found(const Search& search, u32 end, typename Table::Seen seen, PathGrowth& after) const {
    after = *this;
    after.seen_ = seen;
    after.step_ = Step::kMove;
    u32 i = after.moves_ = search.moves(end);
    after.bucket_[i] = search.bucket(end);
    search.for_each_move(end, [&](u64 from, Move move) {
      after.moved_[--i] = move;
      after.bucket_[i] = from;
    });
    return StepResult::kChanged;
  }
  /// Returns the result of a search without a path. If it met an unborn bucket, its number is not 0: that bucket must
  /// be made first. Otherwise the table splits a run, unless it has grown since `seen`.
  StepResult no_path(u64 unborn, typename Table::Seen seen, PathGrowth& after) const {
    after = *this;
    after.step_ = Step::kTable;
    after.table_ = unborn != 0 ? Table::birth_of(unborn) : Table::forced(seen);
    return StepResult::kChanged;
  }
  /// Returns the result of an attempt that has moved the keys, or has found room without a move.
  StepResult has_room(PathGrowth& after) const {
    after = *this;
    after.step_ = Step::kTable;
    after.table_.finish();
    return StepResult::kChanged;
  }
  /// Returns the result of an attempt that found the path changed.
  StepResult stale(const Table& table, PathGrowth& after) const {
    constexpr u32 kMostStale = 8;
    if (stale_ + 1 == kMostStale && table.may_grow()) return no_path(0, seen_, after);
    after = *this;
    after.step_ = Step::kSearch;
    // If the table may not grow, stale paths never end the search.
    after.stale_ = std::min(stale_ + 1, kMostStale - 1);
    return StepResult::kChanged;
  }
  /// Performs a step of the table's own growth (Table::grow_in).
  template <class Tx, class Rules>
  Attempt<StepResult> grow_in(Tx& tx, Table& table, PathGrowth& after, const Rules& rules) const {
    after.step_ = Step::kTable;
    return table.grow_in(tx, table_, after.table_, rules);
  }

 private:
  Step step_ = Step::kTable;
  typename Table::Growth table_;
  typename Table::Seen seen_;  // the size of the table before the search
  u32 stale_ = 0;              // number of stale paths so far
  u32 moves_ = 0;
  std::array<u64, kMostMoves + 1> bucket_;
  std::array<Move, kMostMoves> moved_;
};

}  // namespace latchlab::growing
