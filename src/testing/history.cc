#include "src/testing/history.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <utility>

namespace latchlab::testing {

namespace {

using State = std::optional<u64>;

/// Whether the call may have got its answer in this state, which it then changes.
bool applies(const Call& call, State& state) {
  switch (call.kind) {
    case CallKind::kFind: return call.yes ? state == call.value : !state;
    case CallKind::kInsert:
      if (call.yes == state.has_value()) return false;
      if (call.yes) state = call.value;
      return true;
    case CallKind::kUpdate:
      if (call.yes != state.has_value()) return false;
      if (call.yes) state = call.value;
      return true;
    case CallKind::kUpsert:
      if (call.yes == state.has_value()) return false;
      state = call.value;
      return true;
    case CallKind::kErase:
      if (call.yes != state.has_value()) return false;
      state.reset();
      return true;
  }
  return false;
}

class Search {
 public:
  explicit Search(std::span<const Call> calls) : calls_(calls) {}

  /// `done`: the calls that have taken effect, one bit each.
  bool completes(u64 done, State state) {
    if (std::popcount(done) == static_cast<int>(calls_.size())) return true;
    if (!seen_.emplace(done, state).second) return false;
    u64 first_return = ~u64{0};   // nothing called after it may go before that call
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!(done >> i & 1)) first_return = std::min(first_return, calls_[i].returned);
    }
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if ((done >> i & 1) || calls_[i].called > first_return) continue;
      State next = state;
      if (applies(calls_[i], next) && completes(done | u64{1} << i, next)) return true;
    }
    return false;
  }

 private:
  std::span<const Call> calls_;
  std::set<std::pair<u64, State>> seen_;
};

}  // namespace

std::string Call::str() const {
  static constexpr const char* kNames[] = {"find", "insert", "update", "upsert", "erase"};
  const bool shows_value = kind == CallKind::kFind ? yes : kind != CallKind::kErase;
  char text[128];
  std::snprintf(text, sizeof text, "[%llu-%llu] %u: %s%s%s -> %s", static_cast<unsigned long long>(called),
                static_cast<unsigned long long>(returned), caller, kNames[static_cast<std::size_t>(kind)],
                shows_value ? " " : "", shows_value ? std::to_string(value).c_str() : "", yes ? "yes" : "no");
  return text;
}

bool linearizable(std::optional<u64> before, std::span<const Call> calls) {
  if (calls.size() > 64) throw std::invalid_argument("linearizable: more than 64 calls on one key");
  return Search(calls).completes(0, before);
}

std::string History::complaint() const {
  for (std::size_t key = 0; key < calls_.size(); ++key) {
    if (linearizable(before_[key], calls_[key])) continue;
    std::string text = "key " + std::to_string(key) + ", at first " +
                       (before_[key] ? std::to_string(*before_[key]) : std::string("absent")) +
                       ", cannot have seen";
    std::vector<Call> calls = calls_[key];
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.called < b.called; });
    for (const Call& call : calls) text += "  " + call.str();
    return text;
  }
  return {};
}

}  // namespace latchlab::testing
