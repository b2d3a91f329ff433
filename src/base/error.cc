#include "src/base/error.h"

#include "src/base/printable.h"

namespace latchlab {

namespace {

std::string one_line(std::string_view text) {
  constexpr std::size_t kEnd = InputError::kMostBytes / 2;
  if (text.size() <= InputError::kMostBytes) return printable(text);
  return printable(text.substr(0, kEnd)) + " ... " + printable(text.substr(text.size() - kEnd));
}

}  // namespace

InputError::InputError(std::string_view text) : std::runtime_error(one_line(text)) {}

}  // namespace latchlab
