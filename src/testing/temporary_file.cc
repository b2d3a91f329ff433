#include "src/testing/temporary_file.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace latchlab {

TemporaryFile::TemporaryFile(std::string_view bytes)
    : path_((std::filesystem::temp_directory_path() / "latchlab-XXXXXX").string()) {
  const int fd = ::mkstemp(path_.data());
  if (fd < 0) throw std::system_error(errno, std::generic_category(), path_);
  ::close(fd);
  std::ofstream(path_, std::ios::binary) << bytes;
}

}  // namespace latchlab
