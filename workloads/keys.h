#pragma once

// The keys of a run: a mapping from record numbers to keys. Nothing else in a workload knows what a key is.
//
//   dense       record n has the key n; with in_order=1 records are loaded in this order instead of a random one
//   stride:N    record n has the key n * N modulo 2^64. Such keys break weak hash functions (4096, 2^20, 2^32, 2^32 +
//               1, 2^64 - 1). There are records for half of the different keys
//   u64         record n has a key scattered over all 64 bits: stafford64, a bijection, of n plus an offset from the
//               seed. So keys are distinct without being remembered
//   u32         the same over 32 bits, with mix32: 2^31 records
//   u16         the same over 16 bits, with mix16: 2^15 records
//   affine      n * P + Q modulo 2^64, P odd and Q from the seed, as in Wiscer, which uses a prime P; in_order=1 as for
//               dense
//   clustered:N runs of N neighbours, a power of two (64); the runs are scattered over 64 bits
//   sosd:PATH   a file of SOSD (Marcus et al., VLDB 2020): a count, then that many u64 keys, little-endian
//   file:PATH   one key a line, byte strings. Record n is line pi(n), pi a permutation, selected by the seed, of the
//               distinct lines. So the first records are a sample of the file even if it is sorted
//   trace:PATH  the keys of a trace (trace.h), in its order
//   email:N, url:N   N lines (1M) that are made up (made_up.h), used like those of a file
//
// Every kind also has absent keys, which no record ever has, one for each record number. Lookups of absent keys must
// miss:
//
//   dense       n + 2^63 (a tree sees at its root that such keys are absent: misses of sparse keys cost more)
//   stride:N    the other half of the multiples
//   u64         stafford64 of n + 2^63 plus the offset: as scattered as the others, and distinct from them since it is
//               a bijection; u32: mix32 of n + 2^31 plus the offset; u16: mix16 of n + 2^15 plus the offset
//   affine      the keys of n + 2^63; clustered: the runs of n + 2^63
//   sosd        the next number that is not in the file
//   file        line n followed by a suffix with which no line of the file ends: a miss that shares the whole path of a
//               key
//
// A file is read at once. Its keys lie side by side, each followed by that suffix. So an absent key is a longer view of
// the same bytes:
//
//     | a p p l e ~ | b a t ~ | c a b ~ |        offset and length a line, in record order
//
// A line of a file ends with \n or with \r\n. Every other byte belongs to the key: spaces, NUL, bytes above 127. Lines
// of digits stay byte strings. Empty lines are skipped, and repeated lines are one record; both are counted.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/hash.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "workloads/bijection.h"
#include "workloads/op.h"
#include "workloads/streams.h"

namespace latchlab {

class KeySet {
 public:
  static constexpr u64 kNumbers = u64{1} << 63;          ///< number of records of the kinds that need no file
  static constexpr std::size_t kLongestKey = 64 * 1024;  ///< bytes of a line without its end

  struct Lines {
    u64 total = 0;      ///< lines in the file
    u64 empty = 0;      ///< lines skipped since they are empty
    u64 repeated = 0;   ///< lines equal to an earlier one
    u64 key_bytes = 0;  ///< bytes of all distinct keys together
    u64 longest = 0;    ///< bytes of the longest key
  };

  /// Reads the file, or makes the keys up. Throws InputError for an unknown word. Throws InputError with the file, and
  /// the line if there is one, for a file that
  ///   - is missing, unreadable or not a regular file,
  ///   - has no keys, another length than it says, or a line of more than kLongestKey bytes.
  /// Throws InputError before it begins if the keys surely take more than `memory` bytes. O(bytes of the file).
  KeySet(const Spec& spec, u64 seed, u64 memory = ~u64{0}) { make(spec, seed, memory); }

  KeySet(const KeySet&) = delete;
  KeySet& operator=(const KeySet&) = delete;

  /// Returns true if the keys are byte strings, false if they are integers.
  [[nodiscard]] bool bytes() const { return kind_ == Kind::kLines; }
  /// Returns true if the keys that a word of --keys names are byte strings.
  [[nodiscard]] static bool bytes(std::string_view name) {
    return name == "file" || name == "email" || name == "url" || name == "trace";
  }

  /// Returns the number of records that can have distinct keys. For a file these are its distinct lines or numbers. It
  /// is 2^31 for `u32`, 2^15 for `u16`, fewer than kNumbers for an even stride, else kNumbers.
  [[nodiscard]] u64 capacity() const {
    return bytes() ? entries_.size() : kind_ == Kind::kSosd ? sorted_.size() : numbers_;
  }

  /// Returns true if the keys are lines of a file, and the counts of those lines; zeros for the other kinds.
  [[nodiscard]] bool from_lines() const { return from_lines_; }
  [[nodiscard]] const Lines& lines() const { return lines_; }

  /// Returns true if records are loaded in the order of their numbers, false if in a random order.
  [[nodiscard]] bool in_order() const { return in_order_; }

  /// Sets the key of `op` to that of record n, for any n: numbers wrap around at capacity().
  void put(Op& op, u64 n) const {
    op.absent = false;
    if (bytes()) {
      const Entry& entry = entries_[wrapped(n)];
      op.key = entry.offset;
      op.key_bytes = entry.length;
    } else {
      op.key = kind_ == Kind::kSosd ? sorted_[place_of(n)] : number_key(n & (numbers_ - 1));
      op.key_bytes = 0;
    }
  }

  /// Sets the key of `op` to absent key number n, and marks `op` as absent.
  void put_absent(Op& op, u64 n) const {
    put(op, n);
    op.absent = true;
    if (bytes()) {
      op.key_bytes += suffix_bytes_;
    } else {
      op.key = kind_ == Kind::kSosd ? beside(place_of(n)) : number_key(n | numbers_);
    }
  }

  /// Sets the keys of the operations to those of the numbers: absent keys for operations marked `absent`. Does the same
  /// as put() and put_absent(), but faster.
  void put_all(std::span<Op> ops, std::span<const u64> numbers) const;
  /// Replaces each number by its key, or by its absent key. For integer keys only.
  void put_keys(std::span<u64> numbers, bool absent) const;

  /// Returns the key of an operation as an index takes it. Raw is std::string_view if bytes() is true, else u64. A view
  /// is valid while this KeySet lives.
  template <class Raw>
  [[nodiscard]] Raw raw(const Op& op) const {
    if constexpr (std::is_same_v<Raw, u64>) {
      return op.key;
    } else {
      return Raw(blob_.data() + op.key, op.key_bytes);
    }
  }

  /// Returns the key of record n.
  template <class Raw>
  [[nodiscard]] Raw key(u64 n) const {
    Op op;
    put(op, n);
    return raw<Raw>(op);
  }

  /// Returns absent key number n.
  template <class Raw>
  [[nodiscard]] Raw absent_key(u64 n) const {
    Op op;
    put_absent(op, n);
    return raw<Raw>(op);
  }

 private:
  enum class Kind : u8 { kStride, kSparse, kSparse32, kSparse16, kClustered, kSosd, kLines };

  struct Entry {
    u64 offset;
    u32 length;
  };

  [[nodiscard]] u64 number_key(u64 n) const {
    if (kind_ == Kind::kSparse32) return mix32(static_cast<u32>(n + offset_));
    if (kind_ == Kind::kSparse16) return mix16(static_cast<u16>(n + offset_));
    if (kind_ == Kind::kClustered) return place_(n >> run_bits_) << run_bits_ | (n & ((u64{1} << run_bits_) - 1));
    return kind_ == Kind::kStride ? n * stride_ + offset_ : stafford64(n + offset_);
  }
  [[nodiscard]] u64 wrapped(u64 n) const { return n < capacity() ? n : n % capacity(); }
  [[nodiscard]] u64 place_of(u64 n) const { return place_(wrapped(n)); }
  [[nodiscard]] u64 beside(u64 place) const;

  [[nodiscard]] bool by_arithmetic(auto loop) const;

  void make(const Spec& spec, u64 seed, u64 memory);
  void take_lines(std::string_view what, std::string_view text, u64 seed);
  void take_trace(const std::string& path);
  void lay_out(const std::vector<std::string_view>& keys);
  void take_sosd(const std::string& path, u64 seed, u64 memory);

  Kind kind_ = Kind::kSparse;
  u64 numbers_ = kNumbers;  // a power of two
  u64 stride_ = 1;
  u64 offset_ = 0;
  int run_bits_ = 0;                    // of kClustered
  Bijection place_{1, 0, kLineStream};  // kClustered: the place of a run; kSosd: the number of a record
  bool in_order_ = false;
  bool from_lines_ = false;
  u32 suffix_bytes_ = 0;
  std::string blob_;
  std::vector<Entry> entries_;
  std::vector<u64> sorted_;  // of kSosd
  Lines lines_;
};

}  // namespace latchlab
