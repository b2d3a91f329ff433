#pragma once
// `spin`: one global test-and-test-and-set lock around every operation. What elision starts from and falls
// back to.
#include "sync/coarse.h"
#include "sync/spin_lock.h"

namespace latchlab {

template <class M>
class Spin : public CoarsePolicy<M> {
 public:
  static constexpr std::string_view kName = "spin";
  static constexpr std::string_view kAbout = "one global spin lock";

  explicit Spin(const NoOptions&) {}

  template <class Me, class Body>
  auto read(Me& me, Body&& body) {
    DirectTx<M> tx(me.context);
    auto attempt = run_locked(tx, body);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(me.context);
    auto attempt = run_locked(tx, body);
    return finish_writing(tx, attempt);
  }

 private:
  template <class Body>
  auto run_locked(DirectTx<M>& tx, Body& body) {
    lock_.lock();
    auto attempt = body(tx);
    lock_.unlock();
    return attempt;
  }

  SpinLock<M> lock_;
};

}  // namespace latchlab
