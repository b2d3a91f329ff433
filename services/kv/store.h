#pragma once

// The store: items under byte strings, in any index of this project under any of its policies. The index and the policy
// are types (store_of.h); this interface hides them, with one virtual call for a group of lookups and one for a change.
//
//     key --hash--> index of numbers --word--> item: head, key, value     one line for the bucket, one for the item
//
// The key of the index is a hash of the client's key, with a secret seed. The whole key is compared in the item. Two
// keys with one hash push each other out, which is counted. By chance 10^9 items do so once in 37 servers. The hash is
// not a cryptographic one, so a client that can guess the seed can find such keys.
//
// An item is dead if its time is over, if it was flushed, or if it has another key. The dead are absent for every
// operation. An operation on the hash removes them, and so do `sweep` and the clock hand.
//
// An index that cannot be walked beside changes makes a store without limit, whose dead items stay until an operation
// comes by.
//
// Under a limit, a change that lacks memory evicts items by the clock (indexes/sized_evict.h) and tries again. All
// bytes that the index, the items and what waits to be freed have taken from the system are within the limit.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "indexes/sized_modify.h"
#include "services/kv/item.h"
#include "src/base/batching.h"
#include "src/base/function_ref.h"
#include "src/base/hash.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/stats/counters.h"

namespace latchlab::kv {

/// The time of an operation, which its caller reads once for many operations.
struct Moment {
  i64 ms = 0;      ///< milliseconds since 1970
  u32 second = 0;  ///< of the server's clock, which begins at 1
};

/// A client's key with its hash (Store::hash).
struct Key {
  u64 hash = 0;
  std::string_view text;
};

/// What a change makes of an item.
class Wish {
 public:
  enum class Kind : u8 { kLeave, kErase, kPut };
  static Wish leave() { return Wish(Kind::kLeave, {}, {}, {}); }
  static Wish erase() { return Wish(Kind::kErase, {}, {}, {}); }
  /// Puts an item with the value `first`, then `second`, which may be parts of the old one. The store sets the cas if
  /// it is 0, the generation and the key. The values must stay readable until the change ends.
  static Wish put(const ItemFields& fields, std::string_view first, std::string_view second = {}) {
    return Wish(Kind::kPut, fields, first, second);
  }
  /// Returns the wish with this mark of its item for the clock hand. Without it the item begins as a new one does: the
  /// next hand that comes by evicts it.
  [[nodiscard]] Wish marked(Mark mark) const {
    Wish wish = *this;
    wish.mark_ = mark;
    return wish;
  }

  Kind kind() const { return kind_; }
  const ItemFields& fields() const { return fields_; }
  std::string_view first() const { return first_; }
  std::string_view second() const { return second_; }
  Mark mark() const { return mark_; }

 private:
  Wish(Kind kind, const ItemFields& fields, std::string_view first, std::string_view second)
      : kind_(kind), fields_(fields), first_(first), second_(second) {}

  Kind kind_;
  Mark mark_ = Mark::kClear;
  ItemFields fields_;
  std::string_view first_, second_;
};

/// Counts of a store. Those of items say how many there are; the others only grow.
struct StoreCounters {
  u64 items = 0;              ///< that no flush, eviction, expiry or client has removed; some may be due to expire
  u64 bytes = 0;              ///< of these items, with their heads and keys
  u64 total_items = 0;        ///< stored
  u64 evictions = 0;          ///< items that the clock hand has removed for room
  u64 evicted_unfetched = 0;  ///< among them: items that no client had got
  u64 expired = 0;            ///< items removed after their time was over, or after a flush
  u64 expired_unfetched = 0;
  u64 collisions = 0;     ///< items pushed out by a key with the same hash
  u64 out_of_memory = 0;  ///< changes that were refused although the hand went round

  static constexpr auto fields() {
    using C = StoreCounters;
    return std::array{CounterField{"items", &C::items},
                      CounterField{"bytes", &C::bytes},
                      CounterField{"total_items", &C::total_items},
                      CounterField{"evictions", &C::evictions},
                      CounterField{"evicted_unfetched", &C::evicted_unfetched},
                      CounterField{"expired", &C::expired},
                      CounterField{"expired_unfetched", &C::expired_unfetched},
                      CounterField{"collisions", &C::collisions},
                      CounterField{"out_of_memory", &C::out_of_memory}};
  }
};

struct StoreOptions {
  Spec index = Spec::parse("cuckoo");
  Spec sync = Spec::parse("olc");
  u64 limit = 0;  ///< bytes; 0: none
  bool huge_pages = false;
};

/// The usual ways of looking up: one by one, and as many keys together as an attempt takes.
inline constexpr Batching kAlone{.keys = 1, .order = BatchOrder::kInTurn};
inline constexpr Batching kTogether{.keys = kMostInAttempt, .order = BatchOrder::kSideBySide};

/// What a step of a sweep has done.
struct Swept {
  std::size_t looked = 0;  ///< items seen
  std::size_t removed = 0;
};

class Store {
 public:
  /// The items of up to kMostInAttempt keys, in the order of the keys; nothing for a key that is absent.
  using Items = std::span<const std::optional<Item>>;
  /// A place in a walk over all items.
  class Walk {
   public:
    Walk() = default;
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    virtual ~Walk() = default;
  };

  /// One thread's access. That thread makes, uses and destroys it, before the store is destroyed.
  class Session {
   public:
    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    virtual ~Session() = default;

    /// Calls visit(first, items) for the items of up to kMostInAttempt keys at a time, from keys[first] on, as they are
    /// at some moment of the call. `batch` says how many keys are one call of the index, and in which order it looks
    /// them up: kSideBySide or kInTurn. The visit must not use the session. Items are valid during the visit. An item
    /// that is visited counts as used for the clock hand.
    virtual void find(std::span<const Key> keys, Moment now, const Batching& batch,
                      FunctionRef<void(std::size_t first, Items items)> visit) = 0;
    /// Changes the item of a key in one step to what `decide` wishes. It gets the item, or null if there is none. It
    /// may run several times; its last run counts. It must not use the session, and must not throw anything but
    /// std::bad_alloc. Throws std::bad_alloc if there is no room, after evictions if the store has a limit, and
    /// std::length_error if the item would be longer than 16 MiB. Then nothing has changed.
    virtual Effect change(const Key& key, Moment now, FunctionRef<Wish(const Item* before)> decide) = 0;
    /// Puts the item, whatever is there. Throws as change does.
    virtual Effect put(const Key& key, Moment now, const ItemFields& fields, std::string_view value) = 0;

    /// Looks at `most` items or fewer, and removes the dead among them, up to a bound. Each call goes on where the last
    /// one ended.
    virtual Swept sweep(std::size_t most, Moment now) = 0;

    /// Returns a walk that has not begun; null if the store cannot be walked. Then `sweep` removes nothing.
    virtual std::unique_ptr<Walk> begin_walk() = 0;
    /// Visits the live items among about `most` further ones. Returns false at the end. An item that stays is visited
    /// at least once in a walk. The visit must not use the session.
    virtual bool walk_on(Walk& walk, std::size_t most, Moment now, FunctionRef<void(const Item& item)> visit) = 0;

    /// Returns a number larger than all that it has returned, to any session.
    virtual u64 next_cas() = 0;
    /// Declares that the thread runs no operation for a while.
    virtual void idle() = 0;

    /// Returns the bytes of items that changes have read and written so far, and those that were noted: other work in
    /// the same measure. A command of a few bytes may move an item of many.
    [[nodiscard]] u64 moved() const { return moved_; }
    void note_moved(u64 bytes) { moved_ += bytes; }

   private:
    u64 moved_ = 0;
  };

  /// `seed` is that of the hash.
  explicit Store(u64 seed) : seed_(seed) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Returns the access of the calling thread. Takes mutexes. Throws std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<Session> join() = 0;
  /// Removes all items that are stored before the time `at`, which may be in the future. Only the last such time
  /// counts.
  virtual void flush(i64 at, Moment now) = 0;
  /// Returns the counts; exact while no session changes the store.
  [[nodiscard]] virtual StoreCounters counters() const = 0;
  /// Returns the bytes taken from the system; at most the limit.
  [[nodiscard]] virtual u64 reserved() const = 0;

  /// Returns the key with its hash.
  [[nodiscard]] Key key(std::string_view text) const { return {hash_bytes(text, seed_), text}; }

 private:
  const u64 seed_;
};

}  // namespace latchlab::kv
