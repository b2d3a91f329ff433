#pragma once

// A trial announces its phases to a Progress and reports now and then how far it is. Progress goes to stderr, so that
// stdout stays clean for tables and JSON. --progress decides its form (progress_lines.h).
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

  /// Begins a phase ("load", "verify", "warmup", "measure", ...), ending the one before. `total` is its number of
  /// items, or 0 if it ends by time. In that case `length_ns` is its length, or 0 if that is unknown, too.
  virtual void begin(std::string_view phase, u64 total, u64 length_ns) = 0;

  /// Reports that `done` items of the current phase are done. It may be called at any rate, since it draws at most ten
  /// times a second.
  virtual void advance(u64 done) = 0;

  /// Ends the current phase; clears the line.
  virtual void end() = 0;

  /// Puts `text` before every phase from now on, e.g. "3/12 art rtm:20 8 threads". Empty for none.
  virtual void title(std::string text) = 0;
};

}  // namespace latchlab
