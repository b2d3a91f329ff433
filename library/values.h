#pragma once
// The values of a map, and where they lie. A kind of value has these members, all static:
//
//     Index<Pairs>                   the class that keeps the values of Pairs, which has u64 cells
//     make<Pairs>(policy, memory)    an empty index
//     bytes(index)                   its memory
//     Value, View                    a value that a caller keeps, and the form in which it passes and sees one
//     stored(value)                  the value as the index takes it
//     find(index, me, key)           a copy, or nothing
//     visit(index, me, key, f)       calls f(view) after the attempt; returns true if the key is present
//     insert(index, me, key, value, before), update, upsert, erase(index, me, key, before)
//                                    the operations that call before(view) for the value that the key had
//     modify(index, me, key, f)      the pair before and after
//     find_batch(index, me, keys, found)
//     upsert_batch(index, me, keys, values, added)   the values are stored ones
//     prefetch(index, me, keys)      for modifications of up to kMostInAttempt keys
//     scan(index, me, from, limit, visit)   visit(key, view); of an ordered index
//     for_each(index, me, visit)
//     kInStore                       true if values lie in a store. Then there are also:
//     use(index, me, key, f)         as visit, and marks the value as used
//     evict(index, me, hand, most, evicted)   a step of a cache's clock hand
//     kHoldsVectors                  true if values can be vectors of numbers (vectors.h). Then there is also:
//     copy(bytes)                    the value that these bytes are
//     read(index, me, key, f)        calls f(bytes); returns true if the key is present
//     update_vector(index, me, key, update, before, after)
//
// InCell keeps a trivially copyable value of up to eight bytes in the cell of the index. A change is one attempt.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "src/base/batching.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

/// The value of a key before and after a modify; nothing if the key was, or is, absent.
template <class Value>
struct ModifiedValue {
  std::optional<Value> before, after;
};

template <class Value>
concept CellValue = std::is_trivially_copyable_v<Value> && sizeof(Value) <= sizeof(u64);

/// The kind of values that lie in the cells of the index.
template <CellValue T>
struct InCell {
  static constexpr bool kInStore = false;
  static constexpr bool kHoldsVectors = false;
  template <class Pairs>
  using Index = Pairs;
  using Value = T;
  using View = T;

  template <class Pairs>
  static Pairs make(const Spec& policy, const MemoryConfig& memory) {
    return Pairs(policy, memory);
  }
  template <class Pairs>
  static Footprint bytes(const Pairs& index) {
    return index.bytes();
  }

  static u64 stored(const Value& value) {
    u64 cell = 0;
    std::memcpy(&cell, &value, sizeof value);
    return cell;
  }

  template <class Pairs, class Me>
  static std::optional<Value> find(const Pairs& index, Me& me, typename Pairs::Raw key) {
    return loaded(index.find(me, key));
  }
  template <class Pairs, class Me, class F>
  static bool visit(const Pairs& index, Me& me, typename Pairs::Raw key, F&& f) {
    const std::optional<u64> cell = index.find(me, key);
    if (cell) f(loaded(*cell));
    return cell.has_value();
  }
  template <class Pairs, class Me, class Visit>
  static void scan(const Pairs& index, Me& me, typename Pairs::Raw from, std::size_t limit, const Visit& visit) {
    index.scan(me, from, limit, [&](typename Pairs::Raw key, u64 cell) { visit(key, loaded(cell)); });
  }
  template <class Pairs, class Me, class Visit>
  static void for_each(const Pairs& index, Me& me, const Visit& visit) {
    index.for_each(me, [&](typename Pairs::Raw key, u64 cell) { visit(key, loaded(cell)); });
  }
  template <class Pairs, class Me>
  static void find_batch(const Pairs& index, Me& me, std::span<const typename Pairs::Raw> keys,
                         std::span<std::optional<Value>> found) {
    if constexpr (std::is_same_v<Value, u64>) {
      index.find_batch(me, keys, found);
    } else {
      std::array<std::optional<u64>, kMostInAttempt> cells;
      for (std::size_t first = 0; first < keys.size(); first += cells.size()) {
        const std::size_t count = std::min(keys.size() - first, cells.size());
        index.find_batch(me, keys.subspan(first, count), std::span(cells).first(count));
        for (std::size_t i = 0; i < count; ++i) found[first + i] = loaded(cells[i]);
      }
    }
  }
  template <class Pairs, class Me>
  static void upsert_batch(Pairs& index, Me& me, std::span<const typename Pairs::Raw> keys, std::span<const u64> values,
                           std::span<bool> added) {
    std::array<Modified, kMostInAttempt> modified{};
    struct Tell {
      ~Tell() {  // also what was done before an exception
        for (std::size_t i = 0; i < added.size(); ++i) added[i] = modified[i].after && !modified[i].before;
      }
      const std::span<bool> added;
      const std::array<Modified, kMostInAttempt>& modified;
    } const tell{added, modified};
    const auto put = [values](std::size_t i, const Found&) noexcept { return Found(values[i]); };
    index.modify_batch(me, keys, std::span(modified).first(keys.size()), put);
  }
  template <class Pairs, class Me>
  static void prefetch(const Pairs& index, Me& me, std::span<const typename Pairs::Raw> keys) {
    if constexpr (Pairs::kHints) index.prefetch(me, keys, Hint::kChange);
    if constexpr (requires { index.prefetch_further(me, keys); }) index.prefetch_further(me, keys);
  }

  template <class Pairs, class Me, class Before>
  static bool insert(Pairs& index, Me& me, typename Pairs::Raw key, u64 cell, Before&& before) {
    for (;;) {
      if (index.insert(me, key, cell)) return true;
      if (const Found there = index.find(me, key)) {  // else the key has gone since
        before(loaded(*there));
        return false;
      }
    }
  }
  template <class Pairs, class Me, class Before>
  static bool update(Pairs& index, Me& me, typename Pairs::Raw key, u64 cell, Before&& before) {
    u64 there = 0;  // the last run writes it
    const auto change = [&there, cell](u64 now) noexcept {
      there = now;
      return Found(cell);
    };
    if (index.update_if(me, key, change) == Changed::kAbsent) return false;
    before(loaded(there));
    return true;
  }
  template <class Pairs, class Me, class Before>
  static bool upsert(Pairs& index, Me& me, typename Pairs::Raw key, u64 cell, Before&& before) {
    const Found there = index.modify(me, key, [cell](const Found&) noexcept { return Found(cell); }).before;
    if (there) before(loaded(*there));
    return !there;
  }
  template <class Pairs, class Me, class Before>
  static bool erase(Pairs& index, Me& me, typename Pairs::Raw key, Before&& before) {
    u64 there = 0;  // the last run writes it
    const auto any = [&there](u64 now) noexcept {
      there = now;
      return true;
    };
    if (index.erase_if(me, key, any) != Changed::kChanged) return false;
    before(loaded(there));
    return true;
  }
  /// An exception of f waits until the attempt has ended, without a change.
  template <class Pairs, class Me, class F>
  static ModifiedValue<Value> modify(Pairs& index, Me& me, typename Pairs::Raw key, F&& f) {
    std::exception_ptr thrown;
    const auto modified = index.modify(me, key, [&](std::optional<u64> before) noexcept -> std::optional<u64> {
      try {
        thrown = nullptr;  // of a run that does not count
        const std::optional<Value> now = loaded(before);
        const std::optional<Value> after = f(now);
        return after ? std::optional(stored(*after)) : std::nullopt;
      } catch (...) {
        thrown = std::current_exception();
        return before;
      }
    });
    // The run that counts is the last, unless that one lost its attempt and the pair was then inserted.
    if (thrown && modified.before == modified.after) std::rethrow_exception(std::move(thrown));
    return {loaded(modified.before), loaded(modified.after)};
  }

  static Value loaded(u64 cell) {
    std::array<std::byte, sizeof(Value)> bytes;
    std::memcpy(bytes.data(), &cell, sizeof bytes);
    return std::bit_cast<Value>(bytes);
  }

 private:
  static std::optional<Value> loaded(std::optional<u64> cell) {
    return cell ? std::optional<Value>(loaded(*cell)) : std::nullopt;
  }
};

/// The kind of a type of values.
template <class Value>
struct KindOfValue;
template <CellValue Value>
struct KindOfValue<Value> {
  using Type = InCell<Value>;
};

template <class Value>
concept MapValue = requires { typename KindOfValue<Value>::Type; };

}  // namespace latchlab
