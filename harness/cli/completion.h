#pragma once

// Completion of the command line by bash, and by zsh through bashcompinit. The script is written from the tables of
// commands and options (options.h) and from the words of `harness list`. So completing needs neither a build nor a run
// of the harness. The repository keeps it in docs/completion, and cmake --install puts it where bash-completion looks.

#include <string>
#include <vector>

#include "harness/commands/list.h"
#include "harness/config/registry.h"

namespace latchlab {

/// Returns the script, which completes commands, topics, options, and the words with which a value begins.
[[nodiscard]] std::string completion_script(const Registry& registry);

/// Returns what can be typed for the words of a topic:
///   - "email:" and "url:" for "email:N, url:N";
///   - each of the six words for "ycsb-a ... ycsb-f";
///   - nothing for an example that begins with a number.
[[nodiscard]] std::vector<std::string> typed_words(const TopicEntries& topic);

}  // namespace latchlab
