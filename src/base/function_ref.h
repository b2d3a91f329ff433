#pragma once
// A reference to a function or a lambda that outlives the call: an argument of a virtual function, which cannot be a
// template. Two words, no allocation.
#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace latchlab {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<Result, F&, Arguments...>)
  FunctionRef(F&& f)  // NOLINT: converts implicitly, since callers pass lambdas
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Arguments... arguments) -> Result {
          auto& callee = *static_cast<std::remove_reference_t<F>*>(object);
          if constexpr (std::is_void_v<Result>) {
            std::invoke(callee, std::forward<Arguments>(arguments)...);
          } else {
            return std::invoke(callee, std::forward<Arguments>(arguments)...);
          }
        }) {}

  Result operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace latchlab
