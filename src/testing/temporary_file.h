#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace latchlab {

/// A file of its own with the given bytes, gone when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes);
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace latchlab
