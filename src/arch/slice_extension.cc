#include "src/arch/slice_extension.h"

#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace latchlab {
namespace {

// Of include/uapi/linux/prctl.h, rseq.h and the table of system calls, since Linux 7.0. Debian 12 has older headers.
constexpr int kPrctl = 79, kSet = 2, kEnable = 1;
constexpr long kYieldCall = 471;
constexpr std::size_t kControlOffset = 28;  // behind mm_cid

void yield_to_kernel() { syscall(kYieldCall); }

}  // namespace

std::string SliceExtension::refusal(int error) {
  if (error == EINVAL) return "this kernel does not extend time slices; Linux 7.0 does";
  if (error == ENOTSUP || error == 524 /* the kernel's ENOTSUPP */)
    return "this kernel was started with rseq_slice_ext=off";
  if (error == ENXIO) return "this thread has no area that the kernel knows (rseq), or glibc's is too small";
  return std::string("the kernel refuses to extend time slices: ") + std::strerror(error);
}

std::optional<std::string> SliceExtension::allow() {
  if (__rseq_size == 0) return refusal(ENXIO);
  if (prctl(kPrctl, kSet, kEnable, 0, 0) != 0) return refusal(errno);
  char* const area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  mine_ = {.control = reinterpret_cast<SliceControl*>(area + kControlOffset), .yield = yield_to_kernel};
  return {};
}

std::optional<std::string> SliceExtension::why_none() {
  const SliceState before = mine_;
  const std::optional<std::string> why = allow();
  mine_ = before;
  return why;
}

void SliceExtension::give_back() {
  ++mine_.granted;
  mine_.yield();
}

}  // namespace latchlab
