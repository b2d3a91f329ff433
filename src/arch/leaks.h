#pragma once
// A scope that hides allocations from LeakSanitizer, which is part of AddressSanitizer: blocks allocated while an
// IgnoreLeaks lives are never reported as leaks.
#include "src/arch/sanitizer.h"
#if LATCHLAB_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace latchlab {

class IgnoreLeaks {
 public:
  IgnoreLeaks() {
#if LATCHLAB_ADDRESS_SANITIZER
    __lsan_disable();
#endif
  }
  ~IgnoreLeaks() {
#if LATCHLAB_ADDRESS_SANITIZER
    __lsan_enable();
#endif
  }
  IgnoreLeaks(const IgnoreLeaks&) = delete;
  IgnoreLeaks& operator=(const IgnoreLeaks&) = delete;
};

}  // namespace latchlab
