#pragma once

// Names on the one side, types on the other. Index, policy and key kind are the only types of a run; a Pair
// joins the three words to functions that build the typed objects behind their virtual interfaces. CMake
// generates translation units of up to seven pairs of one index, each with an explicit registration function, and one
// file that calls them all:
//
//   void register_art_7(Registry& registry) {
//     add_pair<Synchronized<Art, Rtm<Native>, U64Key>>(registry, "art", "rtm", KeyKind::kU64);   // registry_add.h
//     add_pair<Synchronized<Art, Rtm<Native>, BytesKey>>(registry, "art", "rtm", KeyKind::kBytes);
//   }
//
// Nothing registers itself from a static initialiser: what is in the list is what the generated file names.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/config/plan.h"
#include "src/base/key.h"
#include "src/base/spec.h"

namespace latchlab {

class Trial;          // trial.h: the run of one Plan over one typed index
class Erased;         // indexes/erased.h: an index behind virtual calls
struct MemoryConfig;  // src/memory

/// One option of a policy or an index as `harness list` shows it.
struct OptionInfo {
  std::string key;
  std::string standard;  ///< its default
  std::string meaning;
};

struct Pair {
  std::string index;
  std::string policy;
  KeyKind keys = KeyKind::kU64;
  bool ordered = false;       ///< scans work
  bool many_writers = true;   ///< several threads may write at once
  bool learns = false;        ///< lookups change the index
  bool elides = false;        ///< takes locks less often than it has operations, where the processor helps
  bool elides_reads = true;   ///< if it does: for operations that only read, too
  std::string own_memory;     ///< why --alloc and --hugepages=thp do not reach the index; empty where they do
  std::string library;        ///< that a peer is from, by its name in build_info().libraries; empty for what is our own
  std::string no_erase;       ///< why nothing can be erased; empty where it can
  std::string no_batch;       ///< why there are no batches; empty where there are
  bool side_by_side = false;  ///< the lookups of a batch may go side by side
  bool hints = false;         ///< so may the changes of one
  std::string no_reclaim;     ///< why --reclaim does not reach the policy; empty where it does
  std::string about;          ///< the policy in one line
  std::vector<OptionInfo> options;  ///< of the policy
  std::vector<OptionInfo> index_options;
  MeantBy meant_by;
  std::vector<std::string> variants;  ///< of the index, as specs, each a code of its own that tests must go through

  /// Why this process cannot do what the policy's word promises; nothing where it can.
  std::optional<std::string> (*degraded)(const Spec& sync) = [](const Spec&) { return std::optional<std::string>(); };

  /// Every option as it would be in effect; throws InputError for a malformed spec. Builds nothing.
  std::vector<std::pair<std::string, std::string>> (*resolve)(const Spec& sync) = nullptr;
  std::vector<std::pair<std::string, std::string>> (*resolve_index)(const Spec& index) =
      nullptr;  ///< the same of the index
  /// Why this process cannot do what the index's options ask for; nothing where it can.
  std::optional<std::string> (*index_degraded)(const Spec& index) = [](const Spec&) {
    return std::optional<std::string>();
  };
  /// Bytes that the index takes with these options before it holds anything, as far as that is worth a check.
  u64 (*least_bytes)(const Spec& index) = [](const Spec&) { return u64{0}; };
  /// Keys that the index has room for with these options, at most.
  u64 (*most_keys)(const Spec& index) = [](const Spec&) { return ~u64{0}; };
  /// Bits of the keys and the values that the index has room for with these options.
  Widths (*widths)(const Spec& index) = [](const Spec&) { return Widths(); };
  std::unique_ptr<Trial> (*make_trial)(const Plan&) = nullptr;
  std::unique_ptr<Erased> (*make_index)(const Spec& sync, const MemoryConfig&, const Spec& index) = nullptr;
};

class Registry {
 public:
  void add(Pair pair);

  /// Throws InputError unless both words are registered, with or without each other.
  void check_words(std::string_view index, std::string_view policy) const;

  /// The pair of a run; throws InputError that lists what exists and suggests the nearest word. `from`: the option that
  /// says which keys there are.
  [[nodiscard]] const Pair& find(std::string_view index, std::string_view policy, KeyKind keys,
                                 std::string_view from = "--keys") const;

  /// In order of registration, each word once.
  [[nodiscard]] std::vector<std::string> indexes() const;
  [[nodiscard]] std::vector<std::string> policies() const;
  [[nodiscard]] std::vector<std::string> policies_of(std::string_view index) const;
  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  std::vector<Pair> pairs_;
};

/// Calls every registration function of this build. Generated: see cmake/.
void register_all(Registry& registry);

}  // namespace latchlab
