#pragma once

// What the parsers of memcached's text commands and of its meta commands share: words, values, texts of errors.

#include <array>
#include <cstddef>
#include <string_view>

#include "src/wire/memcached.h"
#include "src/wire/numbers.h"

namespace latchlab::memcached {

inline constexpr std::string_view kError = "ERROR\r\n";
inline constexpr std::string_view kBadFormat = "CLIENT_ERROR bad command line format\r\n";
inline constexpr std::string_view kBadChunk = "CLIENT_ERROR bad data chunk\r\n";
inline constexpr std::string_view kBadExptime = "CLIENT_ERROR invalid exptime argument\r\n";
inline constexpr std::string_view kBadDelta = "CLIENT_ERROR invalid numeric delta argument\r\n";
inline constexpr std::string_view kBadDelete =
    "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
inline constexpr std::string_view kLineTooLong = "CLIENT_ERROR line too long\r\n";
inline constexpr std::string_view kTooLarge = "SERVER_ERROR object too large for cache\r\n";

/// The largest value that a line may name: with its line end it is below the largest number of 31 bits.
inline constexpr u64 kLargestNamed = (u64{1} << 31) - 2 - kLineEnd.size();

/// Splits off and returns the next word of the text; empty at its end. Only blanks part words.
inline std::string_view next_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::size_t end = text.find(' ', begin);
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  return word;
}

/// The words of a line, up to more than any command but get has.
struct Words {
  static constexpr std::size_t kMost = 24;

  explicit Words(std::string_view line) {
    while (count < kMost) {
      const std::string_view word = next_word(line);
      if (word.empty()) break;
      at[count++] = word;
    }
  }
  std::string_view operator[](std::size_t i) const { return at[i]; }
  [[nodiscard]] std::string_view last() const { return at[count - 1]; }

  std::array<std::string_view, kMost> at;
  std::size_t count = 0;
};

/// A command line and where it stands.
struct Line {
  std::string_view input;  ///< begins with the line
  std::size_t used;        ///< the size of the line with its end
  const MemcachedLimits& limits;

  [[nodiscard]] Parsed error(std::string_view answer) const { return Parsed::error(answer, used); }
  /// An error whose value, `bytes` and a line end, the caller drops.
  [[nodiscard]] Parsed error_before_value(std::string_view answer, u64 bytes) const {
    Parsed parsed = error(answer);
    parsed.skip = bytes + kLineEnd.size();
    return parsed;
  }
  /// Takes the value that follows the line into the command. `quiet` says that the client wants no answer to an error.
  [[nodiscard]] Parsed take_value(u64 bytes, bool quiet, MemcachedCommand& command) const;
};

/// Parses a meta command, whose verb is known. `words` are those of the line, the verb included.
[[nodiscard]] Parsed parse_meta(const Line& line, const Words& words, MemcachedCommand& command);

}  // namespace latchlab::memcached
