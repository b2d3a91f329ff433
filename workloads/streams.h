#pragma once

// The numbers of the streams of random words that one seed feeds. Each use has a stream of its own, so adding a draw in
// one place changes nothing elsewhere: a seed keeps its keys.

#include "src/base/types.h"

namespace latchlab {

inline constexpr u64 kKeyStream = 1;          ///< the offset of sparse keys
inline constexpr u64 kLineStream = 2;         ///< the line of a file that is a record
inline constexpr u64 kInsertOrderStream = 3;  ///< the order in which records are loaded
inline constexpr u64 kPopularityStream = 4;   ///< the record that has a popularity rank
inline constexpr u64 kWiscerStream = 5;       ///< random choices of a Wiscer workload; also the next two numbers
inline constexpr u64 kMadeUpStream = 8;       ///< made-up keys
inline constexpr u64 kCrowdStream = 9;        ///< the records that flash crowds address
inline constexpr u64 kArrivalStream = 10;     ///< the times at which operations come (harness/config/arrivals.h)
inline constexpr u64 kPreemptionStream = 11;  ///< the interruptions of --preempt (harness/trial/phases.cc)
inline constexpr u64 kFirstPhaseStream = 16;  ///< phase p draws from kFirstPhaseStream + 2p and the next one
inline constexpr u64 kFirstScanStream = u64{1} << 32;  ///< phase p draws lengths of scans from kFirstScanStream + p
inline constexpr u64 kFirstGetStream = u64{1} << 33;   ///< phase p draws keys of multi-gets from kFirstGetStream + p

}  // namespace latchlab
