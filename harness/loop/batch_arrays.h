// The keys of a batch, as calls of the index take them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "harness/loop/request.h"
#include "src/base/batch_room.h"
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

/// The keys of some requests, at most kMostInCall.
template <class Raw>
class BatchKeys {
 public:
  BatchKeys(const Request* requests, u64 count) : keys_(count) {
    for (u64 i = 0; i < count; ++i) keys_.all()[i] = key_of<Raw>(requests[i]);
  }
  std::span<const Raw> all() const { return keys_.all(); }

 private:
  const BatchRoom<Raw, kMostInCall> keys_;
};

}  // namespace latchlab
