#pragma once
// The calls of glibc that the library stands in front of.
//
// They are looked up by name and version: for a name alone, dlsym may return an older version, and pthread_cond_wait of
// GLIBC_2.2.5 takes a condition variable of another layout. Each call is looked up when it is first needed:
// constructors of other libraries lock mutexes before ours runs. A look-up that fails allocates memory, for which an
// allocator may lock a mutex; that call is another one, which the look-up does not need.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "src/base/types.h"

namespace latchlab::elide {

/// A call of glibc, which has one of these versions: the newest first.
template <class Function>
class RealCall {
 public:
  constexpr RealCall(const char* name, const char* newest, const char* older) : name_(name), versions_{newest, older} {}

  Function* get() {
    // Relaxed: all threads find the same, and the code that it points to was there before the threads.
    if (Function* known = function_.load(kRelaxed); known != nullptr) [[likely]]
      return known;
    return look_up();
  }

 private:
  [[gnu::noinline]] Function* look_up() {
    for (const char* version : versions_) {
      if (void* found = dlvsym(RTLD_NEXT, name_, version); found != nullptr) {
        auto* function = reinterpret_cast<Function*>(found);
        function_.store(function, kRelaxed);
        return function;
      }
    }
    std::abort();  // a program cannot call what its C library does not have
  }

  const char* name_;
  const char* versions_[2];
  std::atomic<Function*> function_{nullptr};
};

}  // namespace latchlab::elide
