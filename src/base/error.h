#pragma once

#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace latchlab {

/// An error in the user's input: on the command line or in a file named there. The text is one line: what is wrong,
/// where, and what would be right. main prints it as "harness: <what>" and exits with status 2 before anything has run.
///
/// The text may quote any typed word and any bytes of a file. The constructor escapes bytes that are not printable,
/// because what() ends at the first NUL. It cuts the middle out of a text that is too long: the end says what is wrong.
struct InputError : std::runtime_error {
  static constexpr std::size_t kMostBytes = 4096;  ///< the longest text that is kept whole, before bytes are escaped

  explicit InputError(std::string_view text);
};

/// An error of options that are correct in themselves: they ask for more processors, sockets, clusters, nodes or memory
/// than this machine has.
struct NoRoom : InputError {
  using InputError::InputError;
};

/// A contradiction between options, each of which is correct alone. A list of runs skips such a point and runs the
/// others.
struct Contradiction : InputError {
  using InputError::InputError;
};

/// An error in writing output: a full disk, a closed pipe. The text is one line; main exits with status 1.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The exception of an insert that finds no room in an index that may not grow. The index is unchanged.
struct IndexFull : std::runtime_error {
  IndexFull() : std::runtime_error("the index is full") {}
};

}  // namespace latchlab
