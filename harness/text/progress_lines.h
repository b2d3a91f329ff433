#pragma once

// The forms of progress on stderr:
//
//   auto   one line that rewrites itself if stderr is a terminal, otherwise nothing
//   plain  one line for each phase, for logs
//   none   nothing

#include <memory>
#include <string>

#include "harness/config/config.h"
#include "harness/host/progress.h"

namespace latchlab {

/// Writes `text` to stderr at once. Ignores errors, since a text that cannot be written has no reader.
void say(const std::string& text);

/// Returns the Progress that --progress asks for. It writes to stderr.
[[nodiscard]] std::unique_ptr<Progress> make_progress(ProgressMode mode);

}  // namespace latchlab
