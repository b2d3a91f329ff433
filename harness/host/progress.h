#pragma once

// A trial announces its phases to a Progress and tells it now and then how far it is. Progress goes to stderr, so that
// stdout stays clean for tables and JSON. --progress decides which form it takes (progress_lines.h).
//
// Only the coordinating thread of a trial may call it.

#include <string>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

class Progress {
 public:
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  virtual ~Progress() = default;

  /// Begins a phase ("load", "verify", "warmup", "measure", ...), ending the one before. `total` is how many
  /// items it has, or 0 when it ends by time; then `length_ns` is how long it takes, or 0 when that is not
  /// known either.
  virtual void begin(std::string_view phase, u64 total, u64 length_ns) = 0;

  /// `done` items of the current phase are done. May be called as often as you like: drawing is limited to
  /// ten a second.
  virtual void advance(u64 done) = 0;

  /// Ends the current phase; clears the line.
  virtual void end() = 0;

  /// Puts `text` before every phase from now on, e.g. "3/12 art rtm:20 8 threads". Empty for none.
  virtual void title(std::string text) = 0;
};

}  // namespace latchlab
