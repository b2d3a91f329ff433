#pragma once

// The streams of random words that one seed feeds, each with a number of its own, so that adding a draw in
// one place changes nothing elsewhere: the keys of a seed stay its keys.

#include "src/base/types.h"

namespace latchlab {

inline constexpr u64 kKeyStream = 1;                   ///< the offset of sparse keys
inline constexpr u64 kLineStream = 2;                  ///< which line of a file is which record
inline constexpr u64 kInsertOrderStream = 3;           ///< in which order records are loaded
inline constexpr u64 kPopularityStream = 4;            ///< which record has which popularity rank
inline constexpr u64 kWiscerStream = 5;                ///< what a Wiscer file leaves to chance, and the next two
inline constexpr u64 kMadeUpStream = 8;                ///< keys that are made up
inline constexpr u64 kCrowdStream = 9;                 ///< whom flash crowds address
inline constexpr u64 kArrivalStream = 10;              ///< when operations come (harness/config/arrivals.h)
inline constexpr u64 kFirstPhaseStream = 16;           ///< phase p draws from kFirstPhaseStream + 2p and the next
inline constexpr u64 kFirstScanStream = u64{1} << 32;  ///< ... and the lengths of scans from kFirstScanStream + p
inline constexpr u64 kFirstGetStream = u64{1} << 33;   ///< ... and the keys of multi-gets from kFirstGetStream + p

}  // namespace latchlab
