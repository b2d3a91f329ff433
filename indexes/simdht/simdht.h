#pragma once
// `simdht`: the cuckoo tables of SimdHT-Bench (Shankar, Lu, Panda, IISWC 2019), reconstructed, since the paper's tables
// of parameters were not available. The subject is lookups by shape, width, instruction set and kernel. So a table is
// pairs and nothing else (table.h): no latch, no version, no mark. A writer needs exclusive access. The index that runs
// under every policy is `cuckoo`.
//
// A kernel is chosen when the table is made, and called for up to 64 keys. The call goes through a pointer, so that the
// rest of the program has no instructions which a processor may lack.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "indexes/simdht/kernels.h"
#include "indexes/simdht/options.h"
#include "indexes/simdht/table.h"
#include "src/base/key.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

template <class Layout, class KeyType>
class SimdHt {
 public:
  using Key = KeyType;
  using Options = simdht::Options;
  static constexpr std::string_view kName = "simdht";
  static constexpr bool kOrdered = false;
  static constexpr bool kKeysAreNumbers = true;
  static constexpr bool kNeedsExclusion = true;
  static constexpr std::string_view kOwnMemory = "simdht allocates its table with operator new";

  SimdHt() : SimdHt(Options()) {}
  explicit SimdHt(const Options& options) : table_(simdht::make_table(options.shape, options.slots)) {
    const auto [isa, kernel] = options.in_effect();
    find_ = simdht::kernel_of(isa, kernel, options.shape);
  }

  static std::size_t extra_bytes(const Key&) { return 0; }

  template <class Tx>
  Attempt<Found> find_in(Tx&, const Key& key) const {
    const u64 raw = key.raw();
    u64 value = 0;
    return find_(table_->view(), &raw, 1, &value) != 0 ? Found(value) : Found();
  }

  /// Finds several keys: found[i] answers keys[i].
  template <class Tx>
  Attempt<bool> find_batch_in(Tx&, std::span<const Key> keys, std::span<Found> found, bool) const {
    constexpr std::size_t kMost = simdht::kMostKeys;
    u64 raws[kMost], values[kMost];
    for (std::size_t first = 0; first < keys.size(); first += kMost) {
      const std::size_t count = std::min(keys.size() - first, kMost);
      for (std::size_t i = 0; i < count; ++i) raws[i] = keys[first + i].raw();
      const u64 there = find_(table_->view(), raws, static_cast<u32>(count), values);
      for (std::size_t i = 0; i < count; ++i) found[first + i] = (there >> i & 1) != 0 ? Found(values[i]) : Found();
    }
    return true;
  }

  /// Inserts or updates the pair. Returns kNoMemory, with nothing changed, if there is no memory for a larger table.
  template <class Tx>
  Attempt<bool> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    try {
      // A constant needs no look at the value that is there.
      if constexpr (!std::same_as<decltype(value), const SetTo>) {
        if (const Found found = how == Put::kInsert ? Found() : *find_in(tx, key)) {
          u64 after = *found;
          value.change(PlainCell(after));
          (void)table_->put(key.raw(), after, Put::kUpdate);
          return how == Put::kUpdate;
        }
      }
      return table_->put(key.raw(), value.first(), how);
    } catch (const std::bad_alloc&) {
      return kNoMemory;
    }
  }
  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    if constexpr (!std::same_as<decltype(wanted), const AnyValue&>) {
      Found found = *find_in(tx, key);
      if (!found || !wanted.fits(PlainCell(*found))) return false;
    }
    return table_->erase(key.raw());
  }

  /// Visits every pair, in no particular order. No thread may change the table meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) const {
    table_->for_each(std::ref(visit));
  }
  /// Does nothing: the table frees its memory itself.
  template <class Pool>
  void free_all(Pool&) {}
  Footprint bytes() const { return {.live = table_->bytes(), .room = table_->bytes(), .reserved = table_->bytes()}; }

 private:
  std::unique_ptr<simdht::Table> table_;
  simdht::Find find_ = nullptr;
};

}  // namespace latchlab
