#pragma once
// The pairs that one step of a walk collects (Synchronized::walk_on). They are copies, so that the caller sees them
// after the attempt. A body fills them inside an attempt, which cannot allocate. So it says when there is too little
// room even for one bucket. The caller then enlarges the room and tries again.
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/key.h"
#include "src/base/types.h"

namespace latchlab {

template <class Key>
class WalkedPairs {
  static constexpr bool kNumbers = Key::kFixedSize != 0;
  static constexpr u32 kFirstRoom = 128;  // pairs
  static constexpr u32 kBytesEach = 32;   // first room for the bytes of a key

 public:
  /// Throws std::bad_alloc.
  WalkedPairs() : pair_(kFirstRoom), bytes_(kNumbers ? 0 : kFirstRoom * kBytesEach) { raw_.reserve(bytes_.size()); }

  u32 size() const { return size_; }
  void clear() {
    size_ = used_ = 0;
    lacks_room_ = false;
  }
  /// Appends a copy of the pair. Returns false if there is no room.
  [[nodiscard]] bool push(const Key& key, u64 value) {
    if constexpr (kNumbers) {
      if (size_ == pair_.size()) return lack();
      pair_[size_++] = {key.raw(), value};
    } else {
      const u32 bytes = key.spelled_size();
      if (size_ == pair_.size() || bytes > bytes_.size() - used_) return lack();
      if (bytes != 0) std::memcpy(bytes_.data() + used_, key.spelled(), bytes);
      used_ += bytes;
      pair_[size_++] = {used_, value};
    }
    return true;
  }
  /// Returns true if the last push found no room.
  bool lacks_room() const { return lacks_room_; }
  /// Forgets all but the first `size` pairs. If some are left, no room is lacking.
  void cut(u32 size) {
    size_ = size;
    lacks_room_ = lacks_room_ && size == 0;
    if constexpr (!kNumbers) used_ = size == 0 ? 0 : static_cast<u32>(pair_[size - 1].first);
  }
  /// Doubles the room. Keeps the pairs. Throws std::bad_alloc.
  void enlarge() {
    pair_.resize(2 * pair_.size());
    bytes_.resize(2 * bytes_.size());
    raw_.reserve(bytes_.size());
    lacks_room_ = false;
  }

  /// Calls visit(key, value) for each pair. The key is valid during the call. Takes no memory.
  template <class Visit>
  void for_each(Visit&& visit) {
    u32 from = 0;
    for (u32 i = 0; i < size_; ++i) {
      const auto [key, value] = pair_[i];
      if constexpr (kNumbers) {
        visit(key, value);
      } else {
        const u32 to = static_cast<u32>(key);
        raw_.clear();
        Key(bytes_.data() + from, to - from).append_raw(raw_);
        from = to;
        visit(std::string_view(raw_), value);
      }
    }
  }

 private:
  bool lack() {
    lacks_room_ = true;
    return false;
  }

  u32 size_ = 0, used_ = 0;
  bool lacks_room_ = false;
  std::vector<std::pair<u64, u64>> pair_;  // the key, or the end of its bytes; and the value
  std::vector<u8> bytes_;                  // the spelled keys
  std::string raw_;                        // the key that is visited; has room for any of them
};

}  // namespace latchlab
