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
    auto attempt = run_locked(me, body);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    auto attempt = run_locked(me, body);
    return finish_writing(me, attempt);
  }

 private:
  template <class Me, class Body>
  auto run_locked(Me& me, Body& body) {
    lock_.lock();
    auto attempt = run_direct<M>(me, body);
    lock_.unlock();
    return attempt;
  }

  SpinLock<M> lock_;
};

}  // namespace latchlab
