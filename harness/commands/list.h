#pragma once

// `harness list`: lists every word that the command line knows, from the same sources that the checks use.

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/registry.h"
#include "src/base/types.h"

namespace latchlab {

/// How much a text tells: everything that holds here, or only what neither the machine nor a library's version decides.
enum class Scope : u8 { kHere, kEverywhere };

/// Returns the text of one topic, or of all if `topic` is empty. Throws InputError that names the topics.
[[nodiscard]] std::string list_text(const Registry& registry, const std::string& topic, Scope scope = Scope::kHere);

/// The words that a topic explains, each with its meaning, as no machine and no selection of pairs changes them. A
/// meaning is empty where that is not so: those of indexes, and of policies, are known where they are built.
struct TopicEntries {
  /// A word with blanks before it is an option of the word above; without a word, the meaning above goes on.
  struct Entry {
    std::string word;
    std::string meaning;
  };

  std::string_view topic;
  std::string_view option;  ///< that takes the words: "--index"; "trace convert" for formats of traces
  std::vector<Entry> entries;
};

/// Returns the entries of all topics, in their order.
[[nodiscard]] std::vector<TopicEntries> list_entries(const Registry& registry);

/// Returns the topics, in their order.
[[nodiscard]] std::vector<std::string> list_topics();

}  // namespace latchlab
