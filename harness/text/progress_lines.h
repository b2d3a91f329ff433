#pragma once

// The forms of progress on stderr:
//
//   auto   one line that rewrites itself when stderr is a terminal, otherwise nothing
//   plain  one line a phase, for logs
//   none   nothing

#include <memory>
#include <string>

#include "harness/config/config.h"
#include "harness/host/progress.h"

namespace latchlab {

/// Writes `text` to stderr at once. Where that cannot be written nobody reads it, and nothing else is lost.
void say(const std::string& text);

/// The Progress that --progress asks for, writing to stderr.
[[nodiscard]] std::unique_ptr<Progress> make_progress(ProgressMode mode);

}  // namespace latchlab
