#pragma once
// The check of a whole history: each key alone, since linearizability is local.
#include <cstddef>
#include <optional>
#include <vector>

#include "src/base/types.h"
#include "src/history/check.h"
#include "src/history/history_file.h"
#include "src/history/witness.h"

namespace latchlab {

/// The outcome of a check. A history of which one key is impossible is impossible, whatever the others are.
enum class Linearizable : u8 { kYes, kNo, kUnknown };

struct HistoryVerdict {
  Linearizable answer = Linearizable::kYes;
  u64 calls = 0, keys = 0;
  u64 pending = 0;    ///< calls that never returned
  u64 wrong = 0;      ///< keys whose calls are not linearizable
  u64 undecided = 0;  ///< keys whose check reached its limit, and of which no value by itself is wrong
  struct WrongKey {
    u64 key;
    Witness witness;
  };
  std::optional<WrongKey> shown{};  ///< a wrong key with the fewest calls in its witness, of the first ten
};

/// Returns the limit for a key with so many calls: seconds for a million calls, and a tenth of a GB.
[[nodiscard]] constexpr Effort effort_for(std::size_t calls) {
  return {.in_all = 1'000'000 + 20 * u64{calls}, .at_once = 500'000};
}

/// Checks a history in which every key is absent at first. Each key has the limit `most`, by default
/// effort_for(its calls). O(calls) on one thread if values are written once: 10^7 calls take less than 10 s. Reorders
/// the calls.
[[nodiscard]] HistoryVerdict check_history(std::vector<KeyedCall>& history, std::optional<Effort> most = {});

}  // namespace latchlab
