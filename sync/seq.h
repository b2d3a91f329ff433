#pragma once
// `seq`: a sequence lock. One version counts every change, and every change makes every reader restart: `striped` with
// one stripe.
#include "sync/striped.h"

namespace latchlab {

template <class M, class Bugs = NoBugs>
class Seq : public OverStripes<M, Bugs> {
 public:
  static constexpr std::string_view kName = "seq";
  static constexpr std::string_view kAbout = "a sequence lock: one global version";

  explicit Seq(const NoOptions&) : OverStripes<M, Bugs>(1) {}
};

}  // namespace latchlab
