#pragma once

// The names and passwords that may use a server: a file with a line `name:password` for each.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchlab::kv {

class Secrets {
 public:
  /// Reads the file. Throws InputError if it cannot be read, has no line, has a line without a colon, or may be read by
  /// other users.
  static Secrets read(const std::string& path);

  explicit Secrets(std::vector<std::pair<std::string, std::string>> lines) : lines_(std::move(lines)) {}

  /// Returns true if the password is that of the name. The time depends on the lengths of what is given and stored, and
  /// on nothing else. O(all names and passwords).
  [[nodiscard]] bool admit(std::string_view name, std::string_view password) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

}  // namespace latchlab::kv
