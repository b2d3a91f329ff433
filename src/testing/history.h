#pragma once
// The history of a scenario with few keys, which its own threads or fibers record.
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/types.h"
#include "src/history/call.h"

namespace latchlab::testing {

/// Keys are numbered from 0, and so are callers. Callers may be threads: each adds its own calls.
class History {
 public:
  History(std::size_t keys, u32 callers) : before_(keys), calls_of_(callers) {}

  void starts_with(std::size_t key, u64 value) { before_[key] = value; }
  void starts_absent(std::size_t key) { before_[key].reset(); }
  /// Returns the time of a call or a return. It is a full fence and pairs with itself, so a call that begins after a
  /// return sees the effects of the returned call.
  u64 now() { return clock_.fetch_add(1, kSeqCst) + 1; }
  void add(std::size_t key, const Call& call) { calls_of_[call.caller].emplace_back(key, call); }

  /// Returns "", or the conflict among one key's calls. Must not be called while a caller adds calls.
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] std::size_t size() const;

 private:
  std::atomic<u64> clock_{0};
  std::vector<std::optional<u64>> before_;
  std::vector<std::vector<std::pair<std::size_t, Call>>> calls_of_;
};

}  // namespace latchlab::testing
