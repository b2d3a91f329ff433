#pragma once

// The spec, which names everything that has options on the command line and in results:
//
//     name[:arg][,key=value...]         art    rtm:20,respec=0    zipf:0.99    mix:read=90,insert=10
//
// `mix:read=90,insert=10` has no argument: an argument that looks like key=value is the first option. A name that takes
// a path (file:, histogram:) has the rest of the text as its argument, including commas, which a path may contain.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// Returns true if the argument of this name is a path.
[[nodiscard]] bool takes_path(std::string_view name);

struct Spec {
  std::string name;
  std::optional<std::string> arg;
  std::vector<std::pair<std::string, std::string>> options;  ///< in the order given

  /// Parses a text. Throws InputError for an empty name, an empty argument, an option without key or value, or an
  /// option given twice.
  [[nodiscard]] static Spec parse(std::string_view text);

  /// Returns the text that parses to this spec.
  [[nodiscard]] std::string str() const;

  /// Returns the spec with every number in plain form: stride:4Ki as stride:4096, zipf:1.0 as zipf:1. A path stays.
  [[nodiscard]] Spec plain() const;

  bool operator==(const Spec&) const = default;
};

/// Another index's name and the option that turns that name into this index: with any value (cuckoo:shape=2x4 is
/// simdht), or with one (cuckoo:slots=7 is cuckoo7). A number is in plain form here, and in any form in a spec
/// (btree:node=1Ki is btree1k). Empty for none.
struct MeantBy {
  std::string_view index, option, value = {};

  /// Returns true if this is what the spec means.
  bool selects(const Spec& spec) const {
    return index == spec.name && std::ranges::any_of(spec.plain().options, [this](const auto& given) {
             return given.first == option && (value.empty() || given.second == value);
           });
  }
};

/// A reader of a spec's argument and options, each with its default and its range. It refuses every option that is not
/// read:
///
///     SpecReader reader(spec, "policy rtm");
///     options.restarts = reader.arg_u64(20, 0, 1000);
///     options.respec   = reader.flag("respec", true);
///     reader.finish();      // throws InputError for an option that was not read, and names those that were
///
/// Every error names `what`.
class SpecReader {
 public:
  SpecReader(const Spec& spec, std::string what);

  /// Returns the argument as a count (1000, 16M, 64Ki: quantity.h), or `standard` if there is none. Throws InputError
  /// unless the count is from min to max.
  [[nodiscard]] u64 arg_u64(u64 standard, u64 min, u64 max);
  /// Returns the argument as it was written.
  [[nodiscard]] std::optional<std::string> arg_text();
  /// Returns the option `key`, which is 0 or 1, or `standard`. Throws InputError for anything else.
  [[nodiscard]] bool flag(std::string_view key, bool standard);
  /// Returns the option `key` as a count, or `standard`. Throws InputError unless the count is from min to max.
  [[nodiscard]] u64 number(std::string_view key, u64 standard, u64 min, u64 max);
  /// Returns the option `key` as a finite number, or `standard`. Throws InputError unless it is from min to max.
  [[nodiscard]] double real(std::string_view key, double standard, double min, double max);
  /// Returns the option `key` as it was written, or `standard`.
  [[nodiscard]] std::string text(std::string_view key, std::string_view standard);
  /// Returns the position in `words` of the option `key`, or `standard`. Throws InputError for any other word.
  [[nodiscard]] std::size_t one_of(std::string_view key, std::size_t standard, const std::vector<std::string>& words);
  /// Returns the enumerator that the option `key` names, or `standard`. Throws InputError for any other word.
  template <Worded E>
  [[nodiscard]] E word(std::string_view key, E standard) {
    const std::vector<std::string> words(kWords<E>.begin(), kWords<E>.end());
    return static_cast<E>(one_of(key, static_cast<std::size_t>(standard), words));
  }
  /// Throws InputError for an argument or an option that was not read.
  void finish();

 private:
  [[nodiscard]] const std::string* find(std::string_view key);
  [[nodiscard]] u64 whole_number(std::string_view key, const std::string& text, u64 min, u64 max) const;

  const Spec& spec_;
  std::string what_;
  bool arg_read_ = false;
  std::vector<std::string> known_;
};

/// Returns the candidate with the least Damerau-Levenshtein distance from `word`, within a third of the word's length,
/// or within 2 for a short word. Otherwise returns the shortest candidate that begins with the word, if that has three
/// letters or more, or else "". O(|word| * sum of candidate lengths).
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns the end of an error about an unknown word: "; did you mean 'x'?" or "". Returns "" if the word itself is a
/// candidate, because then something else is wrong.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// Returns the whole of `text` as a decimal number; empty if it is no number or does not fit.
[[nodiscard]] std::optional<u64> parse_u64(std::string_view text);

/// Returns the whole of `text` as a finite decimal number; empty if it is not one.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);

}  // namespace latchlab
