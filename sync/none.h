#pragma once
// `none`: no synchronization at all, the upper bound that every other policy is compared with.
//
// Any number of threads may read, or a single one may read and write. The body runs on plain fields and its verbs
// compile away: a lookup has the instructions of a hand-written one, which a test checks (indexes/codegen_test.cc).
#include "sync/coarse.h"

namespace latchlab {

template <class M>
class None : public CoarsePolicy<M> {
 public:
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kAbout = "no synchronization: the upper bound (one thread may write)";
  static constexpr bool kManyWriters = false;

  explicit None(const NoOptions&) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = body(tx);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  [[gnu::always_inline]] auto write(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = body(tx);
    return finish_writing(tx, attempt);
  }
};

}  // namespace latchlab
