#pragma once

// The registry maps names to types. Index, policy and key kind are the only types of a run. A Pair joins their three
// names to functions that build the typed objects behind virtual interfaces. CMake generates translation units of up to
// seven pairs of one index, each with an explicit registration function, and one file that calls them all:
//
//   void register_art_7(Registry& registry) {
//     add_pair<Synchronized<Art, Rtm<Native>, U64Key>>(registry, "art", "rtm", KeyKind::kU64);   // registry_add.h
//     add_pair<Synchronized<Art, Rtm<Native>, BytesKey>>(registry, "art", "rtm", KeyKind::kBytes);
//   }
//
// Nothing registers itself from a static initialiser: the registry holds exactly what the generated file names.

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

/// An option of a policy or an index, as `harness list` shows it.
struct OptionInfo {
  std::string key;
  std::string standard;  ///< default value
  std::string meaning;
};

struct Pair {
  std::string index;
  std::string policy;
  KeyKind keys = KeyKind::kU64;
  bool ordered = false;       ///< scans work
  bool many_writers = true;   ///< several threads may write at once
  bool learns = false;        ///< lookups change the index
  bool elides = false;        ///< operations can run without taking the lock, if the processor supports it
  u32 servers = 0;            ///< threads of the policy's own, which run operations
  bool elides_reads = true;   ///< if `elides`: so can operations that only read
  std::string own_memory;     ///< why --alloc and --hugepages=thp have no effect on the index; empty if they have
  std::string needs;          ///< what must be there besides this process, as in "servers"; empty if nothing
  bool dense_keys = false;    ///< the index is an array by key
  std::string library;        ///< a peer's library, as build_info().libraries calls it; empty for Latchlab's indexes
  std::string no_erase;       ///< why the index cannot erase; empty if it can
  std::string no_modify;      ///< why the index has no modify; empty if it has
  std::string no_sized;       ///< why the index cannot have values of any size; empty if it can
  std::string no_batch;       ///< why the index has no batches; empty if it has
  bool side_by_side = false;  ///< the lookups of a batch may run side by side
  bool hints = false;         ///< the index prefetches for operations to come
  bool far_leaves = false;    ///< the index can have its leaves in another memory than its inner nodes
  std::string no_reclaim;     ///< why --reclaim has no effect on the policy; empty if it has
  /// The number of copies of the index that the policy keeps in a run on so many NUMA nodes; null: one.
  u64 (*copies)(const Spec& sync, u64 nodes) = nullptr;
  std::string no_sections;          ///< why --slice-extension has no effect on the policy; empty if it has
  std::string no_wait;              ///< why --wait has no effect on the policy; empty if it has
  std::string about;                ///< the policy in one line
  std::vector<OptionInfo> options;  ///< options of the policy
  std::vector<OptionInfo> index_options;
  MeantBy meant_by;
  std::vector<std::string> variants;  ///< specs of the index; each instantiates code that tests must run

  /// Returns why this process cannot do what the policy's name promises; nothing if it can.
  std::optional<std::string> (*degraded)(const Spec& sync) = [](const Spec&) { return std::optional<std::string>(); };

  /// Returns every option of the policy as it would be in effect. Throws InputError for a malformed spec. Builds
  /// nothing.
  std::vector<std::pair<std::string, std::string>> (*resolve)(const Spec& sync) = nullptr;
  /// Does the same for the options of the index.
  std::vector<std::pair<std::string, std::string>> (*resolve_index)(const Spec& index) = nullptr;
  /// Returns why this process cannot do what the index's options ask for; nothing if it can.
  std::optional<std::string> (*index_degraded)(const Spec& index) = [](const Spec&) {
    return std::optional<std::string>();
  };
  /// Returns the bytes that an empty index takes with these options; 0 if they are too few to check.
  u64 (*least_bytes)(const Spec& index) = [](const Spec&) { return u64{0}; };
  /// Returns the largest number of keys that the index has room for with these options.
  u64 (*most_keys)(const Spec& index) = [](const Spec&) { return ~u64{0}; };
  /// Returns the bits of a key and of a value in the index with these options.
  Widths (*widths)(const Spec& index) = [](const Spec&) { return Widths(); };
  std::unique_ptr<Trial> (*make_trial)(const Plan&, const MemoryConfig&) = nullptr;
  std::unique_ptr<Erased> (*make_index)(const Spec& sync, const MemoryConfig&, const Spec& index) = nullptr;
};

/// An index with those of its policies that this build lacks: the matrix of CMake has them, but a build may compile
/// only some of its pairs.
struct Lacking {
  std::string index;
  std::vector<std::string> policies;
  MeantBy meant_by;
};

class Registry {
 public:
  void add(Pair pair);
  void add_lacking(Lacking lacking);
  /// Sets the order of policies(), which would otherwise depend on the pairs of this build. A policy that `words` lack
  /// comes last.
  void order_policies(std::vector<std::string> words);
  /// Adds an index that cannot run on this build's modelled machine, since its fields are no cells.
  void add_unseen(std::string index);

  /// Throws InputError if the index or the policy does not exist, in this build or another, or if the index is unseen.
  void check_existence(std::string_view index, std::string_view policy) const;
  /// Does so too if this build lacks the pair. Both may exist without being a pair.
  void check_words(std::string_view index, std::string_view policy) const;

  /// Returns the pair of a run. If there is none, throws InputError that lists the existing words and suggests the
  /// nearest. `from` is the option that decides the key kind, for the message.
  [[nodiscard]] const Pair& find(std::string_view index, std::string_view policy, KeyKind keys,
                                 std::string_view from = "--keys") const;

  // Names in order of registration, each once; policies in their own order if they have one.
  [[nodiscard]] std::vector<std::string> indexes() const;
  [[nodiscard]] std::vector<std::string> policies() const;
  [[nodiscard]] std::vector<std::string> policies_of(std::string_view index) const;
  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }

  [[nodiscard]] const std::vector<Lacking>& lacking() const { return lacking_; }
  [[nodiscard]] bool lacks(std::string_view index, std::string_view policy) const;
  /// Returns the name of the index that an option of `index` selects, in this build or another (MeantBy); else the
  /// name of `index`.
  [[nodiscard]] std::string index_meant(const Spec& index) const;
  /// Return the words of this build, followed by those that it lacks.
  [[nodiscard]] std::vector<std::string> existing_indexes() const;
  [[nodiscard]] std::vector<std::string> existing_policies() const;

 private:
  std::vector<Pair> pairs_;
  std::vector<Lacking> lacking_;
  std::vector<std::string> order_;  // of policies
  std::vector<std::string> unseen_;
};

// Generated for each harness by cmake/pairs.cmake:

/// Calls every registration function of this harness.
void register_all(Registry& registry);

/// Returns the machine that its policies run on: Native, Emulated or Modelled.
[[nodiscard]] std::string_view machine();

}  // namespace latchlab
