// Payloads: values larger than the eight bytes that an index keeps (--value-size). Every key has a payload outside the
// index, as systems keep their records. The value that the index returns leads to it, as a pointer would:
//
//     value: | 32 bits: tag of the key | stamp | ──► place = tag * places >> 32 ──► arena: | payload | ...
//
// So a lookup's payload is a dependent access: its address is unknown until the index has answered. There are as many
// places as records, and twice as many if the workload inserts more. Tags scatter as a hash does, so two keys may share
// a place: n keys use 63 % of n places. Sharing is harmless, because of invariants 1 and 3.
//
//   1. The content of a payload is a function of its place, and is there before the index is loaded.
//   2. A read checks every word that it reads.
//   3. A write stores the same content again, so concurrent writes cannot tear each other.
//
// More cannot be promised, since payloads are read and written outside the index's synchronization. They are in no
// transaction's read or write set, and no lock is held meanwhile. Their cost is memory traffic. A large value takes
// lines from the index's share of the caches, and a write takes them from the caches of other processors.
//
// A payload is read and written in order, in words of eight bytes, by relaxed loads and stores.
#pragma once

#include <span>

#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/memory/numa.h"
#include "src/memory/page_source.h"
#include "workloads/value.h"

namespace latchlab {

/// The most places that a 32-bit tag can address.
inline constexpr u64 kMostPlaces = u64{1} << 32;

/// Returns the payload's place for the key with this value.
[[nodiscard]] constexpr u64 payload_place(u64 value, u64 places) { return (value >> 32) * places >> 32; }

class Payloads {
 public:
  /// Reserves `places` (1 to kMostPlaces) of `bytes` each (a multiple of 8, at most kMostValueBytes) from `pages`,
  /// which must outlive this. Only the page size and the limit of `memory` matter. Writes nothing yet. Throws
  /// std::bad_alloc.
  Payloads(u64 places, u32 bytes, const MemoryConfig& memory, PageSource& pages);

  /// Writes the first content of one of `parts` equal parts. Its pages are placed as `pages` says; by default the
  /// system places them near the thread that touches them first. One thread fills each part, while others fill theirs.
  /// Returns early if the run is interrupted.
  void fill(u32 part, u32 parts, const PagePlacement& pages);

  /// Reads the whole payload of the key with this value. Returns false if a word of it is wrong.
  [[nodiscard]] bool read(u64 value) const;
  /// Writes the whole payload of the key with this value.
  void write(u64 value);

  /// Returns the payload's words, for tests that change them. No thread may read or write payloads meanwhile.
  [[nodiscard]] std::span<u64> words_of(u64 value) const { return {arena_ + first_word(value), words_}; }

 private:
  u64 first_word(u64 value) const { return payload_place(value, places_) * words_; }

  ChunkSource source_;
  const u64 places_;
  const u64 words_;  // in a payload
  u64* arena_;
};

}  // namespace latchlab
