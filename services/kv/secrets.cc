#include "services/kv/secrets.h"

#include <sys/stat.h>

#include <cstddef>
#include <fstream>

#include "src/base/error.h"
#include "src/base/types.h"

namespace latchlab::kv {

namespace {

/// Returns true for equal texts, in a time that depends on their sizes only.
bool equal(std::string_view given, std::string_view secret) {
  u8 difference = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char other = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = static_cast<u8>(difference | static_cast<u8>(given[i] ^ other));
  }
  return difference == 0;
}

}  // namespace

Secrets Secrets::read(const std::string& path) {
  const auto refuse = [&](std::string_view why) { return InputError("--auth: " + path + ": " + std::string(why)); };
  struct stat status{};
  std::ifstream file(path);
  if (!file || stat(path.c_str(), &status) != 0) throw refuse("cannot be read");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) throw refuse("other users may use it; chmod 600 it");
  std::vector<std::pair<std::string, std::string>> lines;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == line.size())
      throw refuse("line " + std::to_string(number) + " is not name:password");
    lines.emplace_back(line.substr(0, colon), line.substr(colon + 1));
  }
  if (lines.empty()) throw refuse("has no line name:password");
  return Secrets(std::move(lines));
}

bool Secrets::admit(std::string_view name, std::string_view password) const {
  bool admitted = false;
  for (const auto& [known, secret] : lines_) {
    const bool same_name = equal(name, known);
    const bool same_password = equal(password, secret);
    admitted |= same_name & same_password;
  }
  return admitted;
}

}  // namespace latchlab::kv
