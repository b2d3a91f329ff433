// Request and Tally: the input of the hot loop and its account of it. A stream draws an Op; a Request is an Op made
// ready to run. It has the key's bytes, and the value with the key's tag, so that nothing is hashed while the clock
// runs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/types.h"
#include "workloads/op.h"
#include "workloads/value.h"

namespace latchlab {

inline constexpr u32 kChunkRequests = 4096;  ///< requests that a thread loads or verifies at a time
/// Requests that a thread makes ready for a round: 192 KiB of them, which the second-level cache holds. During the last
/// kStopRequests of them (less than 1 %) some threads may have stopped already.
inline constexpr u32 kRoundRequests = 8192;
inline constexpr u32 kSliceRequests = 256;  ///< requests between two additions to the meter
inline constexpr u32 kStopRequests = 64;    ///< requests between two looks at the stop flag
static_assert(kRoundRequests % kSliceRequests == 0 && kSliceRequests % kStopRequests == 0);

/// Returns how many requests to run between two looks at the stop flag, if `requests` took `ns`. It is the number that
/// 50 us allow, as a power of two from 1 to kStopRequests. A look is cheap, but the code around it divides the loop of
/// lookups, and a loop divided at every lookup does a third fewer.
constexpr u32 requests_between_looks(u64 ns, u32 requests) {
  constexpr u64 kLookNs = 50'000;
  return static_cast<u32>(std::bit_floor(std::clamp<u64>(kLookNs * requests / std::max<u64>(ns, 1), 1, kStopRequests)));
}

/// The required result of a find. The workload promises kHit and kMiss for every moment of the run.
enum class Expect : u8 { kEither, kHit, kMiss };

struct Request {
  union {
    u64 number;         ///< the key, for KeyKind::kU64; for a multi-get: the index of its first key in Slice::gets
    const char* bytes;  ///< the key's first byte, for KeyKind::kBytes; it outlives the phase
  };
  u64 value = 0;   ///< the value to write; operations that write nothing use only its tag
  u32 length = 0;  ///< the key's length in bytes, for KeyKind::kBytes
  u16 limit = 0;   ///< pairs that a scan may deliver; keys of a multi-get
  OpKind kind = OpKind::kRead;
  Expect expect = Expect::kEither;
};
static_assert(sizeof(Request) == 24, "a request takes part of a line from the index's lookups");

/// One thread's account of its operations. The hot loop keeps it; after the run it is compared with the index.
struct alignas(kFalseSharingBytes) Tally {
  std::array<u64, kOpKinds> count{};
  /// Operations that found or changed their key; upserts that inserted, scans that delivered a pair, multi-gets that
  /// found all their keys.
  std::array<u64, kOpKinds> succeeded{};
  u64 checksum = 0;      ///< sum of the tags of inserted keys minus those of erased keys, modulo 2^64
  u64 wrong_values = 0;  ///< finds, scans, modifies or increments that returned another key's value
  u64 missing = 0;       ///< operations that did not find, update, modify or erase a key that must be there
  u64 phantoms = 0;      ///< operations that found a key that cannot be there
  u64 disorder = 0;      ///< pairs of a scan out of order, below its first key, or beyond its limit
  u64 scanned = 0;       ///< pairs that scans delivered
  u64 gets = 0;          ///< keys that multi-gets looked up
  u64 got = 0;           ///< keys that multi-gets found
  u64 issued = 0;        ///< operations that met in a station
  u64 applied = 0;       ///< operations of the index that the station made of them

  u64 operations() const {
    u64 sum = 0;
    for (const u64 c : count) sum += c;
    return sum;
  }
  /// Returns the insertions minus the erasures.
  u64 keys() const {
    return succeeded_of(OpKind::kInsert) + succeeded_of(OpKind::kUpsert) - succeeded_of(OpKind::kErase);
  }
  u64 errors() const { return wrong_values + missing + phantoms + disorder; }

  Tally& operator+=(const Tally& more) { return combine(more, 1); }
  Tally& operator-=(const Tally& less) { return combine(less, ~u64{0}); }

 private:
  u64 succeeded_of(OpKind kind) const { return succeeded[static_cast<std::size_t>(kind)]; }
  /// Adds `sign` times the other tally. All sums are modulo 2^64, so ~0 stands for minus one.
  Tally& combine(const Tally& other, u64 sign) {
    for (std::size_t k = 0; k < kOpKinds; ++k) {
      count[k] += sign * other.count[k];
      succeeded[k] += sign * other.succeeded[k];
    }
    checksum += sign * other.checksum;
    wrong_values += sign * other.wrong_values;
    missing += sign * other.missing;
    phantoms += sign * other.phantoms;
    disorder += sign * other.disorder;
    scanned += sign * other.scanned;
    gets += sign * other.gets;
    got += sign * other.got;
    issued += sign * other.issued;
    applied += sign * other.applied;
    return *this;
  }
};

}  // namespace latchlab
