#include "services/kv/stop.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace latchlab::kv {

Stop::Stop() : wake_(opened(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "an eventfd")) {}

void Stop::ask() const {
  asked_.store(true, kRelaxed);
  const u64 one = 1;
  [[maybe_unused]] const auto written = write(wake_.number(), &one, sizeof one);
}

}  // namespace latchlab::kv
