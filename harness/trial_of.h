// The one hot loop. Compiled once for each pair of index and policy, with the index's operations inlined into
// it; everything else of a trial is in trial.cc.
//
// A slice comes as an array of steps. When all its steps are reads or all are inserts the loop is specialised
// for them: it has no switch, the index's operation is part of it, and its counts stay in registers. A read
// is judged by a few instructions on values that are there anyway: found or not, and the exclusive or of the
// upper halves of what came back and what was to be. An insert adds the tag of its value to the checksum,
// which nothing waits for. The counts end in the result, so that no operation can be optimised away.
//
// Nothing here reads a clock, but for calls that stand alone to be timed (latency.h).
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/latency.h"
#include "harness/trial.h"
#include "indexes/any_index.h"
#include "indexes/concepts.h"
#include "src/arch/rtm_status.h"
#include "src/arch/sanitizer.h"
#include "src/memory/memory_config.h"
#include "src/reclaim/immediate.h"
#include "src/stats/counters.h"

namespace latchlab {

/// A key for an error message: a number, or text with everything unprintable escaped.
[[nodiscard]] std::string shown(u64 key);
[[nodiscard]] std::string shown(std::string_view key);

/// What --alloc and --hugepages mean to an index.
[[nodiscard]] MemoryConfig memory_config_of(const Config& config);

/// A copy of a key that outlives what it was a view of.
template <class Raw>
using OwnedKey = std::conditional_t<std::is_same_v<Raw, std::string_view>, std::string, Raw>;

template <class Raw>
Raw key_of(const Step& step) {
  if constexpr (std::is_same_v<Raw, u64>) {
    return step.number;
  } else {
    return Raw(step.bytes, step.length);
  }
}

/// Operations that took the lock though elision worked.
template <class Counters>
u64 by_choice(const Counters& counters) {
  if constexpr (requires { counters.direct_lock; }) return counters.direct_lock;
  return 0;
}

/// The tag in a value (workloads/value.h), wherever it stands in values of so many bits. It is also the share of a key in the
/// checksum of what is there: a hash of the key already, so that nothing is hashed while the clock runs. A sum of them does
/// not depend on the order of insertions and erasures.
template <class Index>
class TagOf {
 public:
  explicit TagOf(u32 value_bits) : value_bits_(value_bits) {}
  u32 value_bits() const { return value_bits_; }
  u64 operator()(u64 value) const { return value >> (kMayBeNarrow ? value_bits_ / 2 : 32); }

 private:
  static constexpr bool kMayBeNarrow = requires(const typename WrittenAs<Index>::Type::Options& options) { options.widths(); };
  u32 value_bits_;
};

/// On lines of its own: the counters are in it.
template <SharedIndex Index>
class alignas(kFalseSharingBytes) SessionOf final : public Session {
  using Raw = typename Index::Raw;
  using Thread = decltype(std::declval<Index&>().join());

 public:
  SessionOf(Index& index, const Batching& batch, u32 value_bits = 64)
      : index_(index), me_(index.join()), batch_(batch), tag_of_(value_bits) {}

  u32 run(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_steps, Latencies* latencies) override {
    if constexpr (kLearns<Index>) {
      if (!slice.teaches) {
        const auto watch = me_.watch;
        me_.watch.sleep();
        const u32 done = run_steps(slice, stop, tally, stop_steps, latencies);
        me_.watch = watch;
        return done;
      }
    }
    return run_steps(slice, stop, tally, stop_steps, latencies);
  }

  [[nodiscard]] std::vector<u64> counters() const override {
    std::vector<u64> out;
    if constexpr (requires { me_.counters; }) {
      for_each_counter(me_.counters, [&](std::string_view, u64 value) { out.push_back(value); });
      if constexpr (requires { me_.counters.histogram; }) {
        out.insert(out.end(), me_.counters.histogram.begin(), me_.counters.histogram.end());
      }
    }
    return out;
  }
  [[nodiscard]] Troubles troubles() const override {
    Troubles out;
    const auto& counters = counted();
    if constexpr (requires { counters.abort_fields(); }) out.aborts = counters.aborts();
    if constexpr (requires { counters.elided(); }) {
      out.fallbacks = counters.fallbacks + by_choice(counters);
      out.elidable = counters.elided() + out.fallbacks;
    }
    if constexpr (requires { counters.read_restarts; }) out.restarts = counters.read_restarts + counters.write_restarts;
    return out;
  }

 private:
  u32 run_steps(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_steps, Latencies* latencies) {
    u32 done = 0;
    // Relaxed: the flag publishes nothing, and a look that is one block late does no harm.
    while (done < slice.count && !stop.load(kRelaxed)) {
      const Step* const steps = slice.steps + done;
      u32 block = std::min(std::max(stop_steps, batch_.keys), slice.count - done);
      if (latencies == nullptr) {
        run_block(slice.only, steps, block, tally);
      } else if (latencies->untimed() != 0) {
        block = std::min(block, latencies->untimed());
        run_block(slice.only, steps, block, tally);
        latencies->skip(block);
      } else {
        block = std::min(block, batch_.keys);
        latencies->time(steps->kind, counted(), [&] { run_block(slice.only, steps, block, tally); });
      }
      done += block;
    }
    if constexpr (requires { index_.idle(me_); }) index_.idle(me_);
    return done;
  }

  void run_block(const std::optional<OpKind>& only, const Step* steps, u32 count, Tally& tally) {
    if (only == OpKind::kRead) {
      reads(steps, count, tally);
    } else if (kChangesBatches<Index> && batch_.keys > 1 &&
               (only == OpKind::kInsert || only == OpKind::kUpdate || only == OpKind::kErase)) {
      change_batches(*only, steps, count, tally);
    } else if (only == OpKind::kInsert) {
      inserts(steps, count, tally);
    } else {
      mixed(steps, count, tally);
    }
  }

  /// What the policy counts for this thread.
  const auto& counted() const {
    if constexpr (requires { me_.counters; }) {
      return me_.counters;
    } else {
      static constexpr NoCounters kNone;
      return kNone;
    }
  }

  /// Asks before the loop what need not be asked for every lookup; for a batch it may be.
  void reads(const Step* steps, u32 count, Tally& tally) {
    if constexpr (kFindsBatches<Index>) {
      if (batch_.keys > 1) return look_up_batches(steps, count, tally);
    }
    const auto loop = [&](auto me) { look_up<decltype(me)>(me, steps, count, tally); };
    if constexpr (requires { me_.decide(loop); }) {
      me_.decide(loop);
    } else {
      look_up<Thread&>(me_, steps, count, tally);
    }
  }
  [[gnu::noinline]] void look_up_batches(const Step* steps, u32 count, Tally& tally) {
    std::array<Raw, kMostInAttempt> keys;
    std::array<std::optional<u64>, kMostInAttempt> found;
    u64 misses = 0;
    for (const Step* const end = steps + count; steps != end;) {
      const u32 now = std::min(batch_.keys, static_cast<u32>(end - steps));
      for (u32 i = 0; i < now; ++i) keys[i] = key_of<Raw>(steps[i]);
      index_.find_batch(me_, std::span<const Raw>(keys.data(), now), std::span(found.data(), now), batch_.order);
      for (u32 i = 0; i < now; ++i) misses += !found_right(steps[i], found[i], tally);
      steps += now;
    }
    note_reads(count, misses, tally);
  }
  /// Flattened: the whole find is part of the loop, whatever the compiler thinks of its size. What is as expected costs no
  /// counter, so that the processor's room is the index's: hits are what did not miss, and mistakes are counted apart.
  template <class Me>
  LATCHLAB_FLATTEN [[gnu::noinline]] void look_up(Me me, const Step* steps, u32 count, Tally& tally) {
    u64 misses = 0;
    Index& index = index_;   // in a register: as a member it would be loaded again after every store
    for (const Step *step = steps, *const end = steps + count; step != end; ++step) {
      misses += !found_right(*step, index.find(me, key_of<Raw>(*step)), tally);
    }
    note_reads(count, misses, tally);
  }
  /// Whether a key was found; counts what is not as expected.
  [[gnu::always_inline]] bool found_right(const Step& step, const std::optional<u64>& found, Tally& tally) const {
    if (!found) [[unlikely]] {
      if (step.expect == Expect::kHit) [[unlikely]] count_missing(tally);
      return false;
    }
    if (tag_of_(*found ^ step.value) != 0 || step.expect == Expect::kMiss) [[unlikely]] count_mistake(*found, step, tally);
    return true;
  }
  static void note_reads(u32 count, u64 misses, Tally& tally) {
    tally.count[static_cast<std::size_t>(OpKind::kRead)] += count;
    tally.succeeded[static_cast<std::size_t>(OpKind::kRead)] += count - misses;
  }
  [[gnu::noinline, gnu::cold]] static void count_missing(Tally& tally) { ++tally.missing; }
  [[gnu::noinline, gnu::cold]] void count_mistake(u64 found, const Step& step, Tally& tally) const {
    tally.wrong_values += tag_of_(found ^ step.value) != 0;
    tally.phantoms += step.expect == Expect::kMiss;
  }

  /// Inserts, updates or erasures.
  [[gnu::noinline]] void change_batches(OpKind kind, const Step* steps, u32 count, Tally& tally) {
    if constexpr (kChangesBatches<Index>) {
      std::array<Raw, kMostInAttempt> keys;
      std::array<u64, kMostInAttempt> values;
      for (const Step* const end = steps + count; steps != end;) {
        const u32 now = std::min(batch_.keys, static_cast<u32>(end - steps));
        for (u32 i = 0; i < now; ++i) keys[i] = key_of<Raw>(steps[i]), values[i] = steps[i].value;
        change_batch(kind, steps, std::span<const Raw>(keys.data(), now), std::span<const u64>(values.data(), now), tally);
        steps += now;
      }
    }
  }
  void change_batch(OpKind kind, const Step* steps, std::span<const Raw> keys, std::span<const u64> values, Tally& tally) {
    // Inserts may throw: those that were done before are counted all the same.
    struct Done {
      ~Done() {
        for (std::size_t i = 0; i < count; ++i) {
          if (all || changed[i]) session.note_change(kind, steps[i], changed[i], tally);
        }
      }
      const SessionOf& session;
      const OpKind kind;
      const Step* const steps;
      const std::size_t count;
      Tally& tally;
      bool all = false;
      std::array<bool, kMostInAttempt> changed{};
    } done{*this, kind, steps, keys.size(), tally};
    const std::span<bool> changed(done.changed.data(), keys.size());
    switch (kind) {
      case OpKind::kInsert: index_.insert_batch(me_, keys, values, changed, batch_.order); break;
      case OpKind::kErase: index_.erase_batch(me_, keys, changed, batch_.order); break;
      default: index_.update_batch(me_, keys, values, changed, batch_.order); break;
    }
    done.all = true;
  }

  /// Flattened likewise. An insert may throw: what was done before it is added all the same.
  LATCHLAB_FLATTEN [[gnu::noinline]] void inserts(const Step* steps, u32 count, Tally& tally) {
    struct Counts {
      ~Counts() {
        const u64 done = static_cast<u64>(step - first);
        tally.count[static_cast<std::size_t>(OpKind::kInsert)] += done;
        tally.succeeded[static_cast<std::size_t>(OpKind::kInsert)] += done - refused;
        tally.keys += done - refused;
        tally.checksum += checksum;
      }
      Tally& tally;
      const Step* const first;
      const Step* step = first;
      u64 refused = 0;
      u64 checksum = 0;
    } counts{tally, steps};
    for (const Step* const end = steps + count; counts.step != end; ++counts.step) {
      const Step& step = *counts.step;
      if (index_.insert(me_, key_of<Raw>(step), step.value)) [[likely]] {
        counts.checksum += tag_of_(step.value);
      } else {
        ++counts.refused;
        tally.phantoms += step.expect == Expect::kMiss;
      }
    }
  }

  [[gnu::noinline]] void mixed(const Step* steps, u32 count, Tally& tally) {
    for (u32 i = 0; i < count; ++i) {
      const Step& step = steps[i];
      switch (step.kind) {
        case OpKind::kRead: reads(&step, 1, tally); break;
        case OpKind::kInsert: inserts(&step, 1, tally); break;
        case OpKind::kUpdate: note_change(step.kind, step, index_.update(me_, key_of<Raw>(step), step.value), tally); break;
        case OpKind::kUpsert: {
          const bool inserted = index_.upsert(me_, key_of<Raw>(step), step.value);
          if (inserted) note_key(step, 1, tally);
          tally.missing += inserted && step.expect == Expect::kHit;
          note(OpKind::kUpsert, inserted, tally);
          break;
        }
        case OpKind::kErase: note_change(step.kind, step, index_.erase(me_, key_of<Raw>(step)), tally); break;
        case OpKind::kScan: scan(step, tally); break;
      }
    }
  }

  /// Order and bounds of every pair; the tag of the last one only, since hashing each would cost as much as
  /// delivering it.
  [[gnu::noinline]] void scan(const Step& step, Tally& tally) {
    if constexpr (Index::kOrdered) {
      const Raw from = key_of<Raw>(step);
      u64 delivered = 0;
      u64 disorder = 0;
      u64 value = 0;
      index_.scan(me_, from, step.limit, [&](Raw key, u64 v) {
        disorder += delivered == 0 ? key < from : !(Raw(last_) < key);
        last_ = key;
        value = v;
        ++delivered;
      });
      disorder += delivered > step.limit;
      tally.disorder += disorder;
      tally.scanned += delivered;
      if (delivered > 0) tally.wrong_values += !tag_matches(Raw(last_), value, tag_of_.value_bits());
      note(OpKind::kScan, delivered > 0, tally);
    } else {
      note(OpKind::kScan, false, tally);
    }
  }

  static void note(OpKind kind, bool succeeded, Tally& tally) {
    ++tally.count[static_cast<std::size_t>(kind)];
    tally.succeeded[static_cast<std::size_t>(kind)] += succeeded;
  }

  /// Of an insert, an update or an erasure.
  void note_change(OpKind kind, const Step& step, bool changed, Tally& tally) const {
    if (kind == OpKind::kInsert) {
      tally.phantoms += !changed && step.expect == Expect::kMiss;
    } else {
      tally.missing += !changed && step.expect == Expect::kHit;
    }
    if (changed && kind != OpKind::kUpdate) note_key(step, kind == OpKind::kInsert ? 1 : ~u64{0}, tally);
    note(kind, changed, tally);
  }

  /// `sign` is 1 or, for an erasure, the 2^64's complement of it.
  void note_key(const Step& step, u64 sign, Tally& tally) const {
    tally.keys += sign;
    tally.checksum += sign * tag_of_(step.value);
  }

  Index& index_;
  Thread me_;
  const Batching batch_;
  const TagOf<Index> tag_of_;
  OwnedKey<Raw> last_{};  ///< of the scan that runs
};

template <SharedIndex Index>
class TrialOf final : public Trial {
  using Raw = typename Index::Raw;

 public:
  explicit TrialOf(const Config& config)
      : spec_(config.sync),
        batch_(config.batch),
        value_bits_(config.widths.value),
        index_(made(config)) {}

  [[nodiscard]] std::unique_ptr<Session> join() override {
    return std::make_unique<SessionOf<Index>>(index_, batch_, value_bits_);
  }
  [[nodiscard]] KeyKind key_kind() const override {
    return std::is_same_v<Raw, u64> ? KeyKind::kU64 : KeyKind::kBytes;
  }
  [[nodiscard]] bool loads_in_turns() const override {
    if constexpr (requires { Index::Policy::kManyWriters; }) return !Index::Policy::kManyWriters;
    if constexpr (requires { Index::Policy::kWritersTakeTurns; }) return Index::Policy::kWritersTakeTurns;
    return false;
  }
  [[nodiscard]] bool elides() const override {
    if constexpr (requires { Index::Policy::kElides; }) return Index::Policy::kElides;
    return false;
  }
  [[nodiscard]] bool keeps() const override { return keeps_pairs<Index>(); }

  [[nodiscard]] SyncReport sync_report(const std::vector<u64>& sums, u64 operations) const override {
    SyncReport out;
    if constexpr (requires { Index::Policy::Options::parse(spec_).resolved(); }) {
      out.stats.options = Index::Policy::Options::parse(spec_).resolved();
    }
    if constexpr (requires { Index::Policy::degraded(Index::Policy::Options::parse(spec_)); }) {
      out.degraded = Index::Policy::degraded(Index::Policy::Options::parse(spec_));
    }
    out.stats.counters = Measured<SyncStats::Counts>::missing("the policy counts nothing");
    out.stats.aborts = Measured<SyncStats::Counts>::missing("the policy has no transactions");
    out.stats.fallback_rate = Measured<double>::missing("the policy has no fallback");
    out.stats.restart_rate = Measured<double>::missing("the policy has no optimistic runs to restart");
    if constexpr (requires { std::declval<SessionThread&>().counters; }) report_counters(sums, operations, out);
    if (!out.stats.aborts) out.stats.abort_statuses = Measured<SyncStats::Counts>::missing(out.stats.aborts.reason);
    return out;
  }

  [[nodiscard]] Measured<ReclaimCounters> reclaim() const override {
    if constexpr (requires { typename Index::Policy::Reclaimer; }) {
      using Machine = typename Index::Policy::Machine;
      if constexpr (!std::is_same_v<typename Index::Policy::Reclaimer, Immediate<Machine>>) {
        return index_.reclaim_counters();
      }
      return Measured<ReclaimCounters>::missing("the policy frees at once: it needs no grace period");
    }
    return Measured<ReclaimCounters>::missing("the index reclaims by itself and does not say how");
  }

  [[nodiscard]] IndexBytes bytes() const override {
    const auto bytes = index_.bytes();
    return {.live = sizeof(Index) + bytes.live, .reserved = sizeof(Index) + bytes.reserved};
  }

  [[nodiscard]] bool counts_nodes() const override { return kCountsNodes; }
  [[nodiscard]] Measured<double> nodes_per_fetch(const Slice& slice) override {
    u64 nodes = 0, fetches = 0;
    if constexpr (kCountsNodes) {
      SessionThread me = index_.join();
      for (const Step& step : std::span(slice.steps, slice.count)) {
        if (step.kind != OpKind::kRead) continue;
        nodes += index_.visits(me, key_of<Raw>(step));
        ++fetches;
      }
    }
    if (fetches == 0) return Measured<double>::missing("the workload looks nothing up");
    return static_cast<double>(nodes) / static_cast<double>(fetches);
  }

  [[nodiscard]] Contents contents() override {
    Contents out;
    if constexpr (keeps_pairs<Index>()) walk(out);
    return out;
  }

 private:
  using SessionThread = decltype(std::declval<Index&>().join());
  static constexpr bool kHasOptions = std::constructible_from<Index, const Spec&, const MemoryConfig&, const Spec&>;
  static Index made(const Config& config) {
    if constexpr (kHasOptions) {
      return Index(config.sync, memory_config_of(config), config.index);
    } else {
      return Index(config.sync, memory_config_of(config));
    }
  }
  static constexpr bool kCountsNodes = requires(Index& index, SessionThread& me, Raw key) { index.visits(me, key); };

  void walk(Contents& out) {
    OwnedKey<Raw> last{};
    auto me = index_.join();
    index_.for_each(me, [&](Raw key, u64 value) {
      if (!tag_matches(key, value, value_bits_)) {
        if (out.example.empty()) {
          out.example = fmt::format("key {} holds {:#x}, which is not its value", shown(key), value);
        }
        ++out.wrong_values;
      }
      if constexpr (Index::kOrdered) {
        if (out.keys > 0 && !(Raw(last) < key)) {
          if (out.example.empty()) {
            out.example = fmt::format("key {} comes after key {}", shown(key), shown(Raw(last)));
          }
          ++out.disorder;
        }
        last = key;
      }
      ++out.keys;
      out.checksum += TagOf<Index>(value_bits_)(value);
    });
  }

  /// Aborts by cause stand in a section of their own, and nowhere else: there they can be missing.
  template <class Counters>
  static constexpr bool counts_aborts(const CounterField<Counters>& field) {
    if constexpr (requires { Counters::abort_fields(); }) {
      for (const auto member : Counters::abort_fields()) {
        if (member == field.member) return true;
      }
    }
    return false;
  }

  /// Times belong to operations whose transaction aborted: where none was begun, locks were held all the same.
  template <class Counters>
  static bool not_timed(const CounterField<Counters>& field, const Counters& all) {
    if constexpr (requires { all.begins; }) return field.name.ends_with("_ns") && all.begins == 0;
    return false;
  }

  static void report_counters(const std::vector<u64>& sums, u64 operations, SyncReport& out) {
    using Counters = std::remove_cvref_t<decltype(std::declval<SessionThread&>().counters)>;
    constexpr auto kFields = Counters::fields();
    if constexpr (kFields.size() > 0) {
      Counters all{};
      u64 restarts = 0;
      bool restarts_counted = false;
      for (std::size_t i = 0; i < kFields.size() && i < sums.size(); ++i) {
        all.*kFields[i].member = sums[i];
        const std::string_view name = kFields[i].name;
        // A policy's own count wins: a scan is one operation of the workload and several of the policy, and
        // what it counted of fallbacks and restarts is a share of those.
        if (name == "ops") operations = sums[i];
        if (name == "restarts" || name.ends_with("_restarts")) {
          restarts += sums[i];
          restarts_counted = true;
        }
      }
      SyncStats::Counts counters;
      for (const auto& field : kFields) {
        if (!counts_aborts(field) && !not_timed(field, all)) {
          counters.push_back({std::string(field.name), all.*field.member});
        }
      }
      out.stats.counters = std::move(counters);
      const auto rate = [&](u64 events) {
        return operations > 0
                   ? Measured<double>(static_cast<double>(events) / static_cast<double>(operations))
                   : Measured<double>::missing("no operation was counted");
      };
      if (restarts_counted) out.stats.restart_rate = rate(restarts);
      if constexpr (requires { Counters::abort_fields(); }) {
        std::vector<NamedCount> aborts;
        constexpr auto kAborts = Counters::abort_fields();
        for (std::size_t i = 0; i < kAborts.size(); ++i) {
          aborts.push_back({std::string(kAbortCauseNames[i]), all.*kAborts[i]});
        }
        SyncStats::Counts statuses;
        for (std::size_t i = 0; i < all.histogram.size() && kFields.size() + i < sums.size(); ++i) {
          all.histogram[i] = sums[kFields.size() + i];
          if (all.histogram[i] != 0) statuses.push_back({bits_of(static_cast<u32>(i)), all.histogram[i]});
        }
        if (all.begins != 0) {
          out.stats.aborts = std::move(aborts);
          out.stats.abort_statuses = std::move(statuses);
        } else {
          out.stats.aborts = Measured<SyncStats::Counts>::missing(
              all.elided() != 0 ? "the processor does not tell of aborts under its prefixes" : "no transaction was begun");
        }
      } else if constexpr (requires { all.commits; }) {
        out.stats.aborts = Measured<SyncStats::Counts>::missing("the policy does not see its aborts");
      }
      if constexpr (requires { all.elided(); }) {
        if (const u64 could = all.elided() + by_choice(all) + all.fallbacks; could != 0) {
          out.elided = all.elided() + by_choice(all);
          out.stats.fallback_rate = static_cast<double>(by_choice(all) + all.fallbacks) / static_cast<double>(could);
        } else {
          out.stats.fallback_rate = Measured<double>::missing("there was nothing to elide");
        }
      }
      if constexpr (requires { all.inconsistency(); }) out.contradiction = all.inconsistency();
    }
  }

  const Spec spec_;
  const Batching batch_;
  const u32 value_bits_;
  Index index_;
};

}  // namespace latchlab
