#pragma once
// Random histories of one key, and a reference for the checker.
#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/base/types.h"
#include "src/history/call.h"

namespace latchlab {

using State = std::optional<u64>;

/// Runs a call in this state, which it may change, and returns its answer.
inline bool take_effect(const Call& call, State& state) {
  const bool there = state.has_value();
  switch (call.kind) {
    case CallKind::kFind: return there;
    case CallKind::kInsert:
      if (!there) state = call.value;
      return !there;
    case CallKind::kUpdate:
      if (there) state = call.value;
      return there;
    case CallKind::kUpsert: state = call.value; return !there;
    case CallKind::kErase: state.reset(); return there;
  }
  return false;
}

/// The reference for the checker. It tries every order (Wing and Gong, JPDC 1993, with Lowe's memory of
/// configurations).
class EveryOrder {
 public:
  explicit EveryOrder(std::span<const Call> calls) : calls_(calls) {  // at most 64 calls
    for (std::size_t i = 0; i < calls.size(); ++i) returned_ |= u64{calls[i].has_returned()} << i;
  }

  /// Returns true if the other calls that returned can still take effect. `done` has one bit for each call that has.
  bool completes(u64 done, State state) {
    if ((done & returned_) == returned_) return true;
    if (!seen_.emplace(done, state).second) return false;
    u64 first_return = ~u64{0};  // a call that begins after this return cannot precede that call
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!(done >> i & 1)) first_return = std::min(first_return, calls_[i].returned);
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if ((done >> i & 1) || calls_[i].called > first_return) continue;
      const Call& call = calls_[i];
      const bool agrees = !(call.finds() && state != call.value) && !(call.was && state != call.was);
      State next = state;
      const bool yes = take_effect(call, next);
      const bool right = !call.has_returned() || (agrees && yes == call.yes);
      if (right && completes(done | u64{1} << i, next)) return true;
    }
    return false;
  }

 private:
  std::span<const Call> calls_;
  u64 returned_ = 0;
  std::set<std::pair<u64, State>> seen_;
};

struct Drawn {
  State before;
  std::vector<Call> calls;
};

/// The parameters of random histories.
struct Shape {
  u32 calls;
  u64 longest;          // the most from a call or return to its linearization point; these points are ten apart
  u64 values;           // the number of different values, or 0: each is written once
  u32 find_weight;      // sixteenths of calls that are finds
  bool by_turns;        // inserts and erases rather than updates
  u32 say_weight = 0;   // sixteenths of answers that say what was there
  u32 lost_weight = 0;  // sixteenths of calls that never return
};

/// Draws a linearizable history: each call has a linearization point, at which it gets its answer.
inline Drawn draw_history(Rng& rng, const Shape& shape) {
  Drawn out;
  u64 fresh = 1;
  const auto value = [&] { return shape.values == 0 ? fresh++ : 1 + rng.below(shape.values); };
  if (rng.below(2) == 0) out.before = value();
  State state = out.before;
  for (u32 i = 0; i < shape.calls; ++i) {
    Call call{CallKind::kFind, false, 0, 0, 0, i};
    if (rng.below(16) >= shape.find_weight) {
      call.kind = static_cast<CallKind>(1 + rng.below(4));
      if (shape.by_turns && rng.below(4) != 0) call.kind = state ? CallKind::kErase : CallKind::kInsert;
    }
    if (call.kind != CallKind::kFind && call.kind != CallKind::kErase) call.value = value();
    if (call.kind == CallKind::kFind) call.value = state.value_or(0);
    if (call.kind != CallKind::kFind && rng.below(16) < shape.say_weight) call.was = state;
    call.yes = take_effect(call, state);
    const u64 moment = shape.longest + 10 * i;
    call.called = moment - rng.below(shape.longest);
    call.returned = rng.below(16) < shape.lost_weight ? kNeverReturned : moment + rng.below(shape.longest);
    out.calls.push_back(call);
  }
  return out;
}

/// Changes one detail of a history, which usually makes it impossible.
inline void mutate(Rng& rng, Drawn& drawn) {
  Call& call = drawn.calls[rng.below(drawn.calls.size())];
  const Call& other = drawn.calls[rng.below(drawn.calls.size())];
  switch (rng.below(7)) {
    case 0: call.yes = !call.yes; break;
    case 1: call.value = other.value; break;
    case 2: call.kind = static_cast<CallKind>(rng.below(5)); break;
    case 3: std::swap(call.called, drawn.calls[rng.below(drawn.calls.size())].called); break;
    case 4: call.was = other.value; break;
    case 5: call.was.reset(); break;
    default: call.returned = call.called + rng.below(30);
  }
  for (Call& one : drawn.calls) {
    if (one.called > one.returned) std::swap(one.called, one.returned);
    if (one.kind == CallKind::kFind || !one.was_there()) one.was.reset();
  }
}

inline std::string told(const Drawn& drawn) {
  std::string text = "at first " + (drawn.before ? std::to_string(*drawn.before) : std::string("absent"));
  for (const Call& call : drawn.calls) text += "\n  " + call.str();
  return text;
}

}  // namespace latchlab
