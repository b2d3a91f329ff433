#pragma once

// The keys of a run: a mapping from record numbers to keys. Nothing else in a workload knows what a key is.
//
//   dense       record n has the key n
//   stride:N    record n has the key n * N modulo 2^64: what breaks weak hashing (4096, 2^20, 2^32, 2^32 + 1, 2^64 - 1). As many
//               records as half of the different keys that there are
//   u64         record n has a key scattered over all 64 bits: mix64, a bijection, of n plus an offset from
//               the seed, so keys are distinct without being remembered
//   u32         the same over 32 bits, with mix32: 2^31 records
//   u16         and over 16 bits, with mix16: 2^15 records
//   file:PATH   one key a line, byte strings; record n is line number pi(n), pi a permutation of the
//               distinct lines that the seed names, so that the first records are a sample of the file even
//               where it is sorted
//
// Every kind also has keys that no record ever has, one for each record number, for lookups that must miss:
//
//   dense       n + 2^63 (a tree sees at its root that such keys are absent: misses of sparse keys cost more)
//   stride:N    the multiples from half of them on
//   u64         mix64 of n + 2^63 plus the offset: as scattered as the others, and distinct from them since
//               mix64 is a bijection; u32: mix32 of n + 2^31 plus the offset; u16: mix16 of n + 2^15 plus the offset
//   file        line n followed by a suffix with which no line of the file ends: a miss that shares the
//               whole path of a key
//
// A file is read at once and its keys lie side by side, each followed by that suffix, so an absent key is a
// longer view of the same bytes:
//
//     | a p p l e ~ | b a t ~ | c a b ~ |        offset and length a line, in record order
//
// A file's line ends with \n or with \r\n. Every other byte belongs to the key: spaces, NUL, bytes above
// 127. Lines of digits stay byte strings. Empty lines are skipped, repeated lines are one record; both are
// counted.

#include <string>
#include <string_view>
#include <vector>

#include "src/base/hash.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "workloads/op.h"

namespace latchlab {

class KeySet {
 public:
  static constexpr u64 kNumbers = u64{1} << 63;          ///< record numbers of the kinds that need no file
  static constexpr std::size_t kLongestKey = 64 * 1024;  ///< bytes of a line without its end

  struct Lines {
    u64 total = 0;        ///< lines in the file
    u64 empty = 0;        ///< of them skipped because nothing is on them
    u64 repeated = 0;     ///< of them equal to an earlier one
    u64 key_bytes = 0;    ///< of all distinct keys together
    u64 longest = 0;      ///< bytes of the longest key
  };

  /// `dense`, `stride:N`, `u64`, `u32`, `u16` or `file:PATH`. Reads the file. Throws InputError with the file, and the line where
  /// there is one, for a word that is unknown and a file that is missing, unreadable, not a regular file,
  /// without keys, or has a line of more than kLongestKey bytes. O(bytes of the file).
  KeySet(const Spec& spec, u64 seed);

  KeySet(const KeySet&) = delete;
  KeySet& operator=(const KeySet&) = delete;

  /// Are the keys byte strings (true) or integers?
  [[nodiscard]] bool bytes() const { return kind_ == Kind::kFile; }

  /// How many records can have distinct keys: the distinct lines of a file, 2^31 of `u32`, 2^15 of `u16`, fewer than
  /// kNumbers of an even stride, else kNumbers.
  [[nodiscard]] u64 capacity() const { return bytes() ? entries_.size() : numbers_; }

  /// What the file held; zeroes for the other kinds.
  [[nodiscard]] const Lines& lines() const { return lines_; }

  /// Sets the key of `op` to that of record n (any n: the numbers go round at capacity()).
  void put(Op& op, u64 n) const {
    op.absent = false;
    if (bytes()) {
      const Entry& entry = entries_[wrapped(n)];
      op.key = entry.offset;
      op.key_bytes = entry.length;
    } else {
      op.key = number_key(n & (numbers_ - 1));
      op.key_bytes = 0;
    }
  }

  /// Sets the key of `op` to the absent key number n, and says so.
  void put_absent(Op& op, u64 n) const {
    put(op, n);
    op.absent = true;
    if (bytes()) {
      op.key_bytes += suffix_bytes_;
    } else {
      op.key = number_key(n | numbers_);
    }
  }

  /// The key of an operation as an index takes it: Raw is u64 or std::string_view, whichever bytes() says. A
  /// view is valid while this KeySet lives.
  template <class Raw>
  [[nodiscard]] Raw raw(const Op& op) const {
    if constexpr (std::is_same_v<Raw, u64>) {
      return op.key;
    } else {
      return Raw(blob_.data() + op.key, op.key_bytes);
    }
  }

  /// The key of record n.
  template <class Raw>
  [[nodiscard]] Raw key(u64 n) const {
    Op op;
    put(op, n);
    return raw<Raw>(op);
  }

  /// The absent key number n.
  template <class Raw>
  [[nodiscard]] Raw absent_key(u64 n) const {
    Op op;
    put_absent(op, n);
    return raw<Raw>(op);
  }

 private:
  enum class Kind : u8 { kStride, kSparse, kSparse32, kSparse16, kFile };

  struct Entry {
    u64 offset;
    u32 length;
  };

  [[nodiscard]] u64 number_key(u64 n) const {
    if (kind_ == Kind::kSparse32) return mix32(static_cast<u32>(n + offset_));
    if (kind_ == Kind::kSparse16) return mix16(static_cast<u16>(n + offset_));
    return kind_ == Kind::kStride ? n * stride_ : mix64(n + offset_);
  }
  [[nodiscard]] u64 wrapped(u64 n) const { return n < entries_.size() ? n : n % entries_.size(); }

  void load(const std::string& path, u64 seed);

  Kind kind_;
  u64 numbers_ = kNumbers;   // a power of two
  u64 stride_ = 1;
  u64 offset_ = 0;
  u32 suffix_bytes_ = 0;
  std::string blob_;
  std::vector<Entry> entries_;
  Lines lines_;
};

}  // namespace latchlab
