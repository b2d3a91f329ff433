#pragma once
// `make`, the same for every transaction: a block of the thread's pool that goes back to it if the attempt is
// abandoned.
#include <new>
#include <type_traits>
#include <utility>

#include "src/machine/machine.h"
#include "src/memory/attempt_blocks.h"

namespace latchlab {

/// Null when memory is out. A type whose size depends on its arguments says so by `N::bytes_for(args...)`.
template <class N, class M, class... Args>
[[nodiscard, gnu::always_inline]] inline N* make_in(AttemptBlocks<M>& blocks, Args&&... args) {
  static_assert(std::is_trivially_destructible_v<N>, "blocks are freed without being destroyed");
  std::size_t bytes = sizeof(N);
  if constexpr (requires { N::bytes_for(args...); }) bytes = N::bytes_for(args...);
  void* const block = blocks.make(bytes);
  if (block == nullptr) [[unlikely]]
    return nullptr;
  M::touch(block, bytes, Access::kWrite);
  return new (block) N(std::forward<Args>(args)...);
}

}  // namespace latchlab
