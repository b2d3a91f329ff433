#pragma once
// What a reader of optimistic lock coupling does: it holds the version of its node, and validates it. Latches says
// where the latch of a node is (latch_places.h); several nodes may share one.
//
// A step reads the child's version and then validates the parent once. That one validation proves three things:
//   1. the pointer to the child was current;
//   2. the child was linked when its version was read;
//   3. all that was read from the parent still held.
// (A second validation, between the pointer and the child's version, would protect against dereferencing a stale
// pointer. Here the grace period keeps stale nodes readable, so it would only cost a load and a branch per level.)
#include <concepts>
#include <type_traits>
#include <utility>

#include "sync/attempt.h"
#include "sync/latch_places.h"
#include "sync/seeded_bugs.h"
#include "sync/version_latch.h"

namespace latchlab {

/// The part that transactions have in common whose readers hold versions.
template <class M, class Bugs, class Latches>
class VersionedReads {
 public:
  using Machine = M;
  explicit VersionedReads(Latches latches) : latches_(latches) {}

  template <class N>
  class Reader {
   public:
    Reader() = default;  // reads no node: assign it, or pass it to enter_by
    [[gnu::always_inline]] Reader(N* node, Latches latches)
        : node_(node), latches_(latches), version_(latches.of(node).version()) {}
    N* operator->() const { return node_; }
    N* node() const { return node_; }

    /// Goes on to a child that was read from this node. Returns false if this node has changed since.
    [[nodiscard, gnu::always_inline]] bool step_to(N* child) {
      const u64 version = latches_.of(child).version();
      if (!unchanged()) [[unlikely]]
        return false;
      node_ = child;
      version_ = version;
      return true;
    }
    /// Does the same for a child whose tag is guessed. If the guess is right, one branch tests both the tag and that
    /// the child is unlocked.
    [[nodiscard, gnu::always_inline]] GuessResult step_to(N* child, u8 guess) {
      return arrive(child, guess, [this]() __attribute__((always_inline)) { return unchanged(); });
    }
    /// Validates a pointer that was read from this node, to an object without a latch of its own that this node guards.
    [[nodiscard, gnu::always_inline]] bool follow(const void*) const { return unchanged(); }
    /// Returns the node's word. It was read when the node was entered, if the node's latch is in it.
    u64 word() const {
      if constexpr (kWordIsLatch) {
        return version_;
      } else {
        return node_->word.load();
      }
    }

   private:
    friend VersionedReads;
    template <class, class, class>
    friend class VersionedTx;
    template <class, class, class>
    friend class SmallTx;
    using Latch = std::remove_reference_t<decltype(Latches().of(std::declval<N*>()))>;
    static constexpr bool kWordIsLatch = std::same_as<Latch, WordLatch<M>>;
    [[gnu::always_inline]] bool unchanged() const {
      if (Bugs::kDropValidation) return true;
      return latches_.of(node_).unchanged(version_);
    }

    /// Reads the child's version, then proves by `linked` that the child was linked at that moment. The acquire of the
    /// version orders the two. A right guess has no lock bit, because tags are even.
    template <class Linked>
    [[gnu::always_inline]] GuessResult arrive(N* child, u8 guess, const Linked& linked) {
      constexpr bool kTagged = Latches::kTagged;
      const Latch& latch = latches_.of(child);
      u64 version = latch.word();
      if (!linked()) [[unlikely]]
        return GuessResult::kChanged;
      if (Latch::tag(version) != (kTagged ? guess : 0) && Latch::locked(version)) [[unlikely]] {
        version = latch.version();
        if (!linked()) [[unlikely]]
          return GuessResult::kChanged;
      }
      node_ = child;
      version_ = version;
      // The node's own tag is fixed: it was written before the link that led here.
      return (kTagged ? Latch::tag(version) : child->tag()) == guess ? GuessResult::kGuessed : GuessResult::kOther;
    }

    N* node_ = nullptr;
    [[no_unique_address]] Latches latches_;
    u64 version_ = 0;
  };

  template <class N>
  [[gnu::always_inline]] Reader<N> enter(N* node) {
    return Reader<N>(node, latches_);
  }
  /// Enters a child of a node that is never unlinked. `link` is the cell of that node that led to the child by `word`.
  /// If the cell still holds the word after the child's version was read, the child was linked then. So the parent's
  /// version is not read, and a descent does not restart when another child is added to the parent.
  ///
  /// The link may have led elsewhere in between, to a node that was put above the child and removed again. But an
  /// unlinked child never comes back to it: its block is not reused while a thread that may know it is inside an epoch.
  ///
  /// It may also enter the node that holds the link, if only the link was read from it. Always inlined: a descent calls
  /// it twice, which is enough for g++ to make it a function.
  template <class N, class Cell>
  [[nodiscard, gnu::always_inline]] GuessResult enter_by(Reader<N>& reader, N* node, u8 guess, const Cell& link,
                                                         u64 word) {
    reader.latches_ = latches_;
    return reader.arrive(node, guess,
                         [&]() __attribute__((always_inline)) { return Bugs::kDropLink || link.is(word); });
  }

  /// Goes on to a child that the body will most likely change. Without queues this is a step.
  template <class N>
  [[nodiscard, gnu::always_inline]] bool claim(Reader<N>& at, N* child) {
    return at.step_to(child);
  }
  void unclaim() {}

  /// Returns `value` if all that was read through the readers still holds, and kRestart otherwise.
  template <class T, class... Readers>
  [[gnu::always_inline]] Attempt<T> confirm(T value, const Readers&... readers) const {
    if (!(readers.unchanged() && ...)) [[unlikely]]
      return kRestart;
    return value;
  }

 protected:
  /// A latch to lock.
  using Lock = typename Latches::Lock;
  template <class N>
  [[gnu::always_inline]] Lock lock_of(const Reader<N>& reader) const {
    return Lock::of(latches_.of(reader.node_), reader.version_);
  }

  [[no_unique_address]] Latches latches_;
};

}  // namespace latchlab
