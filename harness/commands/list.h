#pragma once

// `harness list`: every word that the command line knows, from the same sources that the checks use.

#include <string>

#include "harness/config/registry.h"

namespace latchlab {

/// The text of one topic, or of all when `topic` is empty. Throws InputError that names the topics.
[[nodiscard]] std::string list_text(const Registry& registry, const std::string& topic);

}  // namespace latchlab
