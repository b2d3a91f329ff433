#include "src/history/check_history.h"

#include <algorithm>
#include <utility>

namespace latchlab {

HistoryVerdict check_history(std::vector<KeyedCall>& history, std::optional<Effort> most) {
  constexpr u64 kMostWitnesses = 10;
  // The order of calls within a key keeps the checker's own sort short.
  std::sort(history.begin(), history.end(), [](const KeyedCall& a, const KeyedCall& b) {
    return a.key != b.key ? a.key < b.key : a.call.called < b.call.called;
  });
  HistoryVerdict verdict;
  verdict.calls = history.size();
  std::vector<Call> calls;
  for (auto at = history.begin(); at != history.end();) {
    const u64 key = at->key;
    calls.clear();
    for (; at != history.end() && at->key == key; ++at) {
      calls.push_back(at->call);
      verdict.pending += !at->call.has_returned();
    }
    ++verdict.keys;
    const KeyVerdict of_key = check_calls(std::nullopt, calls, most.value_or(effort_for(calls.size())));
    std::optional<Witness> witness;
    if (of_key.undecided) {
      witness = find_value_witness(std::nullopt, calls);
      verdict.undecided += !witness;
    } else if (!of_key.conflict.empty() && verdict.wrong < kMostWitnesses) {
      witness = find_witness(std::nullopt, calls);
    }
    verdict.wrong += witness || !of_key.conflict.empty();
    if (witness && (!verdict.shown || witness->calls.size() < verdict.shown->witness.calls.size()))
      verdict.shown = {key, *std::move(witness)};
  }
  if (verdict.undecided > 0) verdict.answer = Linearizable::kUnknown;
  if (verdict.wrong > 0) verdict.answer = Linearizable::kNo;
  return verdict;
}

}  // namespace latchlab
