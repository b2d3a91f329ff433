#pragma once
// The table of the functions of updates, and the loops that it points to: one for each function, type of elements,
// kernel and shape of operands. update_table.cc makes the one of this build, with the optimizer's vectorizer on;
// without it the loops are as right, and slower.
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "src/base/types.h"
#include "src/vector/element.h"
#include "src/vector/functions.h"
#include "src/vector/kernel.h"
#include "src/vector/reference.h"
#include "src/vector/update.h"

namespace latchlab::vectors {

/// One call of a loop.
struct UpdateCall {
  const std::byte* in;
  std::byte* out;  // in, or no part of it
  std::size_t count;
  const std::byte* operands;
};
using UpdateLoop = void (*)(const UpdateCall&);

/// A function of the table.
struct UpdateEntry {
  std::string_view name;
  std::size_t operands;  // 1 or 2
  /// By shape of the operands, kernel and element; null for elements that the function does not take.
  std::array<std::array<std::array<UpdateLoop, kElements>, kKernels.size()>, 2> loops{};

  constexpr bool takes(Element element) const { return loops[0][0][static_cast<std::size_t>(element)] != nullptr; }
};

/// Returns kDone if the function takes such elements, and so many bytes of operands for all.
[[nodiscard]] Status check(const UpdateEntry& entry, Element element, Operands shape, std::size_t operand_bytes);
/// Returns kDone if it also suits a vector of `bytes` bytes.
[[nodiscard]] Status check(const UpdateEntry& entry, Element element, Operands shape, std::size_t operand_bytes,
                           std::size_t bytes);
/// Does what apply(Update) does, for a function of any table.
[[nodiscard]] Status apply(const UpdateEntry& entry, Element element, Operands shape, Bytes operands, Bytes old,
                           MutableBytes out, Kernel kernel);

/// Returns the functions of this build: those that every build has, then its own.
std::span<const UpdateEntry> update_table();

/// An element at any address, which the vectorizer takes.
template <ElementType T>
struct [[gnu::packed, gnu::may_alias]] Loose {
  T value;
};

template <class F, ElementType T>
T applied(T element, T first, [[maybe_unused]] T second) {
  if constexpr (TakesTwo<F, T>) {
    return F::apply(element, first, second);
  } else {
    return F::apply(element, first);
  }
}

/// The loop that the compiler vectorizes. It takes the call by value: no store can change it. In place there is one
/// pointer, so that the compiler need not ask whether `in` and `out` overlap.
template <class F, ElementType T, Operands shape, bool kInPlace>
[[gnu::always_inline]] inline void update_elements(const UpdateCall call) {
  const Loose<T>* __restrict const in = reinterpret_cast<const Loose<T>*>(call.in);
  Loose<T>* __restrict const out = reinterpret_cast<Loose<T>*>(call.out);
  const std::size_t count = call.count;
  if constexpr (shape == Operands::kForAll) {
    const T first = load<T>(call.operands);
    const T second = TakesTwo<F, T> ? load<T>(call.operands + sizeof(T)) : T{};
    for (std::size_t i = 0; i < count; ++i) {
      out[i].value = applied<F, T>(kInPlace ? out[i].value : in[i].value, first, second);
    }
  } else {
    const Loose<T>* __restrict const first = reinterpret_cast<const Loose<T>*>(call.operands);
    const Loose<T>* const second = TakesTwo<F, T> ? first + count : first;
    for (std::size_t i = 0; i < count; ++i) {
      out[i].value = applied<F, T>(kInPlace ? out[i].value : in[i].value, first[i].value, second[i].value);
    }
  }
}

template <class F, ElementType T, Operands shape, Kernel kernel>
void update_loop(const UpdateCall& call) {
  if constexpr (kernel == Kernel::kScalar) {
    const std::size_t step = shape == Operands::kForEach ? sizeof(T) : 0;
    const std::size_t further = shape == Operands::kForEach ? call.count * sizeof(T) : sizeof(T);  // the second ones
    reference::transform<T>(call.in, call.out, call.count, [&](std::size_t i, T element) {
      const std::byte* const at = call.operands + i * step;
      return applied<F, T>(element, load<T>(at), TakesTwo<F, T> ? load<T>(at + further) : T{});
    });
  } else if (call.in == call.out) {
    run_in<kernel>([call] { update_elements<F, T, shape, true>(call); });
  } else {
    run_in<kernel>([call] { update_elements<F, T, shape, false>(call); });
  }
}

/// Returns the row of the table for a function.
template <Function F>
constexpr UpdateEntry update_entry() {
  UpdateEntry entry{.name = F::kName, .operands = operands_of<F>()};
  const auto add = [&]<Operands shape, Kernel kernel, class... T>(TypeList<T...>) {
    auto& loops = entry.loops[static_cast<std::size_t>(shape)][static_cast<std::size_t>(kernel)];
    const auto add_one = [&]<class U>(std::type_identity<U>) {
      if constexpr (Takes<F, U>) loops[static_cast<std::size_t>(kElementOf<U>)] = update_loop<F, U, shape, kernel>;
    };
    (add_one(std::type_identity<T>()), ...);
  };
  const auto add_kernels = [&]<Operands shape>() {
    using All = TypeList<i32, u32, i64, u64, f32, f64>;
    add.template operator()<shape, Kernel::kScalar>(All());
    add.template operator()<shape, Kernel::kSse42>(All());
    add.template operator()<shape, Kernel::kAvx2>(All());
    add.template operator()<shape, Kernel::kAvx512>(All());
  };
  add_kernels.template operator()<Operands::kForAll>();
  add_kernels.template operator()<Operands::kForEach>();
  return entry;
}

/// Returns the table of these functions, in their order.
template <Function... A, Function... B>
constexpr std::array<UpdateEntry, sizeof...(A) + sizeof...(B)> table_of(TypeList<A...>, TypeList<B...> = {}) {
  return {update_entry<A>()..., update_entry<B>()...};
}

}  // namespace latchlab::vectors
