#pragma once
// What one step of a scan collects: pairs in order, copied out of the index, so that the caller sees them only after the
// transaction has confirmed them. Its memory is taken before the scan begins: a body may fill it inside a hardware
// transaction.
#include <array>
#include <vector>

#include "src/base/key.h"
#include "src/base/types.h"

namespace latchlab::art {

template <class Key>
class Batch;

template <>
class Batch<U64Key> {
 public:
  static constexpr u32 kRoom = 64;

  void clear(std::size_t wanted) {
    size_ = 0;
    wanted_ = wanted < kRoom ? static_cast<u32>(wanted) : kRoom;
  }
  bool empty() const { return size_ == 0; }
  u32 size() const { return size_; }
  bool full() const { return size_ >= wanted_; }
  bool too_small() const { return false; }
  void enlarge() {}

  /// Inserts among the last pairs: those of one leaf come in any order. False if there is no room.
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
  U64Key last() const { return U64Key(pair_[size_ - 1].key); }

 private:
  struct Pair {
    u64 key, value;
  };
  u32 size_ = 0, wanted_ = kRoom;
  std::array<Pair, kRoom + 4> pair_;   // the leaf in which it becomes full is taken whole
};

template <>
class Batch<BytesKey> {
 public:
  static constexpr u32 kRoom = 64;

  Batch() : bytes_(kFirstBytes) {}
  void clear(std::size_t wanted) {
    size_ = used_ = 0;
    too_small_ = false;
    wanted_ = wanted < kRoom ? static_cast<u32>(wanted) : kRoom;
  }
  bool empty() const { return size_ == 0; }
  u32 size() const { return size_; }
  bool full() const { return size_ >= wanted_ || size_ == kRoom; }
  /// Not even the first key fitted: enlarge() and run the step again.
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
      raw.clear();
      key(i).append_raw(raw);
      f(std::string_view(raw), pair_[i].value);
    }
  }
  BytesKey last() const { return key(size_ - 1); }

 private:
  static constexpr u32 kFirstBytes = 4096;
  struct Pair {
    u32 at, bytes;
    u64 value;
  };
  BytesKey key(u32 i) const { return BytesKey(bytes_.data() + pair_[i].at, pair_[i].bytes); }

  u32 size_ = 0, used_ = 0, wanted_ = kRoom;
  bool too_small_ = false;
  std::vector<u8> bytes_;
  std::array<Pair, kRoom> pair_;
};

}  // namespace latchlab::art
