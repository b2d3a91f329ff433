#include "src/memory/accessed_bits.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace latchlab {

std::optional<std::string> why_accessed_stay(const char* file) {
  const int fd = open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return fmt::format("{} cannot be written: {}", file, std::strerror(errno));
  close(fd);
  return std::nullopt;
}

bool clear_accessed(const char* file) {
  const int fd = open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, "1\n", 2) == 2;  // 1 means all pages
  const int error = errno;
  close(fd);
  errno = error;
  return written;
}

}  // namespace latchlab
