#pragma once

// `harness list`: lists every word that the command line knows, from the same sources that the checks use.

#include <string>
#include <vector>

#include "harness/config/registry.h"
#include "src/base/types.h"

namespace latchlab {

/// How much a text tells: everything that holds here, or only what neither the machine nor a library's version decides.
enum class Scope : u8 { kHere, kEverywhere };

/// Returns the text of one topic, or of all if `topic` is empty. Throws InputError that names the topics.
[[nodiscard]] std::string list_text(const Registry& registry, const std::string& topic, Scope scope = Scope::kHere);

/// Returns the topics, in their order.
[[nodiscard]] std::vector<std::string> list_topics();

}  // namespace latchlab
