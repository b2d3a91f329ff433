#pragma once
// A set of counters (counters.h) of which one thread writes, and any thread reads while it does. A reader may see some
// counts of an event and not yet others; no count is ever torn, and none goes back.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "src/base/types.h"
#include "src/stats/counters.h"

namespace latchlab {

template <CounterSet C>
class alignas(kFalseSharingBytes) SharedCounts {
  static_assert(histogram_size<C>() == 0);

 public:
  /// Adds to one count. Only the thread that writes may call it: a plain load and store, without a locked instruction.
  template <u64 C::* kMember>
  void add(u64 more = 1) {
    add_after<kMember>(0, more);
  }
  /// Adds to the count that stands `offset` fields after the member, which is in the list.
  template <u64 C::* kMember>
  void add_after(std::size_t offset, u64 more = 1) {
    // Relaxed, here and in add_to: each count stands for itself.
    auto& count = counts_[place_of(kMember) + offset];
    count.store(count.load(kRelaxed) + more, kRelaxed);
  }
  /// Adds all counts to `sum`. Any thread may call it.
  void add_to(C& sum) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) sum.*C::fields()[i].member += counts_[i].load(kRelaxed);
  }

 private:
  static consteval std::size_t place_of(u64 C::* member) {
    const auto fields = C::fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].member == member) return i;
    }
    throw "the list of counters misses this one";
  }

  std::array<std::atomic<u64>, C::fields().size()> counts_{};
};

}  // namespace latchlab
