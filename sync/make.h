#pragma once
// The verbs `make` and `retire` of every transaction. `make` takes a block from the thread's pool; abandoning the
// attempt returns it. The type of the node says from which memory: those with kIsLeaf may lie in another than the rest
// (MemoryConfig::far_leaves).
#include <new>
#include <type_traits>
#include <utility>

#include "src/base/type_name.h"
#include "src/machine/machine.h"
#include "src/memory/attempt_blocks.h"

namespace latchlab {

/// True for the nodes at the ends of a tree, which another memory may hold: N::kIsLeaf.
template <class N>
inline constexpr bool kIsLeaf = false;
template <class N>
  requires requires { N::kIsLeaf; }
inline constexpr bool kIsLeaf<N> = N::kIsLeaf;

/// Makes an N, or returns null when memory is out. A type whose size depends on its arguments has
/// `N::bytes_for(args...)`.
template <class N, class M, class... Args>
[[nodiscard, gnu::always_inline]] inline N* make_in(AttemptBlocks<M>& blocks, Args&&... args) {
  static_assert(std::is_trivially_destructible_v<N>, "blocks are freed without being destroyed");
  std::size_t bytes = sizeof(N);
  if constexpr (requires { N::bytes_for(args...); }) bytes = N::bytes_for(args...);
  void* const block = blocks.template make<kIsLeaf<N>>(bytes);
  if (block == nullptr) [[unlikely]]
    return nullptr;
  M::touch(block, bytes, Access::kWrite);
  M::name(block, bytes, type_name<N>());
  return new (block) N(std::forward<Args>(args)...);
}

}  // namespace latchlab
