#pragma once

// `harness list`: lists every word that the command line knows, from the same sources that the checks use.

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/registry.h"
#include "src/base/types.h"

namespace latchlab {

/// The scope of a text: kHere is all that holds on this machine and in this build. kEverywhere leaves out what depends
/// on the machine or on a library's version.
enum class Scope : u8 { kHere, kEverywhere };

/// Returns the text of one topic, or of all if `topic` is empty. Throws InputError that names the topics.
[[nodiscard]] std::string list_text(const Registry& registry, const std::string& topic, Scope scope = Scope::kHere);

/// The words that a topic explains, each with its meaning. They are the same on every machine and for every selection
/// of pairs. So the meanings of indexes and policies are empty: only a build that has them knows them.
struct TopicEntries {
  /// A word that begins with blanks is an option of the word above. An entry without a word continues the meaning
  /// above.
  struct Entry {
    std::string word;
    std::string meaning;
  };

  std::string_view topic;
  std::string_view option;  ///< the option that takes the words: "--index"; "trace convert" for formats of traces
  std::vector<Entry> entries;
};

/// Returns the entries of all topics, in their order.
[[nodiscard]] std::vector<TopicEntries> list_entries(const Registry& registry);

/// Returns the topics, in their order.
[[nodiscard]] std::vector<std::string> list_topics();

}  // namespace latchlab
