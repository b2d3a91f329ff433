#include "services/kv/resp_call.h"

#include <limits>

#include "src/wire/numbers.h"

namespace latchlab::kv::resp {

void refuse(std::string_view text) { throw Refused{std::string(text)}; }

std::optional<i64> integer_in(std::string_view text) {
  if (text == "0") return 0;
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.front() < '1') return std::nullopt;
  return number_in<i64>(text);
}

std::string digits_of(i64 number) {
  std::string text;
  append_number(text, number);
  return text;
}

void Call::refuse_words() const { refuse("ERR wrong number of arguments for '" + std::string(name) + "' command"); }

i64 Call::integer(std::size_t word) const {
  const std::optional<i64> number = integer_in(words[word]);
  if (!number) refuse(kNotAnInteger);
  return *number;
}

i64 Call::moment(std::size_t word, i64 unit, bool from_now) const {
  const i64 amount = integer(word);
  const i64 base = from_now ? now.ms : 0;
  if (amount > (std::numeric_limits<i64>::max() - base) / unit || amount < std::numeric_limits<i64>::min() / unit)
    refuse("ERR invalid expire time in '" + std::string(name) + "' command");
  return base + amount * unit;
}

i64 Call::positive_moment(std::size_t word, i64 unit, bool from_now) const {
  if (integer(word) <= 0) refuse("ERR invalid expire time in '" + std::string(name) + "' command");
  return moment(word, unit, from_now);
}

}  // namespace latchlab::kv::resp
