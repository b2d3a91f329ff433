#pragma once
// A bucketized cuckoo table for one thread, of any shape of the grid. It holds pairs and nothing else, so that
// measurements show the kernels. A free slot holds a key that cannot be in its bucket, as in `cuckoo`
// (indexes/cuckoo/bucket.h). All hashes of that key are odd, or all are even.
//
// An insert that finds all buckets of its key full searches for a path, breadth-first over kMostSpots buckets. A path
// is a list of keys that can each move to another of their buckets, the last one into a free slot. Without a path the
// table doubles in one step. If it is large and nearly empty, the hash functions do not tell the keys apart. Then it is
// rebuilt with other hash functions instead, up to eight times; after that it doubles.
#include <functional>
#include <memory>

#include "indexes/simdht/kernels.h"
#include "sync/attempt.h"

namespace latchlab::simdht {

class Table {
 public:
  static constexpr u32 kMostSpots = 512;

  virtual ~Table() = default;
  /// Inserts or updates a pair. Returns true if the key was absent (kInsert, kUpsert) or present (kUpdate). Key and
  /// value must fit into the shape's bits. Throws std::bad_alloc, with nothing changed. O(1) expected, except for
  /// doublings.
  virtual bool put(u64 key, u64 value, Put how) = 0;
  /// Erases the key. Returns true if it was present. O(1).
  virtual bool erase(u64 key) = 0;
  /// Visits every pair, in no particular order.
  virtual void for_each(const std::function<void(u64 key, u64 value)>& visit) const = 0;

  const View& view() const { return view_; }
  u64 size() const { return size_; }
  u64 slots() const { return slots_; }
  /// Returns the bytes of all buckets.
  u64 bytes() const { return bytes_; }
  /// Returns the number of rebuilds with other hash functions.
  u64 reseeds() const { return reseeds_; }

 protected:
  View view_;
  u64 size_ = 0, slots_ = 0, bytes_ = 0, reseeds_ = 0;
};

/// Makes a table of a shape of the grid, with at least `slots` slots. Throws std::bad_alloc.
std::unique_ptr<Table> make_table(const Shape& shape, u64 slots);

}  // namespace latchlab::simdht
