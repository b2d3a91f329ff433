// Values larger than an index keeps (--value-size): every key has a payload, apart from the index, as systems keep
// their records. The value that comes back from the index leads to it, as a pointer would:
//
//     value: | 32 bits: tag of the key | stamp | ──► place = tag * places >> 32 ──► arena: | payload | ...
//
// so that a lookup's payload is a dependent access: its address is not known before the index has answered. There are
// as many places as records, and twice as many where the workload inserts more. Tags scatter as a hash does: two keys
// may share a place, and of n places n keys use 63 %, a workload's popular ones those of their tags. Sharing is
// harmless, as what follows says.
//
// What is in a payload is a function of its place, and is there before the index is loaded. So every read can check all
// that it reads, and writes, which write the same again, cannot tear each other: that is as much as can be promised,
// since payloads are read and written outside of the index's synchronization. They are not part of a transaction's read
// and write set, and no lock is held meanwhile. What they cost is the traffic of memory: the lines that a large value
// takes from the caches of an index, and, where a key is written, from those of other processors.
//
// Words of eight bytes, by relaxed loads and stores, in order.
#pragma once

#include <span>

#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/memory/numa.h"
#include "src/memory/page_source.h"
#include "workloads/value.h"

namespace latchlab {

/// A tag tells no more of them apart.
inline constexpr u64 kMostPlaces = u64{1} << 32;

/// Of the key with this value.
[[nodiscard]] constexpr u64 payload_place(u64 value, u64 places) { return (value >> 32) * places >> 32; }

class Payloads {
 public:
  /// `places`: 1 to kMostPlaces, of `bytes` each, a multiple of 8 up to kMostValueBytes. Of `memory`, its page size and
  /// its limit count. From `pages`, which outlive this. Nothing is written yet. Throws std::bad_alloc.
  Payloads(u64 places, u32 bytes, const MemoryConfig& memory, PageSource& pages);

  /// Writes the first content of one of `parts` equal parts, whose pages will lie as `pages` says to the calling
  /// thread: that is whose memory they are by the system's own rule. Every part by one thread, at the same time as
  /// others. Ends early where the run is interrupted.
  void fill(u32 part, u32 parts, const PagePlacement& pages);

  /// Reads the payload of the key with this value, whole; false if a word of it is wrong.
  [[nodiscard]] bool read(u64 value) const;
  /// Writes it, whole.
  void write(u64 value);

  /// For tests, which change them. While nobody reads or writes.
  [[nodiscard]] std::span<u64> words_of(u64 value) const { return {arena_ + first_word(value), words_}; }

 private:
  u64 first_word(u64 value) const { return payload_place(value, places_) * words_; }

  ChunkSource source_;
  const u64 places_;
  const u64 words_;  // of a payload
  u64* arena_;
};

}  // namespace latchlab
