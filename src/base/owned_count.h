#pragma once

#include "src/base/types.h"

namespace latchlab {

/// A number that one thread changes, without locked instructions, while any thread may read it.
class OwnedCount {
 public:
  operator u64() const { return value_.load(kRelaxed); }  // NOLINT: it is a number; relaxed, since it guards nothing
  OwnedCount& operator+=(u64 more) { return set(*this + more); }
  OwnedCount& operator-=(u64 less) { return set(*this - less); }

 private:
  OwnedCount& set(u64 value) {
    value_.store(value, kRelaxed);
    return *this;
  }

  std::atomic<u64> value_{0};
};

}  // namespace latchlab
