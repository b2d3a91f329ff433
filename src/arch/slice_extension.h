#pragma once
// The kernel's time slice extension (Linux 7.0, CONFIG_RSEQ_SLICE_EXTENSION). A thread that is about to lose its
// processor inside a critical section may keep it for some microseconds, so that others need not wait for its next
// slice. The thread says so by one byte of the area that it shares with the kernel (rseq):
//
//     request = 1            before the lock is taken
//     ... section ...        the kernel may grant the request: request = 0, granted = 1
//     request = 0            after the release
//     granted: yield         the thread gives back what it has borrowed
//
// A system call inside the section ends the extension. One that is not given back ends by itself: the kernel takes the
// processor after 5 us, or what it is configured to.
#include <atomic>
#include <optional>
#include <string>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

enum class SliceExtensions { kOff, kOn };
template <>
inline constexpr std::array kWords<SliceExtensions>{"off"sv, "on"sv};

/// The bytes in the area of a thread, as Linux 7.0 lays them out.
struct SliceControl {
  volatile u8 request = 0;
  volatile u8 granted = 0;
  u16 reserved = 0;
};

/// What a thread knows of its extensions.
struct SliceState {
  SliceControl* control = nullptr;  ///< null: it does not ask
  void (*yield)() = nullptr;
  u64 granted = 0;
};

class SliceExtension {
 public:
  /// Lets the calling thread ask for extensions from now on. Returns why it cannot, or nothing.
  static std::optional<std::string> allow();
  /// Returns why threads of this process cannot, or nothing.
  static std::optional<std::string> why_none();
  /// Returns the reason in words, from the error of the system call that allows them.
  static std::string refusal(int error);

  /// Begins and ends a section of a thread. They do nothing for a thread that is not allowed to ask.
  [[gnu::always_inline]] static inline void begin() {
    if (mine_.control == nullptr) [[likely]]
      return;
    mine_.control->request = 1;
    std::atomic_signal_fence(kSeqCst);  // the kernel reads it on this processor: program order is enough
  }
  [[gnu::always_inline]] static inline void end() {
    if (mine_.control == nullptr) [[likely]]
      return;
    std::atomic_signal_fence(kSeqCst);  // as in begin
    mine_.control->request = 0;
    if (mine_.control->granted != 0) [[unlikely]]
      give_back();
  }
  /// Returns the number of the calling thread's sections that the kernel has extended.
  static u64 granted() { return mine_.granted; }

  /// Puts the control of a test, and its yield, in the place of the kernel's. Null: the thread does not ask.
  static void pretend(SliceControl* control, void (*yield)()) { mine_ = {.control = control, .yield = yield}; }

 private:
  [[gnu::noinline, gnu::cold]] static void give_back();

  static inline constinit thread_local SliceState mine_{};
};

/// A section from the construction to the destruction.
class SliceSection {
 public:
  SliceSection() { SliceExtension::begin(); }
  ~SliceSection() { SliceExtension::end(); }
  SliceSection(const SliceSection&) = delete;
  SliceSection& operator=(const SliceSection&) = delete;
};

}  // namespace latchlab
