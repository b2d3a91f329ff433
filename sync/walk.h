#pragma once
// A walk over the pairs of an index that stops and goes on, beside threads that change it. Synchronized::walk_on takes
// the steps; an index that walks has `walk_in` (WalkingBody), or `gather_in` if it is ordered.
#include <cstddef>

#include "sync/attempt.h"
#include "sync/concepts.h"

namespace latchlab {

/// The place of a walk, and the copies of the pairs of its last step. It goes round: at the end it is new again. It
/// holds no part of the index, so it may be kept for ever, and may end after the index.
template <class Body, bool kOrdered = Body::kOrdered>
class Walk {
 public:
  Walk() = default;  ///< Throws std::bad_alloc.
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// Returns true if the walk has not begun, or has come to the end.
  bool at_start() const { return !hand_.begun(); }

 private:
  template <template <class, class> class Index, class P, class Key>
    requires Policy<P>
  friend class Synchronized;

  bool lacks_room() const { return pairs_.lacks_room(); }
  void enlarge() { pairs_.enlarge(); }
  template <class Tx>
  Attempt<typename Body::Hand> collect_in(Tx& tx, const Body& index, std::size_t most) {
    return index.walk_in(tx, hand_, most, pairs_);
  }
  void go_on(const typename Body::Hand& to) { hand_ = to; }
  template <class Visit>
  void show(Visit& visit) {
    pairs_.for_each(visit);
  }

  typename Body::Hand hand_;
  typename Body::Walked pairs_;
};

/// The same over an ordered index: the place is the last key.
template <class Body>
class Walk<Body, true> {
 public:
  Walk() = default;
  Walk(const Walk&) = delete;  // the last key may view the batch
  Walk& operator=(const Walk&) = delete;
  bool at_start() const { return !begun_; }

 private:
  template <template <class, class> class Index, class P, class Key>
    requires Policy<P>
  friend class Synchronized;

  bool lacks_room() const { return pairs_.too_small(); }
  void enlarge() { pairs_.enlarge(); }
  template <class Tx>
  Attempt<bool> collect_in(Tx& tx, const Body& index, std::size_t most) {
    return index.gather_in(tx, begun_ ? last_ : Body::first_key(), begun_, most, pairs_);
  }
  /// Throws std::bad_alloc, and has then not gone on.
  void go_on(bool) {
    if (!pairs_.empty()) last_ = pairs_.keep_last();
    begun_ = !pairs_.empty();
  }
  template <class Visit>
  void show(Visit& visit) const {
    pairs_.for_each(visit);
  }

  bool begun_ = false;
  typename Body::Key last_;
  typename Body::Batch pairs_{~std::size_t{0}};
};

}  // namespace latchlab
