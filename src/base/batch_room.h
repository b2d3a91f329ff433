// Arrays of a batch on the stack, with room for the largest batch.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "src/base/batching.h"

namespace latchlab {

/// `count` objects with default values, of at most `most`. Takes O(count) time, while an array would initialize all of
/// its elements.
template <class T, std::size_t most = kMostInAttempt>
class BatchRoom {
 public:
  explicit BatchRoom(std::size_t count) : all_(reinterpret_cast<T*>(room_), count) {
    std::uninitialized_default_construct(all_.begin(), all_.end());
  }
  BatchRoom(const BatchRoom&) = delete;
  BatchRoom& operator=(const BatchRoom&) = delete;
  std::span<T> all() const { return all_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  alignas(T) std::byte room_[most * sizeof(T)];
  const std::span<T> all_;
};

}  // namespace latchlab
