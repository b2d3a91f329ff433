#include "src/history/call.h"

#include <cstdio>

namespace latchlab {

std::string Call::str() const {
  static constexpr const char* kNames[] = {"find", "insert", "update", "upsert", "erase"};
  const bool shows_value = kind == CallKind::kFind ? yes : kind != CallKind::kErase;
  char text[128];
  std::snprintf(text, sizeof text, "%llu-%llu %u: %s%s%s -> %s", static_cast<unsigned long long>(called),
                static_cast<unsigned long long>(returned), caller, kNames[static_cast<std::size_t>(kind)],
                shows_value ? " " : "", shows_value ? std::to_string(value).c_str() : "", yes ? "yes" : "no");
  return text;
}

}  // namespace latchlab
