#include "services/kv/glob.h"

#include <algorithm>
#include <cstddef>

namespace latchlab::kv {

namespace {

/// Takes one element from the pattern, which is not a star, and returns whether it matches the byte.
bool take_one(std::string_view& pattern, char byte) {
  const auto take = [&] {
    const char front = pattern.front();
    pattern.remove_prefix(1);
    return front;
  };
  const char kind = take();
  if (kind == '?') return true;
  if (kind == '\\' && !pattern.empty()) return take() == byte;
  if (kind != '[') return kind == byte;
  const bool excluded = !pattern.empty() && pattern.front() == '^';
  if (excluded) take();
  bool found = false;
  while (!pattern.empty() && pattern.front() != ']') {
    char low = take();
    if (low == '\\' && !pattern.empty()) low = take();
    char high = low;
    if (pattern.size() >= 2 && pattern[0] == '-' && pattern[1] != ']') {
      take();
      high = take();
    }
    const auto [least, most] = std::minmax(low, high);
    found |= least <= byte && byte <= most;
  }
  if (!pattern.empty()) take();
  return found != excluded;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  // After a mismatch the last star takes one byte more. Earlier stars need not: they took as little as they could.
  std::string_view after_star, at_star;
  bool star = false;
  for (;;) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      star = true;
      after_star = pattern;
      at_star = text;
      continue;
    }
    if (text.empty() && pattern.empty()) return true;
    std::string_view rest = pattern;
    if (!text.empty() && !pattern.empty() && take_one(rest, text.front())) {
      pattern = rest;
      text.remove_prefix(1);
      continue;
    }
    if (!star || at_star.empty()) return false;
    at_star.remove_prefix(1);
    text = at_star;
    pattern = after_star;
  }
}

}  // namespace latchlab::kv
