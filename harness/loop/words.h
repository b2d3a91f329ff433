// The index of words under sized values (indexes/sized.h), as the harness has it: a trial of any pair, behind virtual
// calls. So the store of values and the hot loop over it are compiled once for each kind of keys, not once a pair. A
// virtual call is cheap beside the making or the reading of a value.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/host/clock.h"
#include "harness/loop/trial.h"
#include "indexes/erased.h"
#include "src/base/batch_room.h"
#include "src/base/batching.h"
#include "src/base/types.h"
#include "src/machine/native.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/layout.h"

namespace latchlab {

/// The words of a trial's index, which outlives this. Operations promise what those of its session do.
template <class RawKey>
class Words {
 public:
  using Raw = RawKey;
  using Machine = Native;
  struct Policy {
    using Layout = CoarseLayout<Native>;  // Sized asks for the scale and the seeded bugs of tests: there are none
  };
  static constexpr bool kOrdered = true;              // scans visit nothing if the index has no order
  static constexpr bool kHints = true;                // and prefetches do nothing if it has none
  static constexpr bool kWalksBesideWriters = false;  // no operation of the harness needs it
  struct Walk {};

  class ThreadState {
   public:
    explicit ThreadState(Words& words) : session(words.trial_.runner(wall_clock())) {}
    const std::unique_ptr<Counted> session;
  };

  explicit Words(Trial& trial) : trial_(trial) {}

  void idle(ThreadState& me) const { me.session->idle(); }

  Found find(ThreadState& me, Raw raw) const {
    const ErasedKey key(raw);
    Found found;
    me.session->find({&key, 1}, {&found, 1}, BatchOrder::kInTurn);
    return found;
  }
  void find_batch(ThreadState& me, std::span<const Raw> raws, std::span<Found> found, BatchOrder order) const {
    const Keys keys(raws);
    me.session->find(keys.all(), found, order);
  }
  bool insert(ThreadState& me, Raw raw, u64 value) const {
    const ErasedKey key(raw);
    bool done = false;
    me.session->put(Put::kInsert, {&key, 1}, {&value, 1}, {&done, 1}, BatchOrder::kInTurn);
    return done;
  }
  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) const {
    return me.session->modify(key, std::cref(f));
  }
  template <class Change>
  Changed update_if(ThreadState& me, Raw key, const Change& change) const {
    Changed outcome = Changed::kAbsent;
    (void)modify(me, key, [&](const Found& before) -> Found {
      outcome = Changed::kAbsent;
      if (!before) return {};
      const Found after = change(*before);
      outcome = after ? Changed::kChanged : Changed::kLeft;
      return after ? after : before;
    });
    return outcome;
  }
  template <class Wanted>
  Changed erase_if(ThreadState& me, Raw key, const Wanted& wanted) const {
    Changed outcome = Changed::kAbsent;
    (void)modify(me, key, [&](const Found& before) -> Found {
      outcome = Changed::kAbsent;
      if (!before) return {};
      const bool goes = wanted(*before);
      outcome = goes ? Changed::kChanged : Changed::kLeft;
      return goes ? Found() : before;
    });
    return outcome;
  }

  void prefetch(ThreadState& me, std::span<const Raw> raws, Hint hint) const {
    const Keys keys(raws);
    me.session->prefetch(keys.all(), hint);
  }
  void prefetch(ThreadState& me, std::span<const Raw> raws, std::span<const Hint> hints) const {
    for (std::size_t first = 0, end = 0; first < raws.size(); first = end) {
      end = first + 1;
      while (end < raws.size() && hints[end] == hints[first]) ++end;
      prefetch(me, raws.subspan(first, end - first), hints[first]);
    }
  }

  std::size_t scan(ThreadState& me, Raw from, std::size_t limit, const auto& visit) const {
    const auto as_raw = [&](ErasedKey key, u64 word) { visit(raw_of<Raw>(key), word); };
    return me.session->scan(from, limit, std::cref(as_raw));
  }
  void for_each(ThreadState& me, const auto& visit) const { for_each_at_rest(me, visit); }  // it has no walks
  void for_each_at_rest(ThreadState& me, const auto& visit) const {
    const auto as_raw = [&](ErasedKey key, u64 word) { visit(raw_of<Raw>(key), word); };
    me.session->for_each_at_rest(std::cref(as_raw));
  }

  Footprint bytes() const { return trial_.bytes(); }
  std::vector<ChunkSource::Chunk> chunks() const { return trial_.chunks(); }

 private:
  /// The keys of a batch, of at most kMostInAttempt.
  class Keys {
   public:
    explicit Keys(std::span<const Raw> raws) : keys_(raws.size()) { std::ranges::copy(raws, keys_.all().begin()); }
    std::span<const ErasedKey> all() const { return keys_.all(); }

   private:
    const BatchRoom<ErasedKey> keys_;
  };

  Trial& trial_;
};

}  // namespace latchlab
