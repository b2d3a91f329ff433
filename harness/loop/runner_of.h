// The one hot loop. Compiled once for each pair of index and policy, with the index's operations inlined into
// it; what else is compiled so is in trial_of.h, and everything else of a trial in run_trial.cc and phases.cc.
//
// A slice comes as an array of requests. When all its requests are reads or all are inserts the loop is specialised
// for them: it has no switch, the index's operation is part of it, and its counts stay in registers. A read
// is judged by a few instructions on values that are there anyway: found or not, and the exclusive or of the
// upper halves of what came back and what was to be. An insert adds the tag of its value to the checksum,
// which nothing waits for. The counts end in the result, so that no operation can be optimised away.
//
// Nothing here reads a clock, but for calls that stand alone to be timed (latency.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/loop/latency.h"
#include "harness/loop/payloads.h"
#include "harness/loop/request.h"
#include "harness/loop/trial.h"
#include "indexes/erased.h"
#include "indexes/concepts.h"
#include "src/arch/sanitizer.h"
#include "src/base/batching.h"
#include "src/stats/counters.h"

namespace latchlab {

/// A copy of a key that outlives what it was a view of.
template <class Raw>
using OwnedKey = std::conditional_t<std::is_same_v<Raw, std::string_view>, std::string, Raw>;

template <class Raw>
Raw key_of(const Request& request) {
  if constexpr (std::is_same_v<Raw, u64>) {
    return request.number;
  } else {
    return Raw(request.bytes, request.length);
  }
}

/// The tag in a value (workloads/value.h), wherever it stands in values of so many bits. It is also the share of a key
/// in the checksum of what is there: a hash of the key already, so that nothing is hashed while the clock runs. A sum
/// of them does not depend on the order of insertions and erasures. Only where the index may have room for fewer bits
/// is the shift asked of a member: for all other indexes it stays a constant of the loop.
template <class Index>
class TagOf {
 public:
  explicit TagOf(u32 value_bits) : value_bits_(value_bits) {}
  u32 value_bits() const { return value_bits_; }
  u64 operator()(u64 value) const { return value >> (kMayBeNarrow ? value_bits_ / 2 : 32); }

 private:
  static constexpr bool kMayBeNarrow =
      requires(const typename WrittenAs<Index>::Type::Options& options) { options.widths(); };
  u32 value_bits_;
};

/// On lines of its own: the counters are in it.
template <SharedIndex Index>
class alignas(kFalseSharingBytes) RunnerOf final : public ErasedSession<Index, Runner> {
  using Base = ErasedSession<Index, Runner>;
  using Base::index_, Base::me_;
  using typename Base::Raw, typename Base::ThreadState;

 public:
  RunnerOf(Index& index, const Batching& batch, u32 value_bits, Payloads* payloads)
      : Base(index), batch_(batch), tag_of_(value_bits), payloads_(payloads) {}

  u32 run(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
          Latencies* latencies) override {
    if constexpr (kLearns<Index>) {
      if (!slice.teaches) {
        const auto watch = me_.watch;
        me_.watch.sleep();
        const u32 done = run_requests(slice, stop, tally, stop_requests, latencies);
        me_.watch = watch;
        return done;
      }
    }
    return run_requests(slice, stop, tally, stop_requests, latencies);
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
  [[nodiscard]] ContentionCounts contention() const override {
    ContentionCounts out;
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
  u32 run_requests(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
                   Latencies* latencies) {
    u32 done = 0;
    // Relaxed: the flag publishes nothing, and a look that is one block late does no harm.
    while (done < slice.count && !stop.load(kRelaxed)) {
      const Request* const requests = slice.requests + done;
      u32 block = std::min(std::max(stop_requests, batch_.keys), slice.count - done);
      if (latencies == nullptr) {
        run_block(slice, requests, block, tally);
      } else if (latencies->untimed() != 0) {
        block = std::min(block, latencies->untimed());
        run_block(slice, requests, block, tally);
        latencies->skip(block);
      } else {
        block = std::min(block, batch_.keys);
        latencies->time(requests->kind, counted(), [&] { run_block(slice, requests, block, tally); });
      }
      done += block;
    }
    if constexpr (requires { index_.idle(me_); }) index_.idle(me_);
    return done;
  }

  void run_block(const Slice& slice, const Request* requests, u32 count, Tally& tally) {
    const std::optional<OpKind>& only = slice.only;
    if (payloads_ != nullptr && !calls_batches(only)) [[unlikely]] {
      run_with_payloads(requests, count, slice.gets, tally);
    } else if (only == OpKind::kRead) {
      reads(requests, count, tally);
    } else if (kChangesBatches<Index> && calls_batches(only)) {
      change_batches(*only, requests, count, tally);
    } else if (only == OpKind::kInsert) {
      inserts(requests, count, tally);
    } else {
      mixed(requests, count, slice.gets, tally);
    }
  }

  bool calls_batches(const std::optional<OpKind>& only) const {
    if (batch_.keys == 1 || !only || !about(*only).batches) return false;
    return about(*only).reads ? kFindsBatches<Index> : kChangesBatches<Index>;
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
  void reads(const Request* requests, u32 count, Tally& tally) {
    if constexpr (kFindsBatches<Index>) {
      if (batch_.keys > 1) return look_up_batches(requests, count, tally);
    }
    const auto loop = [&](auto me) { look_up<decltype(me)>(me, requests, count, tally); };
    if constexpr (requires { me_.decide(loop); }) {
      me_.decide(loop);
    } else {
      look_up<ThreadState&>(me_, requests, count, tally);
    }
  }
  [[gnu::noinline]] void look_up_batches(const Request* requests, u32 count, Tally& tally) {
    u64 misses = 0;
    for (const Request* const end = requests + count; requests != end;) {
      const u32 now = std::min(batch_.keys, static_cast<u32>(end - requests));
      misses += look_up_batch(requests, now, tally);
      requests += now;
    }
    note_reads(count, misses, tally);
  }
  /// One call of the index; how many keys it did not find.
  [[gnu::always_inline]] u64 look_up_batch(const Request* requests, u32 count, Tally& tally) {
    std::array<Raw, kMostInAttempt> keys;
    std::array<std::optional<u64>, kMostInAttempt> found;
    for (u32 i = 0; i < count; ++i) keys[i] = key_of<Raw>(requests[i]);
    index_.find_batch(me_, std::span<const Raw>(keys.data(), count), std::span(found.data(), count), batch_.order);
    u64 misses = 0;
    for (u32 i = 0; i < count; ++i) misses += !found_right(requests[i], found[i], tally);
    if (payloads_ != nullptr) read_payloads(std::span(found.data(), count), tally);
    return misses;
  }
  /// By one call where the index takes batches, else one after the other.
  [[gnu::noinline]] void multi_get(const Request* requests, u32 count, Tally& tally) {
    u64 misses = 0;
    if constexpr (kFindsBatches<Index>) {
      misses = look_up_batch(requests, count, tally);
    } else {
      for (u32 i = 0; i < count; ++i) {
        const auto found = find_one(requests[i]);
        misses += !found_right(requests[i], found, tally);
        if (payloads_ != nullptr) read_payloads(std::span(&found, 1), tally);
      }
    }
    tally.gets += count;
    tally.got += count - misses;
    note(OpKind::kMultiGet, misses == 0, tally);
  }
  /// One lookup where a loop does more than look up: what a find becomes is compiled once for them all.
  [[gnu::noinline]] std::optional<u64> find_one(const Request& request) {
    return index_.find(me_, key_of<Raw>(request));
  }

  /// Flattened: the whole find is part of the loop, whatever the compiler thinks of its size. What is as expected costs
  /// no counter, so that the processor's room is the index's: hits are what did not miss, and mistakes are counted
  /// apart.
  template <class Me>
  LATCHLAB_FLATTEN [[gnu::noinline]] void look_up(Me me, const Request* requests, u32 count, Tally& tally) {
    u64 misses = 0;
    Index& index = index_;  // in a register: as a member it would be loaded again after every store
    for (const Request *request = requests, *const end = requests + count; request != end; ++request) {
      misses += !found_right(*request, index.find(me, key_of<Raw>(*request)), tally);
    }
    note_reads(count, misses, tally);
  }
  /// Whether a key was found; counts what is not as expected.
  [[gnu::always_inline]] bool found_right(const Request& request, const std::optional<u64>& found, Tally& tally) const {
    const auto missed = [&] {
      if (request.expect == Expect::kHit) [[unlikely]]
        count_missing(tally);
      return false;
    };
    // Where each lookup misses, the loop of them would else be laid out as a cold one.
    if constexpr (!keeps_pairs<Index>()) {
      if (!found) return missed();
    }
    if (!found) [[unlikely]]
      return missed();
    if (tag_of_(*found ^ request.value) != 0 || request.expect == Expect::kMiss) [[unlikely]]
      count_mistake(*found, request, tally);
    return true;
  }
  static void note_reads(u32 count, u64 misses, Tally& tally) {
    tally.count[static_cast<std::size_t>(OpKind::kRead)] += count;
    tally.succeeded[static_cast<std::size_t>(OpKind::kRead)] += count - misses;
  }
  [[gnu::noinline, gnu::cold]] static void count_missing(Tally& tally) { ++tally.missing; }
  [[gnu::noinline, gnu::cold]] void count_mistake(u64 found, const Request& request, Tally& tally) const {
    tally.wrong_values += tag_of_(found ^ request.value) != 0;
    tally.phantoms += request.expect == Expect::kMiss;
  }

  /// Inserts, updates or erasures.
  [[gnu::noinline]] void change_batches(OpKind kind, const Request* requests, u32 count, Tally& tally) {
    if constexpr (kChangesBatches<Index>) {
      std::array<Raw, kMostInAttempt> keys;
      std::array<u64, kMostInAttempt> values;
      for (const Request* const end = requests + count; requests != end;) {
        const u32 now = std::min(batch_.keys, static_cast<u32>(end - requests));
        for (u32 i = 0; i < now; ++i) keys[i] = key_of<Raw>(requests[i]), values[i] = requests[i].value;
        change_batch(kind, requests, std::span<const Raw>(keys.data(), now), std::span<const u64>(values.data(), now),
                     tally);
        requests += now;
      }
    }
  }
  void change_batch(OpKind kind, const Request* requests, std::span<const Raw> keys, std::span<const u64> values,
                    Tally& tally) {
    // Inserts may throw: those that were done before are counted all the same.
    struct Done {
      ~Done() {
        for (std::size_t i = 0; i < count; ++i) {
          if (all || changed[i]) session.note_change(kind, requests[i], changed[i], tally);
        }
      }
      const RunnerOf& session;
      const OpKind kind;
      const Request* const requests;
      const std::size_t count;
      Tally& tally;
      bool all = false;
      std::array<bool, kMostInAttempt> changed{};
    } done{*this, kind, requests, keys.size(), tally};
    const std::span<bool> changed(done.changed.data(), keys.size());
    switch (kind) {
      case OpKind::kInsert: index_.insert_batch(me_, keys, values, changed, batch_.order); break;
      case OpKind::kErase: index_.erase_batch(me_, keys, changed, batch_.order); break;
      default: index_.update_batch(me_, keys, values, changed, batch_.order); break;
    }
    done.all = true;
    if (payloads_ == nullptr || !about(kind).writes()) return;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (changed[i]) payloads_->write(requests[i].value);
    }
  }

  /// Flattened likewise. An insert may throw: what was done before it is added all the same.
  LATCHLAB_FLATTEN [[gnu::noinline]] void inserts(const Request* requests, u32 count, Tally& tally) {
    struct Counts {
      ~Counts() {
        const u64 done = static_cast<u64>(request - first);
        tally.count[static_cast<std::size_t>(OpKind::kInsert)] += done;
        tally.succeeded[static_cast<std::size_t>(OpKind::kInsert)] += done - refused;
        tally.keys += done - refused;
        tally.checksum += checksum;
      }
      Tally& tally;
      const Request* const first;
      const Request* request = first;
      u64 refused = 0;
      u64 checksum = 0;
    } counts{tally, requests};
    for (const Request* const end = requests + count; counts.request != end; ++counts.request) {
      const Request& request = *counts.request;
      if (index_.insert(me_, key_of<Raw>(request), request.value)) [[likely]] {
        counts.checksum += tag_of_(request.value);
      } else {
        ++counts.refused;
        tally.phantoms += request.expect == Expect::kMiss;
      }
    }
  }

  [[gnu::noinline]] void mixed(const Request* requests, u32 count, const Request* gets, Tally& tally) {
    for (u32 i = 0; i < count; ++i) {
      const Request& request = requests[i];
      switch (request.kind) {
        case OpKind::kRead: reads(&request, 1, tally); break;
        case OpKind::kInsert: inserts(&request, 1, tally); break;
        case OpKind::kUpdate:
          note_change(request.kind, request, index_.update(me_, key_of<Raw>(request), request.value), tally);
          break;
        case OpKind::kUpsert: {
          const bool inserted = index_.upsert(me_, key_of<Raw>(request), request.value);
          if (inserted) note_key(request, 1, tally);
          tally.missing += inserted && request.expect == Expect::kHit;
          note(OpKind::kUpsert, inserted, tally);
          break;
        }
        case OpKind::kErase: note_change(request.kind, request, index_.erase(me_, key_of<Raw>(request)), tally); break;
        case OpKind::kScan: scan_one(request, tally); break;
        case OpKind::kMultiGet: multi_get(gets + request.number, request.limit, tally); break;
        case OpKind::kRmw: read_modify_write(request, tally); break;
      }
    }
  }

  /// Two operations of the index, as in YCSB: what others do in between is overwritten. Not inlined: it would take
  /// registers from the other kinds of mixed().
  [[gnu::noinline]] void read_modify_write(const Request& request, Tally& tally) {
    const auto found = find_one(request);
    (void)found_right(request, found, tally);
    if (payloads_ != nullptr) read_payloads(std::span(&found, 1), tally);
    const bool updated = found && index_.update(me_, key_of<Raw>(request), request.value);
    tally.missing += found && !updated && request.expect == Expect::kHit;
    note(OpKind::kRmw, updated, tally);
  }

  /// A loop of its own, so that those above know nothing of payloads. Batches see to theirs when the call is over.
  [[gnu::noinline]] void run_with_payloads(const Request* requests, u32 count, const Request* gets, Tally& tally) {
    for (const Request& request : std::span(requests, count)) {
      if (request.kind == OpKind::kRead) {
        const auto found = find_one(request);
        note(OpKind::kRead, found_right(request, found, tally), tally);
        read_payloads(std::span(&found, 1), tally);
        continue;
      }
      const OpTraits kind = about(request.kind);
      const u64& succeeded = tally.succeeded[static_cast<std::size_t>(request.kind)];
      const u64 before = succeeded;
      mixed(&request, 1, gets, tally);  // which sees to what the others read
      if (kind.writes() && (succeeded != before || (kind.inserts && kind.updates))) payloads_->write(request.value);
    }
  }
  /// Those of the keys that were found.
  [[gnu::noinline]] void read_payloads(std::span<const std::optional<u64>> found, Tally& tally) const {
    for (const std::optional<u64>& value : found) tally.wrong_values += value && !payloads_->read(*value);
  }

  /// Order and bounds of every pair; the tag of the last one only, since hashing each would cost as much as
  /// delivering it. Of a payload, every word.
  [[gnu::noinline]] void scan_one(const Request& request, Tally& tally) {
    if constexpr (Index::kOrdered) {
      const Raw from = key_of<Raw>(request);
      u64 delivered = 0;
      u64 disorder = 0;
      u64 value = 0;
      index_.scan(me_, from, request.limit, [&](Raw key, u64 v) {
        disorder += delivered == 0 ? key < from : !(Raw(last_) < key);
        last_ = key;
        value = v;
        if (payloads_ != nullptr) tally.wrong_values += !payloads_->read(v);
        ++delivered;
      });
      disorder += delivered > request.limit;
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
  void note_change(OpKind kind, const Request& request, bool changed, Tally& tally) const {
    if (kind == OpKind::kInsert) {
      tally.phantoms += !changed && request.expect == Expect::kMiss;
    } else {
      tally.missing += !changed && request.expect == Expect::kHit;
    }
    if (changed && kind != OpKind::kUpdate) note_key(request, kind == OpKind::kInsert ? 1 : ~u64{0}, tally);
    note(kind, changed, tally);
  }

  /// `sign` is 1 or, for an erasure, the 2^64's complement of it.
  void note_key(const Request& request, u64 sign, Tally& tally) const {
    tally.keys += sign;
    tally.checksum += sign * tag_of_(request.value);
  }

  const Batching batch_;
  const TagOf<Index> tag_of_;
  OwnedKey<Raw> last_{};      ///< of the scan that runs
  Payloads* const payloads_;  ///< null where the index keeps the values
};

}  // namespace latchlab
