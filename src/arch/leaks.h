#pragma once
// LeakSanitizer, where AddressSanitizer brings it along, does not count what is allocated while an
// IgnoreLeaks lives.
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
