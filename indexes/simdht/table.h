#pragma once
// A bucketized cuckoo table for one thread, of any shape of the grid: pairs and nothing else, so that what is looked at
// is the kernels. A free slot holds a key that cannot be in its bucket, as in `cuckoo` (indexes/cuckoo/bucket.h): one
// of which all hashes are odd, or all are even.
//
// Who finds all buckets of a key full looks for a path, breadth first over kMostSpots buckets: keys that can each move
// to another of their buckets, the last into a free slot. Without one the table doubles, all at once; or, where it is
// large and nearly empty, which only happens to keys that the hash functions do not tell apart, it is made again with
// other ones. That ends after eight times: from then on it doubles.
#include <functional>
#include <memory>

#include "indexes/simdht/kernels.h"
#include "sync/attempt.h"

namespace latchlab::simdht {

class Table {
 public:
  static constexpr u32 kMostSpots = 512;

  virtual ~Table() = default;
  /// True if the key is new (kInsert, kUpsert) or was there (kUpdate). Keys and values have no bits that the shape has
  /// no room for. Throws std::bad_alloc, with nothing changed. O(1) expected, but for doublings.
  virtual bool put(u64 key, u64 value, Put how) = 0;
  /// Whether it was there. O(1).
  virtual bool erase(u64 key) = 0;
  /// Every pair, in no order.
  virtual void for_each(const std::function<void(u64 key, u64 value)>& visit) const = 0;

  const View& view() const { return view_; }
  u64 size() const { return size_; }
  u64 slots() const { return slots_; }
  /// Of all buckets.
  u64 bytes() const { return bytes_; }
  /// How often it was made again with other hash functions.
  u64 reseeds() const { return reseeds_; }

 protected:
  View view_;
  u64 size_ = 0, slots_ = 0, bytes_ = 0, reseeds_ = 0;
};

/// Of a shape of the grid, with at least so many slots. Throws std::bad_alloc.
std::unique_ptr<Table> make_table(const Shape& shape, u64 slots);

}  // namespace latchlab::simdht
