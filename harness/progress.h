#pragma once

// Progress goes to stderr, so that stdout stays clean for tables and JSON. A trial announces its phases to a
// Progress and tells it now and then how far it is; which form that takes, if any, is decided once, by
// --progress:
//
//   auto   one line that rewrites itself when stderr is a terminal, otherwise nothing
//   plain  one line a phase, for logs
//   none   nothing
//
// Only the coordinating thread of a trial may call it.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "harness/config.h"
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

/// Writes `text` to stderr at once. Where that cannot be written nobody reads it, and nothing else is lost.
void say(const std::string& text);

/// The Progress that --progress asks for, writing to stderr.
[[nodiscard]] std::unique_ptr<Progress> make_progress(ProgressMode mode);

/// "1.25 G", "12.3 M", "4.56 k", "789": three significant digits, as rates and counts are shown to people.
[[nodiscard]] std::string short_number(double value);

/// "1 h 02 min", "3 min 20 s", "12 s", "1.2 s", "350 ms".
[[nodiscard]] std::string short_duration(double seconds);

}  // namespace latchlab
