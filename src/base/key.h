#pragma once
// Keys as ordered, prefix-free sequences of bytes, on which a radix tree branches.
//
//   U64Key    eight bytes, most significant first, so that the order of bytes is the order of numbers
//   BytesKey  a string of any bytes. A terminator 0 follows the last byte, so that no key is a prefix of another.
//             Inside the string byte 0 is spelled 1 1 and byte 1 is spelled 1 2. So the terminator stays unique and the
//             order is that of memcmp. Text holds neither byte, so a text key is a view of the caller's string and
//             costs no copy.
//
// A key is a view that may be copied freely. The spelling or the leaf that it views must outlive it; a spelling in turn
// views the caller's string. `operator[](i)` is defined for i < size().
#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

/// The widths in bits of the numeric keys and of the values that an index has room for.
struct Widths {
  u32 key = 64, value = 64;
};

class U64Key {
 public:
  using Raw = u64;
  static constexpr std::string_view kName = "u64";
  static constexpr u32 kFixedSize = 8;  ///< bytes of every key; 0 if keys differ in length

  constexpr U64Key() = default;
  constexpr explicit U64Key(u64 value) : value_(value) {}
  static constexpr u32 size() { return kFixedSize; }
  u8 operator[](u32 i) const { return static_cast<u8>(value_ >> (56 - 8 * i)); }
  constexpr u64 raw() const { return value_; }

  /// The form of a caller's key for the duration of one operation.
  class Spelling {
   public:
    explicit Spelling(u64 raw) : key_(raw) {}
    U64Key key() const { return U64Key(key_); }

   private:
    u64 key_;
  };

  friend bool operator==(U64Key a, U64Key b) { return a.value_ == b.value_; }
  friend auto operator<=>(U64Key a, U64Key b) { return a.value_ <=> b.value_; }

  /// Returns the number of leading bytes that two different keys share, 0 to 7.
  friend u32 common_prefix(U64Key a, U64Key b) { return static_cast<u32>(__builtin_clzll(a.value_ ^ b.value_)) / 8; }

 private:
  u64 value_ = 0;
};

class BytesKey {
 public:
  using Raw = std::string_view;
  static constexpr std::string_view kName = "bytes";
  static constexpr u32 kFixedSize = 0;
  static constexpr std::size_t kLongest = (std::size_t{1} << 27) - 1;  ///< bytes of a raw key; spelled, at most 2^28

  constexpr BytesKey() = default;
  /// Views a key whose spelled bytes, without the terminator, lie at `data`.
  constexpr BytesKey(const u8* data, u32 bytes) : data_(data), spelled_(bytes) {}

  u32 size() const { return spelled_ + 1; }  // the terminator counts
  u8 operator[](u32 i) const { return i < spelled_ ? data_[i] : u8{0}; }
  const u8* spelled() const { return data_; }
  u32 spelled_size() const { return spelled_; }

  /// Appends the caller's form of the key to `out`; at most spelled_size() bytes.
  template <class Out>
  void append_raw(Out& out) const {
    for (u32 i = 0; i < spelled_; ++i) {
      const bool escape = data_[i] == 1;
      out.push_back(static_cast<char>(escape ? data_[++i] - 1 : data_[i]));
    }
  }

  friend bool operator==(const BytesKey& a, const BytesKey& b) {
    return a.spelled_ == b.spelled_ && (a.spelled_ == 0 || std::memcmp(a.data_, b.data_, a.spelled_) == 0);
  }
  /// Orders keys as their raw strings are ordered by unsigned bytes; spelling preserves that order.
  friend std::strong_ordering operator<=>(const BytesKey& a, const BytesKey& b) {
    const u32 shorter = std::min(a.spelled_, b.spelled_);
    const int order = shorter == 0 ? 0 : std::memcmp(a.data_, b.data_, shorter);
    return order != 0 ? order <=> 0 : a.spelled_ <=> b.spelled_;
  }
  /// Returns the number of leading bytes that two different keys share.
  friend u32 common_prefix(const BytesKey& a, const BytesKey& b) {
    const u32 shorter = std::min(a.spelled_, b.spelled_);
    return static_cast<u32>(std::mismatch(a.data_, a.data_ + shorter, b.data_).first - a.data_);
  }

  /// The form of a caller's string for the duration of one operation.
  class Spelling {
   public:
    /// Spells the string. Throws std::length_error if it has more than kLongest bytes.
    explicit Spelling(std::string_view raw)
        : data_(reinterpret_cast<const u8*>(raw.data())), size_(static_cast<u32>(raw.size())) {
      if (raw.size() > kLongest) [[unlikely]]
        throw std::length_error("a key has at most 128 MiB - 1 bytes");
      u8 least = 255;
      for (const char c : raw) least = std::min(least, static_cast<u8>(c));
      if (least <= 1) [[unlikely]]
        escape(raw);
    }
    BytesKey key() const { return BytesKey(data_, size_); }

   private:
    void escape(std::string_view raw) {
      escaped_ = std::make_unique<u8[]>(2 * raw.size());
      size_ = 0;
      for (const char c : raw) {
        const u8 byte = static_cast<u8>(c);
        if (byte <= 1) escaped_[size_++] = 1;
        escaped_[size_++] = byte <= 1 ? static_cast<u8>(byte + 1) : byte;
      }
      data_ = escaped_.get();
    }

    std::unique_ptr<u8[]> escaped_;  // null unless the string holds a byte 0 or 1
    const u8* data_;
    u32 size_;
  };

 private:
  const u8* data_ = nullptr;
  u32 spelled_ = 0;
};

}  // namespace latchlab
