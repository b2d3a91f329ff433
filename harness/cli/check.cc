#include "harness/cli/check.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/combinations.h"
#include "harness/cli/memory_room.h"
#include "harness/cli/modelled.h"
#include "harness/config/values.h"
#include "harness/host/environment.h"
#include "harness/host/modelled_machine.h"
#include "harness/host/placement.h"
#include "harness/host/pmu_events.h"
#include "src/base/error.h"
#include "src/memory/accessed_bits.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

constexpr u64 kDefaultWarmup = 200'000'000;
constexpr u64 kDefaultTime = 3'000'000'000;
constexpr u64 kModelledTime = 10'000'000;

/// Returns the bits of keys of this kind, if they are numbers.
u32 bits_of(const Spec& keys) { return keys.name == "u16" ? 16 : keys.name == "u32" ? 32 : 64; }

/// Returns the result of `make`, whose errors then begin with the option's name.
auto named(std::string_view option, auto&& make) {
  try {
    return make();
  } catch (const Contradiction& error) {
    throw Contradiction(fmt::format("{}: {}", option, error.what()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", option, error.what()));
  }
}

/// Fills in what a workload file defines instead of options. Returns why an option that was given has no effect.
std::string take_file(Plan& plan, const Workload& workload, const Defaults& defaults) {
  Config& config = plan.config;
  if (const auto& file = workload.wiscer()) {
    config.keys = Spec{.name = file->sequential ? "dense" : "affine", .arg = {}, .options = {}};
    if (file->sorted) config.keys.options.emplace_back("in_order", "1");
    config.records = file->initial_size;
    if (defaults.time) config.ops = file->operations;
    if (!config.rows) config.rows = 1'000'000;  // its "batches"
  } else {
    config.keys = Spec{.name = "trace", .arg = config.workload.arg, .options = {}};
    config.records = workload.trace()->loaded();
    if (defaults.time) config.ops = workload.trace()->ops().size();
  }
  plan.no_distribution = "the file says how popular keys are";
  plan.no_churn = "the file says how popularity changes";
  const auto not_reached = [&](std::string_view option, std::string_view what) {
    return fmt::format("{}: it does not reach --workload={}: the file says {}", option, config.workload.str(), what);
  };
  if (!defaults.keys) return not_reached("--keys", "which keys there are");
  if (!defaults.records) return not_reached("--records", "how many keys are loaded");
  if (config.negative > 0) return not_reached("--negative", "which keys are read");
  return "";
}

/// Fills in what a file of phases defines instead of options. Returns why an option that was given has no effect.
std::string take_phases(Plan& plan, const Workload& workload, const Defaults& defaults) {
  Config& config = plan.config;
  if (defaults.time) {
    config.ops = 0;
    for (const WorkloadPhase& phase : workload.phases()) config.ops += phase.operations;
  }
  plan.no_distribution = "the file says how popular keys are";
  plan.no_churn = "the file says how popularity changes";
  if (config.negative <= 0) return "";
  return fmt::format("--negative: it does not reach --workload={}: the file says what is read", config.workload.str());
}

/// Makes --isa an option of the index, or returns why it cannot be one. Throws InputError for an unknown word, and
/// Contradiction for one that contradicts the other options.
std::string take_isa(Plan& plan, const Registry& registry) {
  Config& config = plan.config;
  if (config.isa.empty()) return "";
  const auto pair = std::ranges::find(registry.pairs(), config.index.name, &Pair::index);
  if (std::ranges::find(pair->index_options, "isa", &OptionInfo::key) == pair->index_options.end()) {
    return fmt::format("--isa: it does not reach {}, which has no kernels to choose from", config.index.name);
  }
  const auto is_isa = [](const auto& option) { return option.first == "isa"; };
  if (std::ranges::any_of(config.index.options, is_isa)) {
    return fmt::format("--isa: --index={} has an isa already; leave one of them out", config.index.str());
  }
  const Spec alone{.name = config.index.name, .arg = {}, .options = {{"isa", config.isa}}};
  (void)named("--isa", [&] { return pair->resolve_index(alone); });
  config.index.options.emplace_back("isa", std::exchange(config.isa, ""));
  plan.index_options = named("--isa", [&] { return pair->resolve_index(config.index); });
  return "";
}

}  // namespace

Spec index_meant(Spec index, const Registry& registry) {
  const std::string meant = registry.index_meant(index);
  if (meant == index.name) return index;
  const auto member = std::ranges::find(registry.pairs(), meant, &Pair::index);
  if (member != registry.pairs().end()) {  // otherwise it is not in this build, as the search for the pair will say
    for (const auto& [key, value] : index.options) {
      if (std::ranges::count(member->index_options, key, &OptionInfo::key) != 0) continue;
      throw InputError(fmt::format("--index: '{}' is {}, by its option {}, and that has no option {}", index.str(),
                                   member->index, member->meant_by.option, key));
    }
  }
  index.name = meant;
  return index;
}

Spec in_effect(const Spec& sync, const Registry& registry) {
  for (const Pair& pair : registry.pairs()) {
    if (pair.policy != sync.name) continue;
    return {.name = sync.name, .arg = {}, .options = named("--sync", [&] { return pair.resolve(sync); })};
  }
  return sync;
}

Spec index_in_effect(const Spec& index, const Registry& registry) {
  const auto pair = std::ranges::find(registry.pairs(), index.name, &Pair::index);
  if (pair == registry.pairs().end()) return index;
  return {.name = index.name, .arg = {}, .options = named("--index", [&] { return pair->resolve_index(index); })};
}

namespace {

/// A point on its way from options to a Plan, in steps. Steps that return nothing throw InputError for an option that
/// is wrong by itself. The others return why the combination is wrong.
class Completion {
 public:
  Completion(Config config, const Defaults& defaults, const Surroundings& surroundings, CapacityOfKeys& capacities)
      : defaults_(defaults), surroundings_(surroundings), capacities_(capacities) {
    plan_.config = std::move(config);
  }

  Planned run() {
    plan_.skip = why_skipped();
    const bool fits = plan_.skip.empty() || plan_.skip != no_room_;
    return {.plan = std::move(plan_), .fits = fits};
  }

 private:
  std::string why_skipped() {
    standard_scale_ = take_machine(plan_, defaults_);
    find_workload();
    if (plan_.requests_to.empty()) check_words();
    find_seats();
    find_operations();
    find_records();
    check_scale();
    if (!plan_.requests_to.empty()) return "";
    for (const auto step : {&Completion::join, &Completion::fill, &Completion::combine, &Completion::refuse_degraded}) {
      if (std::string why = (this->*step)(); !why.empty()) return why;
    }
    return "";
  }

  /// Finds the workload. A Wiscer file also names the index, or asks to write its requests to a file.
  void find_workload() {
    plan_.workload =
        named("--workload", [&] { return std::make_shared<Workload>(config_.workload, config_.negative); });
    if (!defaults_.index) return;
    const std::vector<std::string> known = surroundings_.registry.existing_indexes();
    // A harness with one index, such as a user's own, runs that one if --index is not given.
    if (known.size() == 1) config_.index = Spec{.name = known.front(), .arg = {}, .options = {}};
    const auto& file = plan_.workload->wiscer();
    if (!file) return;
    const WiscerEngine engine = file->engine_in_effect();
    if (engine.index.empty()) {
      plan_.requests_to = file->output_in_effect();
      return;
    }
    if (std::ranges::find(known, engine.index) == known.end()) {
      throw InputError(fmt::format(
          "--workload: {} is for storageEngine={}, which is --index={}; this build has {}: write --index=NAME",
          config_.workload.str(), engine.word, engine.index, fmt::join(known, ", ")));
    }
    config_.index = Spec{.name = std::string(engine.index), .arg = {}, .options = {}};
  }

  /// Checks the names of index and policy, the index's and the policy's options, and the events.
  void check_words() {
    surroundings_.registry.check_words(config_.index.name, config_.sync.name);
    try {
      plan_.index_options = index_in_effect(config_.index, surroundings_.registry).options;
      no_options_ = take_isa(plan_, surroundings_.registry);
    } catch (const Contradiction& error) {
      plan_.index_options.clear();  // no option is in effect
      no_options_ = error.what();
    }
    (void)in_effect(config_.sync, surroundings_.registry);
    if (config_.pmu != kDefaultPmu) (void)pmu_events(config_.pmu);  // throws for unknown events
  }

  /// Finds the number of threads, their processors and the nodes of the memory.
  void find_seats() {
    const Topology& topology = plan_.model ? plan_.model->topology : surroundings_.topology;
    fits([&] { plan_.groups = groups_of(topology, config_); });
    if (config_.threads * plan_.groups > kMostThreads) {
      throw InputError(fmt::format("--threads-per: {} threads in each of {} {}s are more than {}", config_.threads,
                                   plan_.groups, word(config_.threads_per), kMostThreads));
    }
    config_.threads *= plan_.groups;
    fits([&] {
      const Seats& seats = plan_.seats = seat(topology, config_);
      plan_.nodes = static_cast<u32>(nodes_of_seats(topology, seats).size());
      if (!config_.fit || !seats.oversubscribed) return;
      throw NoRoom(
          fmt::format("{} threads would share {}", seats.threads(),
                      seats.processors == 1 ? "one processor" : fmt::format("{} processors", seats.processors)));
    });
    fits([&] { place_memory(plan_, topology); });
    memory_available_ = surroundings_.memory_available;
    if (!plan_.model) memory_available_ = std::min(memory_available_, available_memory_on(plan_.pages));
    fits([&] { check_media(config_, topology, memory_available_); });
  }

  /// Finds the keys that the workload uses, and the length of its phases.
  void find_operations() {
    // --dist is checked even if the workload's usual distribution replaces it.
    (void)named("--dist", [&] { return Distribution(config_.distribution); });
    churn_ = named("--churn", [&] { return Churn::parse(config_.churn); });
    const bool by_phases = !plan_.workload->phases().empty();
    if (!mix().draws_keys()) plan_.no_distribution = "it takes the records in turn";
    if (defaults_.dist && !mix().usual_distribution().empty())
      config_.distribution = Spec::parse(mix().usual_distribution());
    if (mix().fills()) {
      leave_out_warmup("begins with an empty index");
    } else if (by_phases) {
      leave_out_warmup("measures each phase; make a warm-up its first");
    } else if (defaults_.warmup) {
      config_.warmup_ns = by_file() ? 0 : kDefaultWarmup;
      if (plan_.model) count_warmup();
    }
    if (defaults_.time && !mix().fills() && !by_file() && !by_phases)
      config_.time_ns = plan_.model ? kModelledTime : kDefaultTime;
    no_file_ = by_file()   ? take_file(plan_, *plan_.workload, defaults_)
               : by_phases ? take_phases(plan_, *plan_.workload, defaults_)
                           : "";
    if ((config_.rate || config_.slo) && defaults_.latency)
      config_.latency_every = 1;  // every call of an open loop runs alone anyway
  }

  /// Makes the warm-up a number of operations instead of a time. It has to fill the caches, and no more.
  void count_warmup() {
    config_.warmup_ns = 0;
    if (!by_file()) plan_.warmup_operations = plan_.model->warmup_operations();
  }

  /// Leaves the warm-up out, with a note if --warmup was given.
  void leave_out_warmup(std::string_view why) {
    if (!defaults_.warmup && config_.warmup_ns > 0) {
      plan_.inert.push_back(fmt::format("--warmup={} is inert: --workload={} {}", duration_text(config_.warmup_ns),
                                        config_.workload.str(), why));
    }
    config_.warmup_ns = 0;
  }

  /// Takes the standard scale of a modelled machine back where the records are not those that it is for.
  void check_scale() {
    if (!standard_scale_ || config_.records == ModelledMachine::kStandardRecords) return;
    take_whole_machine(plan_);
    if (plan_.warmup_operations > 0) count_warmup();
  }

  /// Finds the number of records, for which there must be enough keys and memory.
  void find_records() {
    capacity_ = named("--keys", [&] { return capacities_.of(config_.keys, memory_available_); });
    if (defaults_.records && !by_file()) {
      // A mix that inserts needs keys that are not in the index.
      const u64 keys_left = !mix().fills() && mix().has(OpKind::kInsert) ? capacity_ / 2 : capacity_;
      const u64 usual =
          plan_.model ? ModelledMachine::kStandardRecords : default_records(config_, memory_available_ / copies());
      config_.records = std::min(usual, std::max<u64>(keys_left, 1));
    } else if (config_.records > capacity_) {
      throw InputError(fmt::format("--records: --keys={} has distinct keys for {} records, not for {}",
                                   config_.keys.str(), capacity_, config_.records));
    }
    const u64 least = least_bytes_per_key(config_.keys);
    if (config_.records <= memory_available_ / least) return;
    fits([&] {
      throw NoRoom(fmt::format("{}: {} keys take at least {:.0f} GB; {:.1f} GB of memory are available",
                               by_file() ? "--workload" : "--records", config_.records,
                               static_cast<double>(config_.records * least) / 1e9,
                               static_cast<double>(memory_available_) / 1e9));
    });
  }

  // From here on every word is right by itself; the remaining checks are of combinations.

  /// Returns the number of copies of the index that the policy keeps.
  u64 copies() const {
    const auto& pairs = surroundings_.registry.pairs();
    const auto pair = std::ranges::find(pairs, config_.sync.name, &Pair::policy);
    return pair == pairs.end() || !pair->copies ? 1 : pair->copies(config_.sync, plan_.nodes);
  }

  /// Finds the pair of index and policy for this kind of keys.
  std::string join() {
    try {
      pair_ = &surroundings_.registry.find(config_.index.name, config_.sync.name, config_.key_kind(), key_option());
    } catch (const InputError& error) {
      return error.what();
    }
    plan_.own_memory = pair_->own_memory;
    if (!no_options_.empty()) return no_options_;
    if (!no_file_.empty()) return no_file_;
    plan_.index_degraded = pair_->index_degraded(config_.index).value_or("");
    plan_.widths = pair_->widths(config_.index);
    plan_.no_reclaim = pair_->no_reclaim;
    plan_.no_wait = plan_.model ? "a modelled thread waits for the line of its cell" : pair_->no_wait;
    plan_.no_sections = plan_.model ? "no modelled thread loses its processor" : pair_->no_sections;
    plan_.servers = pair_->servers;
    return "";
  }

  /// Checks that the index has room for the records, that there are enough keys, and that they are not too wide.
  std::string fill() {
    if (const u64 least = pair_->least_bytes(config_.index); least > memory_available_) {
      fits([&] {
        throw NoRoom(fmt::format("--index: {} takes at least {:.0f} GB; {:.1f} GB of memory are available",
                                 config_.index.str(), static_cast<double>(least) / 1e9,
                                 static_cast<double>(memory_available_) / 1e9));
      });
    }
    if (plan_.model && plan_.servers > plan_.seats.free.size()) {
      fits([&] {
        throw NoRoom(fmt::format(
            "--threads: {} has a server beside the threads, which needs a hardware thread of its own: {} has {} in all",
            config_.sync.name, plan_.model->file.name(), plan_.model->topology.processors.size()));
      });
    }
    const bool fills = mix().fills();
    plan_.most_keys = pair_->most_keys(config_.index);
    // By default a table is filled to nine tenths.
    if (defaults_.records && !fills && !by_file()) {
      config_.records = std::min(config_.records, plan_.most_keys - plan_.most_keys / 10);
    }
    if (!fills && config_.records > plan_.most_keys) {
      return fmt::format("--records: {} has {} slots, too few for {} records", config_.index.str(), plan_.most_keys,
                         config_.records);
    }
    if (config_.sized()) {
      if (!pair_->no_sized.empty())
        return fmt::format("--value-size: {} has values of 8 bytes: {}", config_.index.name, pair_->no_sized);
      if (plan_.widths.value < 64) {
        return fmt::format("--value-size: {} keeps values of {} bits, too few to lead to values of another size",
                           config_.index.str(), plan_.widths.value);
      }
      plan_.widths.value = checked_bits(config_.value_size);
      fits([&] { check_room_for_values(config_, memory_available_); });
      fits([&] { check_room_in_two_memories(config_, by_file() ? "--workload" : "--records"); });
    }
    fits([&] { check_room_for_history(config_, memory_available_); });
    // A file has its own keys for its inserts.
    if (mix().has(OpKind::kInsert) && !fills && !mix().has(OpKind::kErase) && !by_file() &&
        config_.records == capacity_) {
      if (defaults_.records) {
        return fmt::format("--keys: no key of {} is left to insert: all of them ({}) are loaded", config_.keys.str(),
                           capacity_);
      }
      return fmt::format("--records: --keys={} has {} keys, too few for {} records and one to insert; write fewer",
                         config_.keys.str(), capacity_, config_.records);
    }
    if (plan_.widths.key < bits_of(config_.keys)) {
      const std::string instead = config_.key_kind() == KeyKind::kBytes ? "; of byte strings it holds hashes of 64 bits"
                                  : by_file()                           ? ""
                                              : fmt::format("; write --keys=u{}", plan_.widths.key);
      return fmt::format("{}: {} holds keys of {} bits{}", key_option(), config_.index.str(), plan_.widths.key,
                         instead);
    }
    return "";
  }

  std::string combine() {
    std::string why = why_not_together({.plan = plan_,
                                        .config = config_,
                                        .defaults = defaults_,
                                        .pair = *pair_,
                                        .workload = *plan_.workload,
                                        .churn = churn_,
                                        .capacity = capacity_});
    if (why.empty()) why = no_room_;
    return why.empty() ? why_not_modelled(plan_, *pair_) : why;
  }

  /// With --strict throws InputError if the run would not be measured as it was asked for.
  std::string refuse_degraded() {
    if (!config_.strict) return "";
    const auto refuse = [](const std::string& why) {
      if (!why.empty()) throw InputError("--strict: the result would be degraded: " + why);
    };
    refuse(plan_.index_degraded);
    refuse(plan_.mem_degraded);
    if (config_.preempt) refuse("--preempt makes a run a test and no measurement");
    if (config_.clear_accessed_ns != 0) refuse(why_accessed_stay().value_or(""));
    if (pair_->elides_reads || mix().changes()) refuse(pair_->degraded(config_.sync).value_or(""));
    return "";
  }

  const Mix& mix() const { return plan_.workload->mix(); }
  bool by_file() const { return plan_.workload->by_file(); }
  /// Returns the option that defines the keys.
  std::string key_option() const { return by_file() ? fmt::format("--workload={}", config_.workload.str()) : "--keys"; }

  /// Runs a check. With --fit a NoRoom is noted instead of thrown, so that later checks can still find a wrong option.
  void fits(const auto& look) {
    try {
      look();
    } catch (const NoRoom& error) {
      if (!config_.fit) throw;
      if (no_room_.empty()) no_room_ = error.what();
    }
  }

  Plan plan_;
  Config& config_ = plan_.config;
  const Defaults& defaults_;
  const Surroundings& surroundings_;
  CapacityOfKeys& capacities_;
  u64 memory_available_ = 0;
  bool standard_scale_ = false;  // of a modelled machine
  u64 capacity_ = 0;             // distinct keys
  Churn churn_;
  std::string no_room_;     // why this machine is too small for the point, with --fit
  std::string no_options_;  // why the index's options contradict each other or --isa
  std::string no_file_;     // why an option that was given does not reach the workload's file
  const Pair* pair_ = nullptr;
};

}  // namespace

Planned planned(Config config, const Defaults& defaults, const Surroundings& surroundings, CapacityOfKeys& capacities) {
  return Completion(std::move(config), defaults, surroundings, capacities).run();
}

u64 CapacityOfKeys::of(const Spec& keys, u64 memory) {
  const std::string text = keys.str();
  for (const auto& [known, capacity] : known_) {
    if (known == text) return capacity;
  }
  const u64 capacity = KeySet(keys, 0, memory).capacity();
  known_.emplace_back(text, capacity);
  return capacity;
}

}  // namespace latchlab
