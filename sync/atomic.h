#pragma once
// `atomic`: `none` plus one shared counter that every operation increments. It measures the cost of a single hot line.
//
// Leis's slides draw it between no synchronization and the locks. It protects nothing so, as under `none`, one thread
// may write. The counter is alone on its two lines, so the cost is that of moving the line from core to core.
#include "sync/coarse.h"

namespace latchlab {

template <class M>
class OneAtomic : public CoarsePolicy<M> {
 public:
  static constexpr std::string_view kName = "atomic";
  static constexpr std::string_view kAbout = "none plus one shared atomic increment an operation";
  static constexpr bool kManyWriters = false;

  explicit OneAtomic(const NoOptions&) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, Body&& body) {
    operations_.fetch_add(1, kRelaxed);  // counts; orders nothing
    DirectTx<M> tx(*me.pool);
    auto attempt = body(tx);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    operations_.fetch_add(1, kRelaxed);  // counts; orders nothing
    DirectTx<M> tx(*me.pool);
    auto attempt = body(tx);
    return finish_writing(tx, attempt);
  }

 private:
  alignas(kFalseSharingBytes) typename M::template Atomic<u64> operations_{0};
};

}  // namespace latchlab
