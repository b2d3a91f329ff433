#pragma once

// The change of popularity while a workload runs, as `--churn` says. Everything is a function of an operation's number:
//
//   none
//   drift:EVERY                                after every EVERY operations each popularity rank moves on to the record
//                                              of the next rank. So the hottest record becomes the coldest, and the
//                                              others warm up
//   flash:EVERY,share=S,records=K,length=L     a flash crowd: among the first L of every EVERY operations (by default a
//                                              tenth) a share S (0.5) addresses K records (100) with equal probability,
//                                              other records each time
//
// The shifts of Wiscer are in its files (wiscer.h).

#include "src/base/spec.h"
#include "src/base/types.h"

namespace latchlab {

struct Churn {
  enum class Kind : u8 { kNone, kDrift, kFlash };
  Kind kind = Kind::kNone;
  u64 every = 0;     ///< operations
  double share = 0;  ///< of kFlash: its share of the operations while it lasts
  u64 records = 0;   ///< of kFlash
  u64 length = 0;    ///< of kFlash, operations

  /// Parses a spec. Throws InputError for an unknown word or a value out of range.
  [[nodiscard]] static Churn parse(const Spec& spec);
  /// Throws InputError if a crowd has more records than `among`, the number of records.
  void check(u64 among) const;
};

}  // namespace latchlab
