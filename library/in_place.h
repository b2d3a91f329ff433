#pragma once
// Vectors that change where they lie:
//
//     latchlab::Map<std::uint64_t, latchlab::InPlace<std::vector<float>>, latchlab::Cuckoo, latchlab::Spin> rows;
//
// An update of another vector writes a new block beside the old one, which readers may still see. Here it writes the
// block itself, which for long vectors takes half of the memory traffic or less. The price: everything that reads a
// value does so under the policy's one lock, and copies it there. So:
//   1. The policy must have a lock that each operation takes for itself, without elision: Spin, Mutex, Ticket, Mcs,
//      RwSpin, and None for one thread. Another policy does not compile.
//   2. Reads of values take the lock as changes do, also under a reader-writer lock.
//   3. The map has find, visit (f sees a copy, outside the lock), contains, insert, update, upsert, erase and their
//      batches, and the operations on vectors. It has no modify, range, for_each, use or evict.
//   4. fetch_update_vector with Fetch::kNew ends the program if it has no memory for the copy. (Fetch::kOld throws, and
//      nothing has changed.)
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "indexes/sized_vectors.h"
#include "library/sized_values.h"
#include "library/values.h"
#include "library/vectors.h"
#include "src/base/spec.h"
#include "src/memory/memory_config.h"

namespace latchlab {

/// The type that a map names for values of type `T` that change where they lie. Callers see T.
template <AnySizeValue T>
struct InPlace {};

/// The kind of such values (values.h lists the members of a kind).
template <class T>
struct InPlaceStore : private InStore<T> {
  using Base = InStore<T>;
  static constexpr bool kInStore = false;  // no use, and no evict
  static constexpr bool kHoldsVectors = true;
  template <class Pairs>
  using Index = Sized<Pairs>;
  using Value = T;
  using View = typename Base::View;
  using Base::bytes, Base::copy, Base::erase, Base::prefetch, Base::stored, Base::update, Base::upsert,
      Base::upsert_batch;

  template <class Pairs>
  static Index<Pairs> make(const Spec& policy, const MemoryConfig& memory) {
    static_assert(Index<Pairs>::kLocksAll,
                  "InPlace needs a policy with one lock that every operation takes: see in_place.h");
    return Base::template make<Pairs>(policy, memory);
  }

  /// Calls f(bytes) under the lock. What it throws, read throws.
  template <class Sized, class Me, class F>
  static bool read(const Sized& index, Me& me, typename Sized::Raw key, const F& f) {
    std::exception_ptr thrown;
    const bool present = index.with_bytes(me, key, [&](std::span<std::byte> bytes) noexcept {
      try {
        f(ByteSpan(bytes));
      } catch (...) {
        thrown = std::current_exception();
      }
    });
    if (thrown) std::rethrow_exception(std::move(thrown));
    return present;
  }
  template <class Sized, class Me>
  static std::optional<Value> find(const Sized& index, Me& me, typename Sized::Raw key) {
    std::optional<Value> found;
    read(index, me, key, [&](ByteSpan bytes) { found.emplace(copy(bytes)); });
    return found;
  }
  template <class Sized, class Me, class F>
  static bool visit(const Sized& index, Me& me, typename Sized::Raw key, F&& f) {
    const std::optional<Value> found = find(index, me, key);
    if (found) f(View(*found));
    return found.has_value();
  }
  template <class Sized, class Me>
  static void find_batch(const Sized& index, Me& me, std::span<const typename Sized::Raw> keys,
                         std::span<std::optional<Value>> found) {
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = find(index, me, keys[i]);
  }
  template <class Sized, class Me, class Before>
  static bool insert(Sized& index, Me& me, typename Sized::Raw key, ByteSpan value, Before&& before) {
    for (;;) {
      if (index.insert(me, key, value)) return true;
      if (visit(index, me, key, before)) return false;  // else the key has gone since
    }
  }
  template <class Sized, class Me, class Before, class After>
  static vectors::Status update_vector(Sized& index, Me& me, typename Sized::Raw key, const vectors::Update& update,
                                       const Before& before, const After& after) {
    return sized::update_in_place(index, me, key, update, before, after);
  }
};

template <class T>
struct KindOfValue<InPlace<T>> {
  using Type = InPlaceStore<T>;
};

}  // namespace latchlab
