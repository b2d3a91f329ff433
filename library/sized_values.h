#pragma once
// The kind of values that lie in a store beside the index (indexes/sized.h): strings, vectors of bytes or of numbers,
// and trivially copyable types of more than eight bytes, each up to 16 MiB. Values of up to seven bytes lie in the cell
// all the same.
//
// A value is replaced, never changed. A visitor reads it where it lies, inside an epoch, which keeps it readable. So
// the visitor may be long, but it must not call the map: epochs do not nest.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "indexes/sized.h"
#include "indexes/sized_evict.h"
#include "indexes/sized_vectors.h"
#include "library/values.h"
#include "library/vectors.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"
#include "src/memory/values.h"

namespace latchlab {

/// The forms of a sized value: View is the caller's.
template <class T>
struct SizedForms;

template <>
struct SizedForms<std::string> {
  using View = std::string_view;
  static ByteSpan bytes(const View& value) { return std::as_bytes(std::span(value)); }
  static View view(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  static std::string copy(ByteSpan bytes) { return std::string(view(bytes)); }
};

template <>
struct SizedForms<std::vector<std::byte>> {
  using View = ByteSpan;
  static ByteSpan bytes(const View& value) { return value; }
  static View view(ByteSpan bytes) { return bytes; }
  static std::vector<std::byte> copy(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }
};

template <vectors::ElementType T>
struct SizedForms<std::vector<T>> {
  using View = VectorView<T>;
  static ByteSpan bytes(const View& value) { return value.bytes(); }
  static View view(ByteSpan bytes) { return View(bytes); }
  static std::vector<T> copy(ByteSpan bytes) { return view(bytes).copy(); }
};

template <class T>
concept LargeValue = std::is_trivially_copyable_v<T> && !CellValue<T> && !std::same_as<T, std::string_view> &&
                     !std::same_as<T, ByteSpan>;

/// A value that may have any number of bytes.
template <class T>
concept AnySizeValue = requires { typename SizedForms<T>::View; } && !LargeValue<T>;

template <LargeValue T>
struct SizedForms<T> {
  using View = T;
  static ByteSpan bytes(const View& value) { return std::as_bytes(std::span(&value, 1)); }
  static View view(ByteSpan bytes) { return copy(bytes); }  // a copy, since a block is aligned to eight bytes only
  static T copy(ByteSpan bytes) {
    std::array<std::byte, sizeof(T)> copied;
    std::memcpy(copied.data(), bytes.data(), sizeof copied);
    return std::bit_cast<T>(copied);
  }
};

/// The kind of values that lie in a store (values.h lists the members of a kind).
template <class T>
struct InStore {
  static constexpr bool kInStore = true;
  static constexpr bool kHoldsVectors = AnySizeValue<T>;
  using Forms = SizedForms<T>;
  template <class Pairs>
  using Index = Sized<Pairs>;
  using Value = T;
  using View = typename Forms::View;

  template <class Pairs>
  static Index<Pairs> make(const Spec& policy, const MemoryConfig& memory) {
    return Index<Pairs>(memory, policy, memory);
  }
  template <class Sized>
  static Footprint bytes(const Sized& index) {
    const SizedFootprint bytes = index.bytes();
    const Footprint &pairs = bytes.index, &values = bytes.values;
    return {.live = pairs.live + values.live,
            .room = pairs.room + values.room,
            .reserved = pairs.reserved + values.reserved,
            .chunks = pairs.chunks + values.chunks,
            .page_bytes = pairs.page_bytes};
  }

  static ByteSpan stored(const View& value) { return Forms::bytes(value); }
  static T copy(ByteSpan bytes) { return Forms::copy(bytes); }

  template <class Sized, class Me>
  static std::optional<Value> find(const Sized& index, Me& me, typename Sized::Raw key) {
    std::optional<Value> found;
    index.find(me, key, [&](ByteSpan value) { found.emplace(Forms::copy(value)); });
    return found;
  }
  template <class Sized, class Me, class F>
  static bool visit(const Sized& index, Me& me, typename Sized::Raw key, F&& f) {
    return index.find(me, key, [&](ByteSpan value) { f(Forms::view(value)); });
  }
  template <class Sized, class Me, class F>
  static bool use(const Sized& index, Me& me, typename Sized::Raw key, F&& f) {
    return index.use(me, key, [&](ByteSpan value) { f(Forms::view(value)); });
  }
  template <class Sized, class Me, class Evicted>
  static Eviction evict(Sized& index, Me& me, typename Sized::Walk& hand, std::size_t most, const Evicted& evicted) {
    return index.evict(me, hand, most,
                       [&](const typename Sized::Raw& key, ByteSpan value) { evicted(key, Forms::view(value)); });
  }
  template <class Sized, class Me>
  static void find_batch(const Sized& index, Me& me, std::span<const typename Sized::Raw> keys,
                         std::span<std::optional<Value>> found) {
    for (auto& one : found.first(keys.size())) one.reset();
    index.find_batch(me, keys, [&](std::size_t i, ByteSpan value) { found[i].emplace(Forms::copy(value)); });
  }
  template <class Sized, class Me>
  static void upsert_batch(Sized& index, Me& me, std::span<const typename Sized::Raw> keys,
                           std::span<const ByteSpan> values, std::span<bool> added) {
    index.upsert_batch(me, keys, values, added);
  }
  template <class Sized, class Me>
  static void prefetch(const Sized& index, Me& me, std::span<const typename Sized::Raw> keys) {
    index.prefetch_values(me, keys);
  }
  template <class Sized, class Me, class Visit>
  static void scan(const Sized& index, Me& me, typename Sized::Raw from, std::size_t limit, const Visit& visit) {
    index.scan(me, from, limit, [&](typename Sized::Raw key, ByteSpan value) { visit(key, Forms::view(value)); });
  }
  template <class Sized, class Me, class Visit>
  static void for_each(const Sized& index, Me& me, const Visit& visit) {
    index.for_each(me, [&](typename Sized::Raw key, ByteSpan value) { visit(key, Forms::view(value)); });
  }

  template <class Sized, class Me, class Before>
  static bool insert(Sized& index, Me& me, typename Sized::Raw key, ByteSpan value, Before&& before) {
    return index.insert(me, key, value, [&](ByteSpan there) { before(Forms::view(there)); });
  }
  template <class Sized, class Me, class Before>
  static bool update(Sized& index, Me& me, typename Sized::Raw key, ByteSpan value, Before&& before) {
    return index.update(me, key, value, [&](ByteSpan there) { before(Forms::view(there)); });
  }
  template <class Sized, class Me, class Before>
  static bool upsert(Sized& index, Me& me, typename Sized::Raw key, ByteSpan value, Before&& before) {
    return index.upsert(me, key, value, [&](ByteSpan there) { before(Forms::view(there)); });
  }
  template <class Sized, class Me, class Before>
  static bool erase(Sized& index, Me& me, typename Sized::Raw key, Before&& before) {
    return index.erase(me, key, [&](ByteSpan there) { before(Forms::view(there)); });
  }
  template <class Sized, class Me, class F>
  static ModifiedValue<Value> modify(Sized& index, Me& me, typename Sized::Raw key, F&& f) {
    ModifiedValue<Value> done;
    index.modify(me, key, [&](std::optional<ByteSpan> now) {
      done.before.reset();
      if (now) done.before.emplace(Forms::copy(*now));
      done.after.reset();
      if (std::optional<Value> after = f(std::as_const(done.before))) done.after.emplace(*std::move(after));
      if (!done.after) return Change::erase();
      const ByteSpan next = stored(*done.after);
      return now && std::ranges::equal(*now, next) ? Change::leave() : Change::to(next);
    });
    return done;
  }

  /// Calls f(bytes) for the bytes of a value.
  template <class Sized, class Me, class F>
  static bool read(const Sized& index, Me& me, typename Sized::Raw key, const F& f) {
    return index.find(me, key, f);
  }
  template <class Sized, class Me, class Before, class After>
  static vectors::Status update_vector(Sized& index, Me& me, typename Sized::Raw key, const vectors::Update& update,
                                       const Before& before, const After& after) {
    return sized::update_vector(index, me, key, update, before, after);
  }
};

template <class T>
  requires requires { typename SizedForms<T>::View; }
struct KindOfValue<T> {
  using Type = InStore<T>;
};

}  // namespace latchlab
