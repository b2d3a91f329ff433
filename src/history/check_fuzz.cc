// Fuzzes the checker against the trial of every order. Five bytes of input are a call.
#include "src/history/check.h"

#include <algorithm>
#include <vector>

#include "src/history/random_history_testing.h"
#include "src/history/witness.h"
#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  constexpr std::size_t kBytes = 5, kMostCalls = 10;
  std::vector<Call> calls;
  std::optional<u64> before;
  if (size > 0 && data[0] % 2 == 1) before = data[0] / 2 % 4;
  for (std::size_t at = 1; at + kBytes <= size && calls.size() < kMostCalls; at += kBytes) {
    const std::uint8_t* const bytes = data + at;
    Call call{static_cast<CallKind>(bytes[0] % 5), bytes[0] / 5 % 2 == 1, bytes[1], bytes[2], 0};
    call.returned = bytes[3] == 255 ? kNeverReturned : call.called + bytes[3];
    if (bytes[0] >= 128 && call.kind != CallKind::kFind && call.was_there()) call.was = bytes[4];
    calls.push_back(call);
  }
  const bool possible = EveryOrder(calls).completes(0, before);
  expect(possible == linearizable(before, calls), "the checker agrees with every order");
  if (possible) return 0;
  const Witness witness = find_witness(before, calls);
  expect(!EveryOrder(witness.calls).completes(0, witness.before), "a witness has no order");
  return 0;
}
