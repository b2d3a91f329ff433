// The arrays of a batch, as calls of the index take them. They are on the stack, with room for the largest batch.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "harness/loop/request.h"
#include "src/base/batching.h"
#include "src/base/types.h"

namespace latchlab {

template <class Raw>
Raw key_of(const Request& request) {
  if constexpr (std::is_same_v<Raw, u64>) {
    return request.number;
  } else {
    return Raw(request.bytes, request.length);
  }
}

/// The keys of some requests, at most kMostInAttempt.
template <class Raw>
class BatchKeys {
 public:
  BatchKeys(const Request* requests, u64 count) : count_(count) {
    for (u64 i = 0; i < count; ++i) keys_[i] = key_of<Raw>(requests[i]);
  }
  std::span<const Raw> all() const { return {keys_.data(), count_}; }

 private:
  const u64 count_;
  std::array<Raw, kMostInAttempt> keys_;
};

/// The answers to some requests, at most kMostInAttempt: default values until a call of the index writes them.
template <class Answer>
class BatchAnswers {
 public:
  explicit BatchAnswers(u64 count) : all_(reinterpret_cast<Answer*>(room_), count) {
    std::uninitialized_default_construct(all_.begin(), all_.end());
  }
  BatchAnswers(const BatchAnswers&) = delete;
  BatchAnswers& operator=(const BatchAnswers&) = delete;
  std::span<Answer> all() const { return all_; }

 private:
  static_assert(std::is_trivially_destructible_v<Answer>);
  alignas(Answer) std::byte room_[kMostInAttempt * sizeof(Answer)];  // an array would initialize all of them
  const std::span<Answer> all_;
};

}  // namespace latchlab
