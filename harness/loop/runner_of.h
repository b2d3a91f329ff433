// The one hot loop, compiled once for each pair of index and policy, with the index's operations inlined into it. The
// rest of the code that is compiled once a pair is in trial_of.h; all other code of a trial is in run_trial.cc and
// phases.cc.
//
// A slice is an array of requests. The loop is specialised for slices of reads only, and of inserts only. It then has
// no switch, it contains the index's operation, and its counts stay in registers. A few instructions check a read, on
// values that are in registers anyway. They test whether the key was found, and compare the upper halves of the
// returned value and the expected one. An insert adds the tag of its value to the checksum, and nothing waits for that
// addition. The counts end in the result, so the compiler cannot remove an operation.
//
// Nothing here reads a clock, except around calls that run alone to be timed (latency.h), and around pieces of work by
// which --batch=auto chooses (src/base/faster_way.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/host/clock.h"
#include "harness/loop/batch_arrays.h"
#include "harness/loop/counted_session.h"
#include "harness/loop/latency.h"
#include "harness/loop/request.h"
#include "harness/loop/trial.h"
#include "indexes/erased.h"
#include "indexes/concepts.h"
#include "src/arch/sanitizer.h"
#include "src/base/batch_room.h"
#include "src/base/batching.h"
#include "src/base/faster_way.h"

namespace latchlab {

/// A copy of a key, which outlives the bytes that a view refers to.
template <class Raw>
using OwnedKey = std::conditional_t<std::is_same_v<Raw, std::string_view>, std::string, Raw>;

/// The tag of a value (workloads/value.h), whose position depends on how many bits values have. A key adds its tag to
/// the checksum of the contents. The tag is a hash of the key already, so nothing is hashed while the clock runs. A sum
/// of tags does not depend on the order of insertions and erasures. The shift is read from a member only if the index
/// may have fewer than 64 bits. For all other indexes it is a constant of the loop.
template <class Index>
class TagOf {
 public:
  explicit TagOf(u32 value_bits) : value_bits_(value_bits) {}
  u32 value_bits() const { return value_bits_; }
  u64 operator()(u64 value) const { return value >> (kMayBeNarrow ? value_bits_ / 2 : 32); }

 private:
  static constexpr bool kMayBeNarrow = requires {
    requires Index::kMayBeNarrow;
  } || requires(const typename WrittenAs<Index>::Type::Options& options) { options.widths(); };
  u32 value_bits_;
};

/// The runner of one thread. It is on cache lines of its own, since it contains the thread's counters.
template <IndexFace Index>
class alignas(kFalseSharingBytes) RunnerOf : public CountedSession<Index, Runner> {
  using Base = CountedSession<Index, Runner>;
  using Base::index_, Base::me_, Base::counted;
  using typename Base::Raw, typename Base::ThreadState;
  using Keys = BatchKeys<Raw>;

 public:
  RunnerOf(Index& index, const Batching& batch, u32 value_bits, Clock& clock)
      : Base(index), batch_(batch), tag_of_(value_bits), clock_(clock) {}

  u32 run(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
          Latencies* latencies) override {
    if (slice.teaches) return run_by_choice(slice, stop, tally, stop_requests, latencies);
    this->pause_learning();
    const u32 done = run_by_choice(slice, stop, tally, stop_requests, latencies);
    this->resume_learning();
    return done;
  }

 private:
  /// Runs the requests in batches or one by one; --batch=auto does what was faster lately.
  u32 run_by_choice(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
                    Latencies* latencies) {
    if constexpr (kPrefetches<Index>) {
      if (batch_.order == BatchOrder::kAuto) {
        return faster_.run([&] { return clock_.now(); },
                           [&](u32 way) {
                             in_batches_ = way != 0;
                             rolls_on_at_ = nullptr;  // one by one nothing is prefetched
                             return run_requests(slice, stop, tally, stop_requests, latencies);
                           });
      }
    }
    return run_requests(slice, stop, tally, stop_requests, latencies);
  }
  u32 run_requests(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
                   Latencies* latencies) {
    u32 done = 0;
    // Relaxed: the flag publishes nothing, and seeing it one block late does no harm.
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
        block = timed_at_once();
        if (block > slice.count - done) {  // too few are left in the slice: the next one begins with a timed call
          block = slice.count - done;
          if (in_batches_ && rolls()) {
            run_block(slice, requests, block, tally);
            done += block;
            continue;
          }
        }
        latencies->time(requests->kind, block, counted(), [&] { run_block(slice, requests, block, tally); });
      }
      done += block;
    }
    this->idle();
    return done;
  }

  /// Returns the number of requests that a timed call runs: an operation, or a batch. A rolling batch enters the index
  /// with its first prefetch, which runs before one batch, or two.
  u32 timed_at_once() const {
    if (!in_batches_) return 1;
    if (!rolls()) return batch_.keys;
    return batch_.keys * (kPrefetchesFurther<Index> ? 3 : 2);
  }
  bool rolls() const { return batch_.order == BatchOrder::kRolling || batch_.order == BatchOrder::kAuto; }

  void run_block(const Slice& slice, const Request* requests, u32 count, Tally& tally) {
    if constexpr (kWaits<Index>) {
      if (slice.prepares) return prepare(slice, requests, count, tally);
    }
    if (in_batches_) {
      run_batches(slice, requests, count, tally);
    } else {
      run_singly(slice.only, requests, count, slice.gets, tally);
    }
  }
  /// Runs lookups or inserts that are not measured, in the largest batches.
  void prepare(const Slice& slice, const Request* requests, u32 count, Tally& tally) {
    for (u32 first = 0; first < count; first += kMostInAttempt) {
      const u32 now = std::min(kMostInAttempt, count - first);
      if (slice.only == OpKind::kRead) {
        note_reads(now, find_batch(requests + first, now, tally), tally);
      } else {
        change_batch(OpKind::kInsert, requests + first, now, tally);
      }
    }
  }
  void run_singly(const std::optional<OpKind>& only, const Request* requests, u32 count, const Request* gets,
                  Tally& tally) {
    if (only == OpKind::kRead) {
      reads(requests, count, tally);
    } else if (only == OpKind::kInsert) {
      inserts(requests, count, tally);
    } else {
      mixed(requests, count, gets, tally);
    }
  }
  /// Runs requests in batches: by one call of the index if they are of one kind that it takes so, else one by one.
  [[gnu::noinline]] void run_batches(const Slice& slice, const Request* requests, u32 count, Tally& tally) {
    const bool at_once = calls_batches(slice.only);
    for (const Request* const end = requests + count; requests != end;) {
      const u32 now = std::min(batch_.keys, static_cast<u32>(end - requests));
      if constexpr (kPrefetches<Index>) prefetch_before(slice, requests, at_once);
      if (!at_once) {
        run_singly(slice.only, requests, now, slice.gets, tally);
      } else if (slice.only == OpKind::kModify) {
        if constexpr (kModifiesBatches<Index>) modify_batch(requests, now, tally);
      } else if (slice.only == OpKind::kIncrement) {
        if constexpr (kIncrementsByItself<Index>) {
          increment_batch(requests, now, tally);
        } else if constexpr (kModifiesBatches<Index>) {
          modify_batch(requests, now, tally);
        }
      } else if (about(*slice.only).changes()) {
        if constexpr (kChangesBatches<Index>) change_batch(*slice.only, requests, now, tally);
      } else {
        if constexpr (kFindsBatches<Index>) note_reads(now, find_batch(requests, now, tally), tally);
      }
      requests += now;
    }
  }
  /// Returns true if the index runs a batch of such operations by one call. A rolling batch needs no such call, and is
  /// faster without, unless the policy makes one attempt of it.
  bool calls_batches(const std::optional<OpKind>& only) const {
    if (!only || !about(*only).batches || (rolls() && !kAtOnce)) return false;
    if (only == OpKind::kModify) return kModifiesBatches<Index>;
    if (only == OpKind::kIncrement) return kIncrementsByItself<Index> || kModifiesBatches<Index>;
    return about(*only).changes() ? kChangesBatches<Index> : kFindsBatches<Index>;
  }

  /// Prefetches before the batch at `batch` runs: for the batches behind it if batches roll, or for the batch itself if
  /// it is side by side and no call of the index does so.
  void prefetch_before(const Slice& slice, const Request* batch, bool at_once) {
    const u64 left = static_cast<u64>(slice.requests + slice.count + slice.further - batch);
    if (!rolls()) {
      if (at_once || batch_.order != BatchOrder::kSideBySide) return;
      prefetch_batch(slice.only, batch, std::min<u64>(left, batch_.keys));
      return prefetch_batch_further(batch, std::min<u64>(left, batch_.keys));
    }
    constexpr u64 kAhead = kPrefetchesFurther<Index> ? 2 : 1;  // in batches
    if (batch != rolls_on_at_) entered_ = entered_further_ = batch;
    const auto end_of = [&](u64 batches) { return batch + std::min(left, batches * batch_.keys); };
    prefetch_to(slice.only, end_of(kAhead + 1));
    prefetch_further_to(end_of(kAhead));
    rolls_on_at_ = batch + std::min<u64>(left, batch_.keys);
  }
  /// Prefetch for the requests up to `end` for which that has not been done.
  void prefetch_to(const std::optional<OpKind>& only, const Request* end) {
    for (; entered_ < end; entered_ += batch_.keys)
      prefetch_batch(only, entered_, std::min<u64>(batch_.keys, end - entered_));
    entered_ = end;
  }
  void prefetch_further_to(const Request* end) {
    for (; entered_further_ < end; entered_further_ += batch_.keys)
      prefetch_batch_further(entered_further_, std::min<u64>(batch_.keys, end - entered_further_));
    entered_further_ = end;
  }
  void prefetch_batch(const std::optional<OpKind>& only, const Request* requests, u64 count) {
    if constexpr (kPrefetches<Index>) {
      const Keys keys(requests, count);
      if (only) return index_.prefetch(me_, keys.all(), hint_of(*only));
      std::array<Hint, kMostInAttempt> hints;
      for (u64 i = 0; i < count; ++i) hints[i] = hint_of(requests[i].kind);
      index_.prefetch(me_, keys.all(), std::span<const Hint>(hints.data(), count));
    }
  }
  void prefetch_batch_further(const Request* requests, u64 count) {
    if constexpr (kPrefetchesFurther<Index>) index_.prefetch_further(me_, Keys(requests, count).all());
  }
  static Hint hint_of(OpKind kind) {
    const OpTraits traits = about(kind);
    return traits.inserts ? Hint::kInsert : traits.changes() ? Hint::kChange : Hint::kFind;
  }

  /// Runs lookups. A policy that can decide before the loop how its reads run (me_.decide) does so once for all of
  /// them. For batches it decides in each call.
  void reads(const Request* requests, u32 count, Tally& tally) {
    const auto loop = [&](auto me) { look_up<decltype(me)>(me, requests, count, tally); };
    if constexpr (requires { me_.decide(loop); }) {
      me_.decide(loop);
    } else {
      look_up<ThreadState&>(me_, requests, count, tally);
    }
  }
  /// Looks the keys up by one call of the index. Returns how many were not found.
  u64 find_batch(const Request* requests, u32 count, Tally& tally) {
    const Keys keys(requests, count);
    const BatchRoom<std::optional<u64>, kMostInCall> room(count);
    const std::span<std::optional<u64>> answers = room.all();
    index_.find_batch(me_, keys.all(), answers, batch_.order);
    u64 misses = 0;
    for (u32 i = 0; i < count; ++i) misses += !found_right(requests[i], answers[i], tally);
    return misses;
  }
  /// Looks the keys of a multi-get up: by one call if the index takes batches, else one after the other.
  /// Returns true if all were found.
  [[gnu::noinline]] bool multi_get(const Request* requests, u32 count, Tally& tally) {
    u64 misses = 0;
    if constexpr (kFindsBatches<Index>) {
      misses = find_batch(requests, count, tally);
    } else {
      for (u32 i = 0; i < count; ++i) misses += !read_one(requests[i], tally);
    }
    tally.gets += count;
    tally.got += count - misses;
    return misses == 0;
  }
  /// Does one lookup, for loops that do more than look up: they share one flattened copy of the compiled find. Returns
  /// true if the key was found. The value is checked here, since a caller would get it through memory, and wait.
  LATCHLAB_FLATTEN [[gnu::noinline]] bool read_one(const Request& request, Tally& tally) {
    const std::optional<u64> found = index_.find(me_, key_of<Raw>(request));
    return found_right(request, found, tally);
  }

  /// Runs lookups. The function is flattened: the whole find is inlined into the loop, even if the compiler finds it
  /// too large. An expected result increments no counter, which leaves the registers to the index. Hits are the lookups
  /// that did not miss; functions outside the loop count mistakes.
  template <class Me>
  LATCHLAB_FLATTEN [[gnu::noinline]] void look_up(Me me, const Request* requests, u32 count, Tally& tally) {
    u64 misses = 0;
    Index& index = index_;  // in a register: as a member it would be loaded again after every store
    for (const Request *request = requests, *const end = requests + count; request != end; ++request) {
      misses += !found_right(*request, index.find(me, key_of<Raw>(*request)), tally);
    }
    note_reads(count, misses, tally);
  }
  /// Returns true if the key was found. Counts an unexpected result as a mistake.
  [[gnu::always_inline]] bool found_right(const Request& request, const std::optional<u64>& found, Tally& tally) const {
    const auto missed = [&] {
      if (request.expect == Expect::kHit) [[unlikely]]
        count_missing(tally);
      return false;
    };
    // An index that keeps no pairs misses on each lookup: without this branch its loop would be laid out as cold code.
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
  // Not gnu::cold: g++ 12 counts a block with a call of a cold function as never executed, and sometimes the code
  // behind that block, too. It then takes the loop for one that ends, and reads what stays the same again for each key.
  // gnu::used: g++ keeps their arguments as they are. Otherwise it passes the fields of the request, and the loop loads
  // them for a call that does not come.
  [[gnu::noinline, gnu::used]] static void count_missing(Tally& tally) { ++tally.missing; }
  [[gnu::noinline, gnu::used]] void count_mistake(u64 found, const Request& request, Tally& tally) const {
    tally.wrong_values += tag_of_(found ^ request.value) != 0;
    tally.phantoms += request.expect == Expect::kMiss;
  }

  /// Runs inserts, updates or erasures by one call of the index.
  void change_batch(OpKind kind, const Request* requests, u32 count, Tally& tally) {
    const Keys keys(requests, count);
    std::array<u64, kMostInAttempt> all_values;
    for (u32 i = 0; i < count; ++i) all_values[i] = requests[i].value;
    const std::span<const u64> values(all_values.data(), count);
    // Inserts may throw; the destructor counts those that were done before.
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
    } done{*this, kind, requests, count, tally};
    const std::span<bool> changed(done.changed.data(), count);
    switch (kind) {
      case OpKind::kInsert: index_.insert_batch(me_, keys.all(), values, changed, batch_.order); break;
      case OpKind::kErase: index_.erase_batch(me_, keys.all(), changed, batch_.order); break;
      default: index_.update_batch(me_, keys.all(), values, changed, batch_.order); break;
    }
    done.all = true;
  }

  /// The value that a modify stores: what an update would store if the key is there, else nothing. So the tally counts
  /// modifies as it counts updates. Only that of an increment depends on the old value, which is checked after the
  /// call.
  Found modified_to(const Request& request, const Found& before) const noexcept {
    if (!before) return before;
    return request.kind == OpKind::kIncrement ? incremented(*before, tag_of_.value_bits()) : request.value;
  }
  /// Runs a modify, or an increment as one. Returns true if the key was there.
  [[gnu::noinline]] bool modify_one(const Request& request, Tally& tally) {
    if constexpr (kModifies<Index>) {
      const auto change = [&](const Found& before) noexcept { return modified_to(request, before); };
      const Modified modified = index_.modify(me_, key_of<Raw>(request), change);
      return modified_right(request, modified, tally);
    }
    return false;
  }
  /// Returns true if the key was there. Checks the value that it had. An index that keeps no pairs
  /// answers with values of no key, which would cost its loop a call each.
  bool modified_right(const Request& request, const Modified& modified, Tally& tally) const {
    if constexpr (!keeps_pairs<Index>()) return modified.before.has_value();
    return found_right(request, modified.before, tally);
  }
  [[gnu::noinline]] bool increment_one(const Request& request, Tally& tally) {
    if constexpr (kIncrementsByItself<Index>)
      return found_right(request, index_.increment(me_, key_of<Raw>(request)), tally);
    return modify_one(request, tally);
  }
  /// Runs increments by one call of the index.
  void increment_batch(const Request* requests, u32 count, Tally& tally) {
    const Keys keys(requests, count);
    const BatchRoom<Found, kMostInCall> room(count);
    const std::span<Found> after = room.all();
    index_.increment_batch(me_, keys.all(), after, batch_.order);
    for (u32 i = 0; i < count; ++i) note(OpKind::kIncrement, found_right(requests[i], after[i], tally), tally);
  }
  /// Runs modifies, or increments as such, by one call of the index.
  void modify_batch(const Request* requests, u32 count, Tally& tally) {
    const Keys keys(requests, count);
    const BatchRoom<Modified> answers(count);
    // A modify may throw. The destructor counts those before it that found their keys.
    struct Done {
      ~Done() {
        for (std::size_t i = 0; i < modified.size(); ++i) {
          if (!all && !modified[i].before) continue;
          note(requests[i].kind, session.modified_right(requests[i], modified[i], tally), tally);
        }
      }
      const RunnerOf& session;
      const Request* const requests;
      const std::span<const Modified> modified;
      Tally& tally;
      bool all = false;
    } done{*this, requests, answers.all(), tally};
    const auto change = [this, requests](std::size_t i, const Found& before) noexcept {
      return modified_to(requests[i], before);
    };
    index_.modify_batch(me_, keys.all(), answers.all(), change, batch_.order);
    done.all = true;
  }

  /// Runs inserts, flattened like look_up(). An insert may throw; the destructor adds the inserts before it to the
  /// tally.
  LATCHLAB_FLATTEN [[gnu::noinline]] void inserts(const Request* requests, u32 count, Tally& tally) {
    struct Counts {
      ~Counts() {
        const u64 done = static_cast<u64>(request - first);
        tally.count[static_cast<std::size_t>(OpKind::kInsert)] += done;
        tally.succeeded[static_cast<std::size_t>(OpKind::kInsert)] += done - refused;
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

  /// Runs requests of several kinds, in their order. The loop only chooses and counts, so kinds in random order cost
  /// the one misprediction of the choice. Each kind counts at an address of its own, which the processor knows early.
  /// Updates are inlined, and the other kinds called: each has the registers that its operation needs, and saves those
  /// of the loop only then.
  [[gnu::noinline]] void mixed(const Request* requests, u32 count, const Request* gets, Tally& tally) {
    for (const Request& request : std::span(requests, count)) {
      switch (request.kind) {
        case OpKind::kRead: note(OpKind::kRead, read_one(request, tally), tally); break;
        case OpKind::kInsert: note(OpKind::kInsert, insert_one(request, tally), tally); break;
        case OpKind::kUpdate: note(OpKind::kUpdate, update_one(request, tally), tally); break;
        case OpKind::kUpsert:
          note(OpKind::kUpsert, upserted(request, index_.upsert(me_, key_of<Raw>(request), request.value), tally),
               tally);
          break;
        case OpKind::kErase:
          note_change(OpKind::kErase, request, index_.erase(me_, key_of<Raw>(request)), tally);
          break;
        case OpKind::kScan: note(OpKind::kScan, scan_one(request, tally), tally); break;
        case OpKind::kMultiGet:
          note(OpKind::kMultiGet, multi_get(gets + request.number, request.limit, tally), tally);
          break;
        case OpKind::kRmw: note(OpKind::kRmw, read_modify_write(request, tally), tally); break;
        case OpKind::kModify: note(OpKind::kModify, modify_one(request, tally), tally); break;
        case OpKind::kIncrement: note(OpKind::kIncrement, increment_one(request, tally), tally); break;
      }
    }
  }
  [[gnu::always_inline]] bool update_one(const Request& request, Tally& tally) {
    return changed_right(OpKind::kUpdate, request, index_.update(me_, key_of<Raw>(request), request.value), tally);
  }
  /// Runs two operations of the index, as YCSB does: it overwrites what other threads write in between.
  [[gnu::noinline]] bool read_modify_write(const Request& request, Tally& tally) {
    return read_one(request, tally) && update_one(request, tally);
  }
  LATCHLAB_FLATTEN [[gnu::noinline]] bool insert_one(const Request& request, Tally& tally) {
    return changed_right(OpKind::kInsert, request, index_.insert(me_, key_of<Raw>(request), request.value), tally);
  }

  /// Runs a scan. Checks the order and bounds of every pair. Checks the tag of the last pair only, since hashing each
  /// key would cost as much as delivering it. Returns true if there was a pair.
  [[gnu::noinline]] bool scan_one(const Request& request, Tally& tally) {
    if constexpr (Index::kOrdered) {
      const Raw from = key_of<Raw>(request);
      u64 delivered = 0;
      u64 disorder = 0;
      u64 value = 0;
      index_.scan(me_, from, request.limit, [&](Raw key, u64 v) {
        disorder += delivered == 0 ? key < from : !(Raw(last_) < key);
        last_ = key;
        value = v;
        ++delivered;
      });
      disorder += delivered > request.limit;
      tally.disorder += disorder;
      tally.scanned += delivered;
      if (delivered > 0) tally.wrong_values += !tag_matches(Raw(last_), value, tag_of_.value_bits());
      return delivered > 0;
    }
    return false;
  }

  static void note(OpKind kind, bool succeeded, Tally& tally) {
    ++tally.count[static_cast<std::size_t>(kind)];
    tally.succeeded[static_cast<std::size_t>(kind)] += succeeded;
  }

  /// Adds an insert or an erasure to the checksum, and counts an unexpected result. Returns `changed`.
  [[gnu::always_inline]] bool changed_right(OpKind kind, const Request& request, bool changed, Tally& tally) const {
    if (!changed) [[unlikely]] {
      tally.phantoms += kind == OpKind::kInsert && request.expect == Expect::kMiss;
      tally.missing += kind != OpKind::kInsert && request.expect == Expect::kHit;
    } else if (kind == OpKind::kInsert) {
      tally.checksum += tag_of_(request.value);
    } else if (kind == OpKind::kErase) {
      tally.checksum -= tag_of_(request.value);
    }
    return changed;
  }
  /// Does so for an upsert. Returns `inserted`.
  [[gnu::always_inline]] bool upserted(const Request& request, bool inserted, Tally& tally) const {
    if (inserted) {
      tally.checksum += tag_of_(request.value);
      if (request.expect == Expect::kHit) [[unlikely]]
        count_missing(tally);
    }
    return inserted;
  }
  void note_change(OpKind kind, const Request& request, bool changed, Tally& tally) const {
    note(kind, changed_right(kind, request, changed, tally), tally);
  }

  static constexpr bool kAtOnce = [] {
    if constexpr (requires { Index::kUpdatesAtOnce; }) return Index::kUpdatesAtOnce;
    return false;
  }();

  const Batching batch_;
  bool in_batches_ = batch_.keys > 1;  ///< otherwise one by one; --batch=auto chooses (run_by_choice)
  /// Where the rolling batch after the last one begins, and the ends of the requests for which the index has prefetched
  /// the first lines, and what they lead to.
  const Request *rolls_on_at_ = nullptr, *entered_ = nullptr, *entered_further_ = nullptr;
  FasterWay faster_;
  const TagOf<Index> tag_of_;
  OwnedKey<Raw> last_{};  ///< the last key that the current scan delivered
  Clock& clock_;          ///< for --batch=auto, which times some pieces of work
};

}  // namespace latchlab
