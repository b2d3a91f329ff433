#pragma once

// The outcome of one call of an incremental parser. A parser gets the bytes that a connection has and that it has not
// dropped yet. It keeps no copy of them: what it returns are views into them, valid until the caller moves the bytes.
//
//     input    | line \r\n | value \r\n | rest ...           | line \r\n | value (not here yet) ...
//     outcome  |<-------- used -------->|                    |<-- used -->|<-------- skip -------->
//                     kCommand                                    kError: the value is too large
//
// A call depends on the bytes alone. So it does not matter in which pieces they came: the commands are the same.

#include <cstddef>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

enum class ParseStatus : u8 {
  kCommand,    ///< one command, or one answer, is complete
  kNeedsMore,  ///< the bytes are the beginning of one
  kError,      ///< the bytes are none
};

struct Parsed {
  ParseStatus status = ParseStatus::kNeedsMore;
  bool close = false;      ///< kError: the caller sends `answer` and closes; later bytes mean nothing
  bool too_large = false;  ///< kError: everything is right but for the size, and the command says what was asked
  /// The number of bytes at the front of the input that the caller drops; at most the input's size. 0 for kNeedsMore.
  std::size_t used = 0;
  /// kNeedsMore: the least size of the input with which another call can get further. It is exact for a value, so that
  /// the caller makes room once. Always more than the input has.
  std::size_t needed = 0;
  /// kError: the number of bytes after `used` that the caller drops before the next call, as they come.
  u64 skip = 0;
  /// kError: the text to send, with its line end. Empty if the other side gets no answer. Lives as long as the parser.
  std::string_view answer = {};

  [[nodiscard]] static Parsed command(std::size_t used) { return {.status = ParseStatus::kCommand, .used = used}; }
  [[nodiscard]] static Parsed needs(std::size_t size) { return {.needed = size}; }
  [[nodiscard]] static Parsed error(std::string_view answer, std::size_t used) {
    return {.status = ParseStatus::kError, .used = used, .answer = answer};
  }
  /// An error after which the bytes cannot be told apart any more. It uses the whole input.
  [[nodiscard]] static Parsed fatal(std::string_view answer, std::string_view input) {
    return {.status = ParseStatus::kError, .close = true, .used = input.size(), .answer = answer};
  }
};

}  // namespace latchlab
