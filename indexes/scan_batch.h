#pragma once
// The pairs that one step of a scan collects, in order. They are copied out of the index, so that the caller sees them
// only after the transaction has confirmed them. Memory is taken before the scan begins, since a body may fill the
// batch inside a hardware transaction. The batch's size bounds what one transaction reads.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/key.h"
#include "src/base/types.h"

namespace latchlab {

template <class Key>
class ScanBatch;

template <>
class ScanBatch<U64Key> {
 public:
  static constexpr u32 kRoom = 64;

  /// Makes a batch for a scan of `limit` pairs.
  explicit ScanBatch(std::size_t) {}
  void clear(std::size_t wanted) {
    size_ = 0;
    wanted_ = wanted < kRoom ? static_cast<u32>(wanted) : kRoom;
  }
  bool empty() const { return size_ == 0; }
  u32 size() const { return size_; }
  bool full() const { return size_ >= wanted_; }
  bool too_small() const { return false; }
  void enlarge() {}

  /// Inserts the pair among those from `leaf_begin` on, since the pairs of one leaf come in any order. Returns false if
  /// there is no room.
  bool push(U64Key key, u64 value, u32 leaf_begin) {
    if (size_ == pair_.size()) return false;
    u32 at = size_++;
    for (; at > leaf_begin && pair_[at - 1].key > key.raw(); --at) pair_[at] = pair_[at - 1];
    pair_[at] = {key.raw(), value};
    return true;
  }
  template <class F>
  void for_each(F&& f) const {
    for (u32 i = 0; i < size_; ++i) f(pair_[i].key, pair_[i].value);
  }
  /// Forgets all but the first `size` pairs.
  void truncate(u32 size) { size_ = size; }
  /// Returns the last key, valid until the next call of keep_last(); clear() leaves it valid.
  U64Key keep_last() { return U64Key(pair_[size_ - 1].key); }

 private:
  struct Pair {
    u64 key, value;
  };
  u32 size_ = 0, wanted_ = kRoom;
  std::array<Pair, kRoom + 4> pair_;  // a scan takes all pairs of the leaf that fills the batch
};

template <>
class ScanBatch<BytesKey> {
 public:
  static constexpr u32 kRoom = 64;

  /// Makes a batch for a scan of `limit` pairs.
  explicit ScanBatch(std::size_t limit) : bytes_(kBytesEach * std::min<std::size_t>(limit, kRoom)) {}
  void clear(std::size_t wanted) {
    size_ = used_ = 0;
    too_small_ = false;
    wanted_ = wanted < kRoom ? static_cast<u32>(wanted) : kRoom;
  }
  bool empty() const { return size_ == 0; }
  u32 size() const { return size_; }
  bool full() const { return size_ >= wanted_ || size_ == kRoom; }
  /// Returns true if not even the first key fitted. The caller must call enlarge() and run the step again.
  bool too_small() const { return too_small_; }
  void enlarge() { bytes_.resize(2 * bytes_.size()); }

  bool push(const BytesKey& key, u64 value, u32) {
    if (key.spelled_size() > bytes_.size() - used_) {
      too_small_ = size_ == 0;
      return false;
    }
    if (key.spelled_size() != 0) std::memcpy(bytes_.data() + used_, key.spelled(), key.spelled_size());
    pair_[size_++] = {used_, key.spelled_size(), value};
    used_ += key.spelled_size();
    return true;
  }
  template <class F>
  void for_each(F&& f) const {
    std::string raw;
    for (u32 i = 0; i < size_; ++i) {
      const BytesKey spelled = key(i);
      const auto* const text = reinterpret_cast<const char*>(spelled.spelled());
      if (std::memchr(text, kEscape, spelled.spelled_size()) == nullptr) [[likely]] {
        f(std::string_view(text, spelled.spelled_size()), pair_[i].value);
        continue;
      }
      raw.clear();
      spelled.append_raw(raw);
      f(std::string_view(raw), pair_[i].value);
    }
  }
  /// Forgets all but the first `size` pairs.
  void truncate(u32 size) {
    size_ = size;
    used_ = size == 0 ? 0 : pair_[size - 1].at + pair_[size - 1].bytes;
  }
  /// Returns the last key, valid until the next call of keep_last(); clear() leaves it valid.
  BytesKey keep_last() {
    const BytesKey last = key(size_ - 1);
    last_.assign(last.spelled(), last.spelled() + last.spelled_size());
    return BytesKey(last_.data(), last.spelled_size());
  }

 private:
  static constexpr u32 kBytesEach = 64;  // initial bytes for a pair
  static constexpr int kEscape = 1;      // text without this byte is spelled as it is
  struct Pair {
    u32 at, bytes;
    u64 value;
  };
  BytesKey key(u32 i) const { return BytesKey(bytes_.data() + pair_[i].at, pair_[i].bytes); }

  u32 size_ = 0, used_ = 0, wanted_ = kRoom;
  bool too_small_ = false;
  std::vector<u8> bytes_, last_;
  std::array<Pair, kRoom> pair_;
};

}  // namespace latchlab
