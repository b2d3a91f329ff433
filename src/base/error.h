#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace latchlab {

/// What somebody typed, or a file that somebody named, is wrong. The text is one line for that person: what
/// is wrong, where, and what would be right. main prints it as "harness: <what>" and exits with status 2;
/// nothing has run by then.
///
/// The text may quote whatever was typed, and bytes of any file: what is not printable is escaped here, since what()
/// ends at the first NUL. Of a text that is too long the middle is left out: its end says what is wrong.
struct InputError : std::runtime_error {
  static constexpr std::size_t kMostBytes = 4096;  ///< of a text, before bytes are escaped

  explicit InputError(std::string_view text);
};

/// What is asked for is right in itself, but this machine has not so many processors, sockets, clusters or nodes, or
/// not so much memory.
struct NoRoom : InputError {
  using InputError::InputError;
};

/// Options that are right by themselves contradict one another. A list leaves such a point out and runs the others.
struct Contradiction : InputError {
  using InputError::InputError;
};

/// Output could not be written: a full disk, a closed pipe. One line; main exits with status 1.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What an insert throws that finds no room in an index that may not grow any more. Nothing was changed.
struct IndexFull : std::runtime_error {
  IndexFull() : std::runtime_error("the index is full") {}
};

}  // namespace latchlab
