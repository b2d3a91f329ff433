#include "src/history/call.h"

#include <fmt/format.h>

namespace latchlab {

std::string Call::str() const {
  const bool shows_value = kind == CallKind::kFind ? yes : kind != CallKind::kErase;
  std::string text = fmt::format("{}-", called);
  text += has_returned() ? fmt::format("{} ", returned) : " ";
  text += fmt::format("{}: {}", caller, word(kind));
  if (shows_value) text += fmt::format(" {}", value);
  if (!has_returned()) return text + " -> ?";
  text += yes ? " -> yes" : " -> no";
  return was ? text + fmt::format(", was {}", *was) : text;
}

}  // namespace latchlab
