#pragma once

// How popularity changes while a workload runs; `--churn` says it. All of it is a function of an operation's number:
//
//   none
//   drift:EVERY                                after every so many operations each popularity rank takes the record of
//                                              the next rank, so what was hottest becomes the coldest, and the rest
//                                              warms up
//   flash:EVERY,share=S,records=K,length=L     a flash crowd: in the first L of every EVERY operations (a tenth of
//                                              them) the share S of them (0.5) addresses K records alike (100), each
//                                              time others
//
// Wiscer's shifts are in its files (wiscer.h).

#include "src/base/spec.h"
#include "src/base/types.h"

namespace latchlab {

struct Churn {
  enum class Kind : u8 { kNone, kDrift, kFlash };
  Kind kind = Kind::kNone;
  u64 every = 0;     ///< operations
  double share = 0;  ///< of kFlash, of the operations while it lasts
  u64 records = 0;   ///< of kFlash
  u64 length = 0;    ///< of kFlash, operations

  /// Throws InputError for an unknown word and what is out of range.
  [[nodiscard]] static Churn parse(const Spec& spec);
  /// Throws InputError if a crowd has more records than there are.
  void check(u64 among) const;
};

}  // namespace latchlab
