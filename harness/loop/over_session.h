// An index behind a session of it: an IndexFace over virtual calls. The hot loop is compiled once over it, for indexes
// beside whose operations a virtual call is cheap: those of sized values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "harness/loop/trial.h"
#include "indexes/erased.h"
#include "src/base/batching.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

/// The index behind one session, for the one thread that uses it. It offers all that an index may: the session leaves
/// out what its index cannot do.
template <class RawKey>
class OverSession {
 public:
  using Raw = RawKey;
  static constexpr bool kOrdered = true;
  static constexpr bool kMayBeNarrow = true;

  class ThreadState {
   public:
    explicit ThreadState(Counted& session) : session_(&session) {}
    Counted& asked() const { return *session_; }

   private:
    Counted* session_;
  };

  explicit OverSession(std::unique_ptr<Counted> session) : session_(std::move(session)) {}

  ThreadState join() const { return ThreadState(*session_); }
  void idle(ThreadState& me) const { me.asked().idle(); }

  Found find(ThreadState& me, Raw raw) const {
    const ErasedKey key(raw);
    Found found;
    me.asked().find({&key, 1}, {&found, 1}, BatchOrder::kInTurn);
    return found;
  }
  void find_batch(ThreadState& me, std::span<const Raw> raws, std::span<Found> found, BatchOrder order) const {
    const Keys keys(raws);
    me.asked().find(keys.all(), found, order);
  }
  bool insert(ThreadState& me, Raw key, u64 value) const { return put(me, Put::kInsert, key, value); }
  bool update(ThreadState& me, Raw key, u64 value) const { return put(me, Put::kUpdate, key, value); }
  bool upsert(ThreadState& me, Raw key, u64 value) const { return put(me, Put::kUpsert, key, value); }
  bool erase(ThreadState& me, Raw raw) const {
    const ErasedKey key(raw);
    bool done = false;
    me.asked().erase({&key, 1}, {&done, 1}, BatchOrder::kInTurn);
    return done;
  }
  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) const {
    return me.asked().modify(key, std::cref(f));
  }

  void prefetch(ThreadState& me, std::span<const Raw> raws, Hint hint) const {
    const Keys keys(raws);
    me.asked().prefetch(keys.all(), hint);
  }
  void prefetch(ThreadState& me, std::span<const Raw> raws, std::span<const Hint> hints) const {
    for (std::size_t first = 0, end = 0; first < raws.size(); first = end) {
      end = first + 1;
      while (end < raws.size() && hints[end] == hints[first]) ++end;
      prefetch(me, raws.subspan(first, end - first), hints[first]);
    }
  }

  std::size_t scan(ThreadState& me, Raw from, std::size_t limit, const auto& visit) const {
    const auto as_raw = [&](ErasedKey key, u64 value) { visit(raw_of<Raw>(key), value); };
    return me.asked().scan(from, limit, std::cref(as_raw));
  }
  void for_each(ThreadState& me, const auto& visit) const {
    const auto as_raw = [&](ErasedKey key, u64 value) { visit(raw_of<Raw>(key), value); };
    me.asked().for_each(std::cref(as_raw));
  }
  Footprint bytes() const { return {}; }

 private:
  /// The keys of a batch, of at most kMostInAttempt.
  class Keys {
   public:
    explicit Keys(std::span<const Raw> raws) : count_(raws.size()) { std::ranges::copy(raws, keys_.begin()); }
    std::span<const ErasedKey> all() const { return {keys_.data(), count_}; }

   private:
    const std::size_t count_;
    std::array<ErasedKey, kMostInAttempt> keys_;
  };

  static bool put(ThreadState& me, Put how, Raw raw, u64 value) {
    const ErasedKey key(raw);
    bool done = false;
    me.asked().put(how, {&key, 1}, {&value, 1}, {&done, 1}, BatchOrder::kInTurn);
    return done;
  }

  std::unique_ptr<Counted> session_;
};

}  // namespace latchlab
