#pragma once

#include <stdexcept>

namespace latchlab {

/// What somebody typed, or a file that somebody named, is wrong. The text is one line for that person: what
/// is wrong, where, and what would be right. main prints it as "harness: <what>" and exits with status 2;
/// nothing has run by then.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What is asked for is right in itself, but this machine has not so many processors, sockets, clusters or nodes, or not so much
/// memory.
struct NoRoom : InputError {
  using InputError::InputError;
};

/// What an insert throws that finds no room in an index that may not grow any more. Nothing was changed.
struct IndexFull : std::runtime_error {
  IndexFull() : std::runtime_error("the index is full") {}
};

}  // namespace latchlab
