// What the hot loop runs and what it leaves behind: Request and Tally. A Request is a workload's Op made ready: an
// Op is what the stream draws, a Request has the key's bytes and the value with the key's tag beside it, so that
// nothing is hashed while the clock runs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/types.h"
#include "workloads/op.h"
#include "workloads/value.h"

namespace latchlab {

inline constexpr u32 kChunkRequests = 4096;  ///< loaded or verified by a thread at a time
/// Made ready for a round: 192 KiB of requests, which the second-level cache holds. In the last kStopRequests of
/// them some threads may have stopped already, which is less than one in a hundred.
inline constexpr u32 kRoundRequests = 8192;
inline constexpr u32 kSliceRequests = 256;  ///< run between two additions to the meter
inline constexpr u32 kStopRequests = 64;    ///< run between two looks at the stop flag
static_assert(kRoundRequests % kSliceRequests == 0 && kSliceRequests % kStopRequests == 0);

/// Requests to run between two looks at the stop flag where `requests` took `ns`: as many as pass in 50 us, a power of
/// two from 1 to kStopRequests. A look is cheap, but what surrounds it parts the loop of lookups, which costs a third
/// of them.
constexpr u32 requests_between_looks(u64 ns, u32 requests) {
  constexpr u64 kLookNs = 50'000;
  return static_cast<u32>(std::bit_floor(std::clamp<u64>(kLookNs * requests / std::max<u64>(ns, 1), 1, kStopRequests)));
}

/// What a find must come back with. Anything but kEither is a promise of the workload about all moments of
/// the run.
enum class Expect : u8 { kEither, kHit, kMiss };

struct Request {
  union {
    u64 number;         ///< the key, of KeyKind::kU64; of a multi-get: the first of its keys among Slice::gets
    const char* bytes;  ///< the key's first byte, of KeyKind::kBytes; it outlives the phase
  };
  u64 value = 0;   ///< to write; for the others only its tag counts
  u32 length = 0;  ///< of the key in bytes, of KeyKind::kBytes
  u16 limit = 0;   ///< pairs that a scan may deliver; keys of a multi-get
  OpKind kind = OpKind::kRead;
  Expect expect = Expect::kEither;
};
static_assert(sizeof(Request) == 24, "a request takes part of a line from the index's lookups");

/// One thread's account of what it did, kept by the hot loop and compared with the index afterwards.
struct alignas(kFalseSharingBytes) Tally {
  std::array<u64, kOpKinds> count{};
  std::array<u64, kOpKinds>
      succeeded{};       ///< found, changed; of an upsert: inserted; of a scan: not empty; of a multi-get: all found
  u64 keys = 0;          ///< insertions minus erasures, modulo 2^64
  u64 checksum = 0;      ///< of the keys inserted minus those of the keys erased, modulo 2^64
  u64 wrong_values = 0;  ///< a find or scan came back with another key's value
  u64 missing = 0;       ///< a key that must be there was not found, updated or erased
  u64 phantoms = 0;      ///< a key that cannot be there was found
  u64 disorder = 0;      ///< a scan delivered keys out of order, or below where it began, or too many of them
  u64 scanned = 0;       ///< pairs delivered
  u64 gets = 0;          ///< keys that multi-gets looked up
  u64 got = 0;           ///< of them found

  u64 operations() const {
    u64 sum = 0;
    for (const u64 c : count) sum += c;
    return sum;
  }
  u64 errors() const { return wrong_values + missing + phantoms + disorder; }

  Tally& operator+=(const Tally& more) { return combine(more, 1); }
  Tally& operator-=(const Tally& less) { return combine(less, ~u64{0}); }

 private:
  /// Adds `sign` times the other; all sums are modulo 2^64, so that minus one is its complement.
  Tally& combine(const Tally& other, u64 sign) {
    for (std::size_t k = 0; k < kOpKinds; ++k) {
      count[k] += sign * other.count[k];
      succeeded[k] += sign * other.succeeded[k];
    }
    keys += sign * other.keys;
    checksum += sign * other.checksum;
    wrong_values += sign * other.wrong_values;
    missing += sign * other.missing;
    phantoms += sign * other.phantoms;
    disorder += sign * other.disorder;
    scanned += sign * other.scanned;
    gets += sign * other.gets;
    got += sign * other.got;
    return *this;
  }
};

}  // namespace latchlab
