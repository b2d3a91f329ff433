#pragma once

// A spec is how everything with options is named on the command line and in results:
//
//     name[:arg][,key=value...]         art    rtm:20,respec=0    zipf:0.99    mix:read=90,insert=10
//
// `mix:read=90,insert=10` has no argument of its own: an argument that looks like key=value is the first
// option. The argument of a name that takes a path (file:, histogram:) is the rest of the text, commas and all, since
// paths are not ours to cut.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// Whether what follows the colon is a path.
[[nodiscard]] bool takes_path(std::string_view name);

struct Spec {
  std::string name;
  std::optional<std::string> arg;
  std::vector<std::pair<std::string, std::string>> options;  ///< in the order given

  /// Throws InputError for an empty name, an empty argument, an option without key or value, or one given
  /// twice.
  [[nodiscard]] static Spec parse(std::string_view text);

  /// The text that parses to this spec.
  [[nodiscard]] std::string str() const;

  /// The same with all numbers written alike: stride:4Ki as stride:4096, zipf:1.0 as zipf:1. A path is none.
  [[nodiscard]] Spec plain() const;

  bool operator==(const Spec&) const = default;
};

/// The option with which the word of another index means an index too (cuckoo:shape=2x4 is simdht). Empty for none.
struct MeantBy {
  std::string_view index, option;
};

/// Reads a spec's argument and options, each with its default and its range, and refuses what nobody asked
/// for:
///
///     SpecReader reader(spec, "policy rtm");
///     options.restarts = reader.arg_u64(20, 0, 1000);
///     options.respec   = reader.flag("respec", true);
///     reader.finish();      // throws InputError for an option that was not read, naming those that were
///
/// Every error names `what`.
class SpecReader {
 public:
  SpecReader(const Spec& spec, std::string what);

  /// The argument as a count (1000, 16M, 64Ki: quantity.h), or `standard` where there is none. Throws InputError unless
  /// it is from min to max.
  [[nodiscard]] u64 arg_u64(u64 standard, u64 min, u64 max);
  /// The argument as it was written.
  [[nodiscard]] std::optional<std::string> arg_text();
  /// The option `key`, 0 or 1. Throws InputError for anything else.
  [[nodiscard]] bool flag(std::string_view key, bool standard);
  /// The option `key` as a count, or `standard`. Throws InputError unless it is from min to max.
  [[nodiscard]] u64 number(std::string_view key, u64 standard, u64 min, u64 max);
  /// The option `key` as a finite number, or `standard`. Throws InputError unless it is from min to max.
  [[nodiscard]] double real(std::string_view key, double standard, double min, double max);
  /// Which of `words` the option `key` is, or `standard`. Throws InputError for any other.
  [[nodiscard]] std::size_t one_of(std::string_view key, std::size_t standard, const std::vector<std::string>& words);
  /// The enumerator whose word the option `key` is, or `standard`. Throws InputError for any other.
  template <Worded E>
  [[nodiscard]] E word(std::string_view key, E standard) {
    const std::vector<std::string> words(kWords<E>.begin(), kWords<E>.end());
    return static_cast<E>(one_of(key, static_cast<std::size_t>(standard), words));
  }
  /// Throws InputError for an argument or an option that nobody has read.
  void finish();

 private:
  [[nodiscard]] const std::string* find(std::string_view key);
  [[nodiscard]] u64 whole_number(std::string_view key, const std::string& text, u64 min, u64 max) const;

  const Spec& spec_;
  std::string what_;
  bool arg_read_ = false;
  std::vector<std::string> known_;
};

/// The candidate with the least Damerau-Levenshtein distance from `word`, or "" when none is near enough to
/// be meant (more than a third of its length, at least 2, away). O(|word| * sum of candidate lengths).
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" or "" — the tail of an error about an unknown word. Nothing if the word itself is a
/// candidate: then something else is wrong.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// The whole of `text` as a decimal number; empty when it is not one or does not fit.
[[nodiscard]] std::optional<u64> parse_u64(std::string_view text);

/// The whole of `text` as a finite decimal number; empty when it is not one.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);

}  // namespace latchlab
