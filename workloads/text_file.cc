#include "workloads/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "src/base/file_error.h"
#include "src/base/printable.h"
#include "src/base/spec.h"

namespace latchlab {

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

RegularFile::RegularFile(std::string_view what, const std::string& path)
    : what_(what), path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (fd_ < 0) throw error(std::strerror(errno));
  struct stat about{};
  const int failure = ::fstat(fd_, &about) == 0 ? 0 : errno;
  const char* const why = failure != 0              ? std::strerror(failure)
                          : S_ISDIR(about.st_mode)  ? "is a directory, not a file"
                          : !S_ISREG(about.st_mode) ? "is not a regular file"
                                                    : nullptr;
  if (why != nullptr) {
    ::close(fd_);
    throw error(why);
  }
  size_ = static_cast<u64>(about.st_size);
}

RegularFile::~RegularFile() { ::close(fd_); }

std::size_t RegularFile::read(std::span<char> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {  // a read delivers at most 2 GB
    const ssize_t got = ::read(fd_, into.data() + filled, into.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw error(std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

std::string RegularFile::contents() {
  std::string text(size_, '\0');
  text.resize(read(text));  // the file may have shrunk meanwhile
  return text;
}

InputError RegularFile::error(std::string_view why) const { return file_error(what_, path_, why); }

std::string cut_short(std::string_view text) {
  constexpr std::size_t kShown = 60;
  if (text.size() <= kShown) return printable(text);
  std::size_t end = kShown;
  while (end > kShown - 3 && (text[end] & 0xc0) == 0x80)
    --end;  // not within a UTF-8 character, which has at most four bytes
  return printable(text.substr(0, end)) + "...";
}

std::string gigabytes(u64 bytes) { return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9); }

TextFile::TextFile(std::string_view what, const std::string& path) : what_(what), path_(path) {
  RegularFile file(what, path);
  if (file.size() > kMostBytes)
    throw error(fmt::format("has {} bytes; at most {} are allowed", file.size(), kMostBytes));
  text_ = file.contents();
}

void TextFile::for_each_line(const std::function<void(const Line&)>& take, Comments comments) const {
  u64 number = 0;
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    std::string_view line(text_.data() + begin, end - begin);
    begin = end + 1;
    line = trimmed(line);
    if (comments == Comments::kAnywhere || line.starts_with('#')) line = trimmed(line.substr(0, line.find('#')));
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
  return file.error(fmt::format("line {} '{}' {}", number, cut_short(text), why));
}

InputError TextFile::error(std::string_view why) const { return file_error(what_, path_, why); }

}  // namespace latchlab
