#pragma once

#include <stdexcept>

namespace latchlab {

/// What somebody typed, or a file that somebody named, is wrong. The text is one line for that person: what
/// is wrong, where, and what would be right. main prints it as "harness: <what>" and exits with status 2;
/// nothing has run by then.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace latchlab
