#pragma once
// The modification of a sized value (indexes/sized.h): one step from what is there, or nothing, to what shall be, or
// nothing, by a function that the caller gives.
//
//     outside    read the word -> f -> make the value -> an attempt replaces the word if it is the one that was read
//                     ^                                      | no: stale
//                     `------ up to kMostStale times --------'
//     inside     an attempt runs f while it has the key's latch or lock, and its result goes to a blank made before
//
// The second part runs f at most once on a value that is there, and at most once on none, unless a result outgrows the
// blank. That needs one attempt for every wish of f:
//   1. An attempt cannot run f on a key that is absent: some indexes make the pair before they latch its place. But
//      f(nothing) is always the same. So it is asked outside, once, and an attempt puts its value if the key is absent.
//      If the key is there after all, the same attempt runs f on its value.
//   2. An attempt that has run f on a value cannot erase the pair: that is another body of the index. So it claims the
//      pair. It replaces the word by a claimed word for the same value (src/memory/values.h), and the pair is erased
//      next.
//
// What a claim means:
//   1. Readers see the value, as before. The modification takes effect when the pair is erased.
//   2. No thread gives a claimed pair another value. A thread that would change it erases it first, or puts its own
//      value as if the key was absent. So a claim delays no other thread. The one that removes the word retires its
//      block.
//   3. The thread that has claimed erases the pair as well. If it comes too late, the pair was erased for it.
//   4. If memory is too short to erase, it takes the claim back, unless the pair has gone.
//   5. Claims are words of blocks, also for short values. So no claim is mistaken for another (no ABA).
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "src/base/function_ref.h"
#include "src/base/types.h"
#include "src/memory/values.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

/// The used bit of the value that a modification makes, for a cache's clock hand (indexes/sized_evict.h). A short value
/// has none.
enum class Mark : u8 {
  kClear,  ///< the value begins as a new one does
  kKeep,   ///< the bit is that of the value before, clear if there was none
  kUsed,   ///< the modification was a use
};

/// The wish of a modification's function.
class Change {
 public:
  enum class Kind : u8 { kLeave, kErase, kBytes };

  /// Leaves the pair, or the absence of the key, as it is.
  static Change leave() { return Change(Kind::kLeave, {}, {}, Mark::kClear); }
  /// Erases the pair. Does nothing if the key is absent.
  static Change erase() { return Change(Kind::kErase, {}, {}, Mark::kClear); }
  /// Makes the value `first`, then `second`. Both may be parts of the old value. They must stay readable until the
  /// function is called again or the modification ends.
  static Change to(ByteSpan first, ByteSpan second = {}, Mark mark = Mark::kClear) {
    return Change(Kind::kBytes, first, second, mark);
  }
  /// Writes the bytes of a value where they shall lie.
  using Writer = FunctionRef<void(std::span<std::byte>)>;
  /// Makes a value of `size` bytes, which `writer` writes, perhaps several times: so no other copy is made. It may read
  /// the old value. What it throws, the modification throws, and has changed nothing. It must stay callable as long as
  /// the bytes of `to` must stay readable.
  static Change by(u64 size, const Writer& writer, Mark mark = Mark::kClear) {
    Change change(Kind::kBytes, {}, {}, mark);
    change.size_ = size;
    change.writer_ = &writer;
    return change;
  }

  Kind kind() const { return kind_; }
  u64 size() const { return size_; }  ///< of the value, in bytes
  Mark mark() const { return mark_; }
  /// Returns make(first, second), or make(size, writer) for a value that a writer writes.
  template <class Make>
  auto made(const Make& make) const {
    return writer_ == nullptr ? make(first_, second_) : make(size_, *writer_);
  }

 private:
  Change(Kind kind, ByteSpan first, ByteSpan second, Mark mark)
      : kind_(kind), mark_(mark), size_(first.size() + second.size()), first_(first), second_(second) {}

  Kind kind_;
  Mark mark_;
  u64 size_;
  ByteSpan first_, second_;
  const Writer* writer_ = nullptr;  // of a value that is not made of these bytes
};

/// The effect of a modification on its key.
enum class Effect : u8 { kNone, kInserted, kReplaced, kErased };

namespace sized {

/// One call of Owner::modify; Owner is a Sized.
template <class Owner, class F>
class Modification {
  using ThreadState = typename Owner::ThreadState;
  using Raw = typename Owner::Raw;
  using Store = typename Owner::Store;
  using Bugs = typename Owner::Bugs;
  using Inside = typename Owner::Inside;
  using New = typename Owner::New;
  using Old = typename Owner::Old;

 public:
  Modification(Owner& owner, ThreadState& me, Raw key, const F& f) : owner_(owner), me_(me), key_(key), f_(f) {}

  Effect run() {
    owner_.tidy(me_);
    bool starved = false;
    for (u32 tries = 0; tries < Owner::kMostStale; ++tries) {
      bool memory_out = false;
      if (const std::optional<Effect> done = try_outside(memory_out)) return *done;
      if (!memory_out) continue;
      if (std::exchange(starved, true)) throw std::bad_alloc();
      Owner::collect(me_);
    }
    New first(me_, Owner::kNothing);
    for (;;) {
      if (const std::optional<Effect> done = try_inside(first)) return *done;
    }
  }

 private:
  /// Reads the word, runs f, and replaces the word if it is still there. Returns nothing if it is not, or when memory
  /// is out.
  std::optional<Effect> try_outside(bool& memory_out) {
    Owner::prepare(me_);
    New made(me_, Owner::kNothing);
    Old old(me_);
    const Inside inside(me_);
    const Found read = owner_.index_.find(me_.index, key_);
    if (read && Owner::is_claimed(*read)) {
      owner_.finish_claim(me_, key_, *read, old);
      return std::nullopt;
    }
    const Change wish = read ? f_(std::optional(owner_.shown(me_, *read))) : f_(std::optional<ByteSpan>());
    if (wish.kind() == Change::Kind::kLeave) return Effect::kNone;
    if (wish.kind() == Change::Kind::kErase) {
      if (!read) return Effect::kNone;
      if (!owner_.erase_word(me_, key_, read)) return std::nullopt;
      old.take(*read);
      return Effect::kErased;
    }
    size_ = wish.size();
    const std::optional<u64> word = make(wish, false);
    if (!word) {
      memory_out = true;
      return std::nullopt;
    }
    made.hold(*word);
    mark(*word, wish.mark(), read);
    if (!read) {
      if (!owner_.insert_word(me_, key_, *word)) return std::nullopt;
      made.publish(owner_, key_);
      return Effect::kInserted;
    }
    if (Bugs::kRetireFirst) Owner::retire(me_, *read);
    if (!owner_.update_word(me_, key_, *word, read).after) return std::nullopt;
    made.publish(owner_, key_);
    if (!Bugs::kRetireFirst) old.take(*read);
    return Effect::kReplaced;
  }

  /// Runs f inside an attempt if the key is present; otherwise puts `first`, if that has the value for an absent key.
  /// Returns nothing if it has to be tried again: with that value, with a larger blank, or after a claim of another
  /// thread.
  std::optional<Effect> try_inside(New& first) {
    if (absent_ == Absent::kAsk && !ask(first)) return Effect::kNone;  // the key was absent, and f wants nothing
    Owner::prepare(me_);
    New blank(me_, Owner::made_by(me_, [&] { return owner_.try_make_blank(me_, size_); }));
    Old old(me_);
    const Inside inside(me_);
    Result last;
    bool ran = false;
    const auto change = [&](const Found& now) noexcept -> Found {
      if (!now) return absent_ == Absent::kPut ? Found(first.word()) : Found();
      ran = true;
      last = {};
      return run_inside(*now, blank.word(), last);
    };
    const auto [before, after] = owner_.index_.modify(me_.index, key_, change);
    if (after && !before) {
      first.publish(owner_, key_);
      // An attempt may have run f on a value and aborted. The last run counts, so it must be the one on nothing.
      if (ran) [[unlikely]]
        (void)f_(std::optional<ByteSpan>());
      return Effect::kInserted;
    }
    if (!before) {
      absent_ = Absent::kAsk;
      return std::nullopt;
    }
    if (last.kind == Result::Kind::kClaimed) {
      owner_.finish_claim(me_, key_, *before, old);
      return std::nullopt;
    }
    if (last.thrown) std::rethrow_exception(last.thrown);
    switch (last.kind) {
      case Result::Kind::kReplaced:
        if (*after == blank.word()) blank.publish(owner_, key_);
        mark(*after, last.mark, before);  // another thread may have taken the value away; it is still readable inside
        old.take(*before);
        return Effect::kReplaced;
      case Result::Kind::kClaims:
        if (Store::is_short(*before)) blank.leave();
        erase_claimed(*before, *after, old);
        return Effect::kErased;
      case Result::Kind::kOutgrown:
        size_ = last.size;
        absent_ = Absent::kUnknown;  // if f(nothing) counts after all, its run must be the last
        return std::nullopt;
      default: return Effect::kNone;
    }
  }

  /// What a run of f inside an attempt has led to. The last run writes it.
  struct Result {
    enum class Kind : u8 { kLeft, kReplaced, kClaims, kOutgrown, kClaimed };
    Kind kind = Kind::kLeft;
    Mark mark = Mark::kClear;
    u64 size = 0;
    std::exception_ptr thrown;
  };
  /// Returns the word that shall follow `now`.
  u64 run_inside(u64 now, u64 blank, Result& result) const noexcept {
    using Kind = typename Result::Kind;
    if (Owner::is_claimed(now)) {
      result.kind = Kind::kClaimed;
      return now;
    }
    try {
      const Change wish = f_(std::optional(Store::bytes_in_attempt(now)));
      if (wish.kind() == Change::Kind::kLeave) return now;
      if (wish.kind() == Change::Kind::kErase) {
        result.kind = Kind::kClaims;
        return Store::claim(now, blank);
      }
      result.size = wish.size();
      result.mark = wish.mark();
      const Found word = wish.made([&](const auto&... value) { return Store::fill(blank, value...); });
      result.kind = word ? Kind::kReplaced : Kind::kOutgrown;
      return word.value_or(now);
    } catch (...) {
      result.thrown = std::current_exception();
      return now;
    }
  }

  /// What is known of f(nothing).
  enum class Absent : u8 {
    kUnknown,  ///< it was not needed, or its run is not the last
    kAsk,      ///< it is needed: an attempt has found the key absent
    kPut,      ///< it wants a value, which is made
  };

  /// Runs f on nothing, and makes its value. Returns false if it wants none. Throws what f does.
  bool ask(New& first) {
    const Change wish = f_(std::optional<ByteSpan>());
    if (wish.kind() != Change::Kind::kBytes) return false;
    first.replace(Owner::made_by(me_, [&] { return make(wish, true); }));
    mark(first.word(), wish.mark(), std::nullopt);
    absent_ = Absent::kPut;
    return true;
  }

  std::optional<u64> make(const Change& wish, bool is_outside) {
    return wish.made([&](const auto&... value) { return owner_.try_make(me_, key_, is_outside, value...); });
  }

  /// Sets the used bit of a value that this call has made in the place of `before`, outside attempts.
  static void mark(u64 made, Mark wish, const Found& before) {
    if (wish == Mark::kUsed || (wish == Mark::kKeep && before && Store::is_used(*before))) Store::mark_used(made);
  }

  /// Erases the pair that this thread has claimed, or takes the claim back and throws std::bad_alloc.
  void erase_claimed(u64 before, u64 claimed, Old& old) {
    try {
      owner_.finish_claim(me_, key_, claimed, old);
    } catch (const std::bad_alloc&) {
      if (!owner_.update_word(me_, key_, before, claimed).after) return;  // another thread has erased the pair
      if (Store::is_short(before)) old.take(claimed);
      throw;
    }
  }

  Owner& owner_;
  ThreadState& me_;
  const Raw key_;
  const F& f_;
  u64 size_ = 0;  // of the last value that f wished for
  Absent absent_ = Absent::kUnknown;
};

}  // namespace sized

}  // namespace latchlab
