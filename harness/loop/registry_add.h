#pragma once

// The bridge from one shared index type to its entry in the registry. Only the generated translation units of pairs,
// and tests with an index of their own, may include it: it pulls in the hot loop.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/config/registry.h"
#include "harness/loop/trial_of.h"
#include "indexes/by_hash.h"
#include "indexes/erased.h"
#include "indexes/concepts.h"
#include "sync/synchronized.h"

namespace latchlab {

/// Returns the options that can be set in the spec `word`, each with its default.
template <class Options>
std::vector<OptionInfo> options_of(const std::string& word) {
  std::vector<OptionInfo> out;
  for (auto& [key, standard] : Options::parse(Spec{.name = word, .arg = {}, .options = {}}).resolved()) {
    OptionInfo option{.key = key, .standard = standard, .meaning = {}};
    if constexpr (requires { Options::about(key); }) option.meaning = Options::about(key);
    out.push_back(std::move(option));
  }
  return out;
}

// Functions of Options for Pair's function pointers: one instantiation for all pairs that share the Options.
template <class Options>
auto resolved_by(const Spec& spec) {
  return Options::parse(spec).resolved();
}
template <class Options>
auto degraded_by(const Spec& spec) {
  return Options::parse(spec).degraded();
}
template <class Options>
u64 most_keys_by(const Spec& spec) {
  return Options::parse(spec).most_keys();
}
template <class Options>
u64 least_bytes_by(const Spec& spec) {
  return Options::parse(spec).least_bytes();
}
template <class Options>
auto widths_by(const Spec& spec) {
  return Options::parse(spec).widths();
}

/// Fills in the fields that depend on the index only.
template <class Written>
void describe_index(Pair& pair) {
  if constexpr (requires { Written::kOwnMemory; }) pair.own_memory = Written::kOwnMemory;
  if constexpr (requires { Written::kNeeds; }) pair.needs = Written::kNeeds;
  if constexpr (requires { Written::kDenseKeys; }) {
    pair.dense_keys = Written::kDenseKeys;
    pair.no_sized = "its values are counters";
  }
  if constexpr (requires { Written::kLibrary; }) pair.library = Written::kLibrary;
  if constexpr (requires { Written::kNoErase; }) pair.no_erase = Written::kNoErase;
  if constexpr (requires { typename Written::Options; }) {
    using Options = typename Written::Options;
    pair.resolve_index = resolved_by<Options>;
    pair.index_options = options_of<Options>(pair.index);
    if constexpr (requires { Options::kMeantBy; }) pair.meant_by = Options::kMeantBy;
    if constexpr (requires { Options::variants(); }) pair.variants = Options::variants();
    if constexpr (requires(const Options& options) { options.degraded(); }) pair.index_degraded = degraded_by<Options>;
    if constexpr (requires(const Options& options) { options.most_keys(); }) pair.most_keys = most_keys_by<Options>;
    if constexpr (requires(const Options& options) { options.least_bytes(); })
      pair.least_bytes = least_bytes_by<Options>;
    if constexpr (requires(const Options& options) { options.widths(); }) pair.widths = widths_by<Options>;
  } else {
    pair.resolve_index = [](const Spec& spec) {
      SpecReader(spec, "index " + spec.name).finish();
      return std::vector<std::pair<std::string, std::string>>();
    };
  }
}

/// Fills in the fields that depend on the policy only.
template <class Policy>
void describe_policy(Pair& pair) {
  using Options = typename Policy::Options;
  pair.resolve = resolved_by<Options>;
  pair.about = Policy::kAbout;
  pair.many_writers = Policy::kManyWriters;
  pair.elides = Policy::kElides;
  pair.servers = Policy::kServers;
  pair.elides_reads = Policy::kElidesReads;
  pair.degraded = [](const Spec& sync) { return Policy::degraded(Options::parse(sync)); };
  if constexpr (!requires { typename Policy::Reclaimer; }) {
    pair.no_reclaim = "the index reclaims by itself";
  } else if constexpr (Policy::Reclaimer::kName == "immediate") {
    pair.no_reclaim = "the policy frees unlinked memory at once";
  }
  if constexpr (requires(const Options& options) { Options::on_nodes(Spec(), u64{}), options.count(); }) {
    pair.copies = [](const Spec& sync, u64 nodes) -> u64 {
      return Options::parse(Options::on_nodes(sync, nodes)).count();
    };
  }
  pair.no_wait = Policy::kWaitsElsewhere;
  if (!Policy::kHasSections) pair.no_sections = "its operations do not hold one lock from beginning to end";
  pair.options = options_of<Options>(pair.policy);
}

/// Registers SharedIndex (see indexes/concepts.h: a Synchronized<Index, Policy, Key> or a peer) for one key kind. An
/// index may describe itself by these optional members, of the index or of the class that was joined to a policy:
///   kOwnMemory             why the harness cannot choose its memory: --alloc and --hugepages=thp do not reach it, and
///                          it counts its own bytes()
///   kNeeds                 what a run needs besides this process, or the keys that it needs
///   kDenseKeys             true if it is an array, whose keys are 0, 1, ...
///   kNoErase               why its erase must not be called
///   kLibrary               for a peer: the library that it is from, by its name in build_info().libraries
///   Options::kMeantBy      a MeantBy, if the name of another index may mean this one too
///   Options::degraded()    why this process cannot do what the options ask for, if so
///   Options::least_bytes() the bytes of the empty index, if options can make that more than a machine has
///   Options::widths()      the bits of its keys and values, if they may be fewer than 64
///   Options::most_keys()   the largest number of keys, if the index cannot grow beyond it
///   Options::variants()    specs with 64-bit keys and values, each of which selects code of its own
///   Options::about(key)    the meaning of one option in a few words
/// A policy describes itself by the members listed in sync/promises.h.
template <class SharedIndex>
  requires latchlab::SharedIndex<SharedIndex>
void add_pair(Registry& registry, std::string index, std::string policy, KeyKind keys) {
  Pair pair;
  pair.index = std::move(index);
  pair.policy = std::move(policy);
  pair.keys = keys;
  pair.ordered = SharedIndex::kOrdered;
  if constexpr (!kModifies<SharedIndex>) pair.no_modify = "no call of it reads a value and stores another in one step";
  if constexpr (!keeps_pairs<SharedIndex>()) pair.no_sized = "it keeps nothing";
  if constexpr (!kModifies<SharedIndex>) pair.no_sized = pair.no_modify;
  if constexpr (!kFindsBatches<SharedIndex> || !kChangesBatches<SharedIndex>)
    pair.no_batch = "the index takes one key at a time";
  if constexpr (requires { SharedIndex::kSideBySide; }) pair.side_by_side = SharedIndex::kSideBySide;
  pair.hints = kPrefetches<SharedIndex>;
  pair.learns = kLearns<SharedIndex>;
  pair.far_leaves = kFarLeaves<SharedIndex>;
  describe_index<typename WrittenAs<SharedIndex>::Type>(pair);
  describe_policy<PolicyOf<SharedIndex>>(pair);
  pair.make_trial = [](const Plan& plan, const MemoryConfig& memory) -> std::unique_ptr<Trial> {
    return std::make_unique<TrialOf<SharedIndex>>(plan, memory);
  };
  pair.make_index = [](const Spec& sync, const MemoryConfig& memory, const Spec& spec) -> std::unique_ptr<Erased> {
    return std::make_unique<TrialOf<SharedIndex>>(sync, memory, spec);
  };
  registry.add(std::move(pair));
}

/// Registers an index joined to a policy if the index admits the policy (Admits, sync/concepts.h); else does nothing.
template <template <class, class> class Index, class Policy, class Key>
void add_pair_if_admitted(Registry& registry, std::string index, std::string policy, KeyKind keys) {
  if constexpr (Admits<Index<typename Policy::Layout, Key>, Policy>) {
    add_pair<Synchronized<Index, Policy, Key>>(registry, std::move(index), std::move(policy), keys);
  }
}

/// Does the same for an index of numbers that sees hashes of byte strings (indexes/by_hash.h).
template <template <class, class> class Index, class Policy>
void add_pair_by_hash_if_admitted(Registry& registry, std::string index, std::string policy) {
  if constexpr (Admits<Index<typename Policy::Layout, U64Key>, Policy>) {
    add_pair<ByHash<Synchronized<Index, Policy, U64Key>>>(registry, std::move(index), std::move(policy),
                                                          KeyKind::kBytes);
  }
}

}  // namespace latchlab
