#include "src/vector/reduce.h"

#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "src/vector/functions.h"
#include "src/vector/reference.h"

namespace latchlab::vectors {
namespace {

template <ElementType T>
using WideOf = std::conditional_t<std::floating_point<T>, f64, std::conditional_t<std::is_signed_v<T>, i64, u64>>;

/// The type in which a sum or a count of T is taken: it has no sign, so that integers wrap.
template <class T>
using SumOf = std::conditional_t<std::floating_point<T>, f64, u64>;

/// A register of numbers, which the compiler takes apart if the processor's are smaller. It is never passed by value.
template <class T, std::size_t bytes>
struct RegisterOf {
  typedef T Type __attribute__((vector_size(bytes)));
};
template <class T, std::size_t bytes>
using Register = typename RegisterOf<T, bytes>::Type;

constexpr std::size_t kChains = 4;  // registers that are added to in turn, since an addition takes several cycles

// A fold says how two numbers become one, and how an element becomes a number. Both serve numbers and registers.

template <ElementType T>
struct Sum {
  using Number = SumOf<T>;
  static constexpr Number kStart = 0;
  static void join(auto& all, const auto& next) { all = all + next; }
  static void take(Number& all, T element) { all += static_cast<Number>(element); }
  template <class Numbers, class Elements>
  static void take_all(Numbers& all, const Elements& elements) {
    all = all + __builtin_convertvector(elements, Numbers);
  }
};

template <ElementType T>
struct Count {
  using Number = u64;
  static constexpr Number kStart = 0;
  static void join(auto& all, const auto& next) { all = all + next; }
  static void take(Number& all, T element) { all += element != T{} ? 1 : 0; }
  template <class Numbers, class Elements>
  static void take_all(Numbers& all, const Elements& elements) {
    all = all - __builtin_convertvector(elements != Elements{}, Numbers);  // a comparison gives 0 or -1
  }
};

/// A fold in the type of the elements themselves.
template <ElementType T, class Derived>
struct Same {
  using Number = T;
  static void take(T& all, T element) { Derived::join(all, element); }
  static void take_all(auto& all, const auto& elements) { Derived::join(all, elements); }
};
template <ElementType T>
struct Least : Same<T, Least<T>> {
  static constexpr T kStart =
      std::floating_point<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  static void join(auto& all, const auto& next) { all = next < all ? next : all; }
};
template <ElementType T>
struct Greatest : Same<T, Greatest<T>> {
  static constexpr T kStart =
      std::floating_point<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  static void join(auto& all, const auto& next) { all = next > all ? next : all; }
};
template <std::integral T>
struct AllBits : Same<T, AllBits<T>> {
  static constexpr T kStart = static_cast<T>(~T{});
  static void join(auto& all, const auto& next) { all = all & next; }
};
template <std::integral T>
struct AnyBits : Same<T, AnyBits<T>> {
  static constexpr T kStart = 0;
  static void join(auto& all, const auto& next) { all = all | next; }
};

/// Folds the elements by registers of so many bytes: a register of numbers takes as many elements as it has numbers.
template <class Fold, ElementType T, std::size_t register_bytes>
void fold_registers(const std::byte* in, std::size_t count, typename Fold::Number& result) {
  using N = typename Fold::Number;
  constexpr std::size_t kLanes = register_bytes / std::max(sizeof(N), sizeof(T));
  using Numbers = Register<N, kLanes * sizeof(N)>;
  using Elements = Register<T, kLanes * sizeof(T)>;
  std::array<N, kLanes> start;
  start.fill(Fold::kStart);
  Numbers chains[kChains];
  for (Numbers& chain : chains) std::memcpy(&chain, start.data(), sizeof chain);
  std::size_t i = 0;
  for (; i + kChains * kLanes <= count; i += kChains * kLanes) {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      Elements elements;
      std::memcpy(&elements, in + (i + chain * kLanes) * sizeof(T), sizeof elements);
      Fold::take_all(chains[chain], elements);
    }
  }
  for (std::size_t chain = 1; chain < kChains; ++chain) Fold::join(chains[0], chains[chain]);
  std::array<N, kLanes> lanes;
  std::memcpy(lanes.data(), chains, sizeof lanes);
  N all = Fold::kStart;
  for (const N& lane : lanes) Fold::join(all, lane);
  for (; i < count; ++i) Fold::take(all, load<T>(in + i * sizeof(T)));
  result = all;
}

using ReduceLoop = Number (*)(const std::byte* in, std::size_t count);

template <template <class> class Fold, ElementType T, Kernel kernel>
Number reduce_loop(const std::byte* in, std::size_t count) {
  using N = typename Fold<T>::Number;
  using Wide = std::conditional_t<std::same_as<Fold<T>, Count<T>>, u64, WideOf<T>>;
  N result = Fold<T>::kStart;
  if constexpr (kernel == Kernel::kScalar) {
    reference::for_each<T>(in, count, [&](std::size_t, T element) { Fold<T>::take(result, element); });
  } else {
    run_in<kernel>([in, count, &result] { fold_registers<Fold<T>, T, kRegisterBytes<kernel>>(in, count, result); });
  }
  return Number(static_cast<Wide>(result));
}

using ReduceLoops = std::array<std::array<ReduceLoop, kElements>, kKernels.size()>;

template <template <class> class Fold>
constexpr ReduceLoops reduce_loops() {
  ReduceLoops loops{};
  const auto add = [&]<Kernel kernel, class... T>(TypeList<T...>) {
    ((loops[static_cast<std::size_t>(kernel)][static_cast<std::size_t>(kElementOf<T>)] = reduce_loop<Fold, T, kernel>),
     ...);
  };
  const auto add_kernels = [&]<class... T>(TypeList<T...> types) {
    add.template operator()<Kernel::kScalar>(types);
    add.template operator()<Kernel::kSse42>(types);
    add.template operator()<Kernel::kAvx2>(types);
    add.template operator()<Kernel::kAvx512>(types);
  };
  add_kernels(TypeList<i32, u32, i64, u64>());
  if constexpr (requires { Fold<f32>::kStart; }) add_kernels(TypeList<f32, f64>());
  return loops;
}

constexpr std::array<ReduceLoops, 6> kReductions{reduce_loops<Sum>(),      reduce_loops<Least>(),
                                                 reduce_loops<Greatest>(), reduce_loops<AllBits>(),
                                                 reduce_loops<AnyBits>(),  reduce_loops<Count>()};

}  // namespace

Reduced reduce(Element element, Reduction reduction, Bytes bytes, Kernel kernel) {
  const ReduceLoop loop = kReductions[static_cast<std::size_t>(reduction)][static_cast<std::size_t>(kernel)]
                                     [static_cast<std::size_t>(element)];
  if (loop == nullptr) return {Status::kUnsuited, {}};
  if (bytes.size() % size_of(element) != 0) return {Status::kRagged, {}};
  return {Status::kDone, loop(bytes.data(), bytes.size() / size_of(element))};
}

}  // namespace latchlab::vectors
