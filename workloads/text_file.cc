#include "workloads/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "src/base/spec.h"

namespace latchlab {

namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

std::string contents_of(std::string_view what, const std::string& path) {
  const auto fail = [&](std::string_view why) {
    return InputError(fmt::format("{} file '{}': {}", what, path, why));
  };
  const Descriptor file(path);
  if (file.get() < 0) throw fail(std::strerror(errno));
  struct stat about;
  if (::fstat(file.get(), &about) != 0) throw fail(std::strerror(errno));
  if (S_ISDIR(about.st_mode)) throw fail("is a directory, not a file");
  if (!S_ISREG(about.st_mode)) throw fail("is not a regular file");
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t filled = 0;
  // A file may shrink while it is read, and a read delivers at most 2 GB.
  while (filled < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw fail(std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

TextFile::TextFile(std::string_view what, const std::string& path) : what_(what), path_(path), text_(contents_of(what, path)) {
  if (text_.size() > kMostBytes) throw error(fmt::format("has {} bytes; more than {} is no such file", text_.size(), kMostBytes));
}

void TextFile::for_each_line(const std::function<void(const Line&)>& take) const {
  u64 number = 0;
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    std::string_view line(text_.data() + begin, end - begin);
    begin = end + 1;
    line = trimmed(line.substr(0, line.find('#')));
    ++number;
    if (!line.empty()) take({.file = *this, .number = number, .text = line});
  }
}

std::vector<double> TextFile::Line::numbers(std::string_view needs) const {
  std::vector<double> numbers;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    const std::optional<double> value = parse_double(text.substr(begin, end - begin));
    if (!value) throw error(fmt::format("needs {}", needs));
    numbers.push_back(*value);
    begin = std::min(text.find_first_not_of(" \t", end), text.size());
  }
  return numbers;
}

InputError TextFile::Line::error(std::string_view why) const {
  constexpr std::size_t kShown = 60;
  return file.error(fmt::format("line {} '{}{}' {}", number, text.substr(0, kShown), text.size() > kShown ? "..." : "", why));
}

InputError TextFile::error(std::string_view why) const {
  return InputError(fmt::format("{} file '{}': {}", what_, path_, why));
}

}  // namespace latchlab
