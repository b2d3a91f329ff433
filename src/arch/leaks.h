#pragma once
// LeakSanitizer, where AddressSanitizer brings it along, does not count what is allocated while an
// IgnoreLeaks lives.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace latchlab {

class IgnoreLeaks {
 public:
  IgnoreLeaks() {
#if defined(__SANITIZE_ADDRESS__)
    __lsan_disable();
#endif
  }
  ~IgnoreLeaks() {
#if defined(__SANITIZE_ADDRESS__)
    __lsan_enable();
#endif
  }
  IgnoreLeaks(const IgnoreLeaks&) = delete;
  IgnoreLeaks& operator=(const IgnoreLeaks&) = delete;
};

}  // namespace latchlab
