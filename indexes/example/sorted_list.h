#pragma once
// The smallest complete index: a sorted singly linked list, O(n) an operation. Copy it to begin your own.
//
// It is written once. Under `none` it is a plain list. Under `rtm` every operation is a transaction. Under `olc`
// readers validate versions, and writers latch the one or two nodes that they change. The code below is the same for
// all of them.
#include <string_view>

#include "src/base/key.h"
#include "sync/attempt.h"

template <class Layout, class KeyType>
class SortedList {
 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "list";
  static constexpr bool kOrdered = false;  // the list is sorted, but offers no scan

  static std::size_t extra_bytes(Key) { return 0; }

  template <class Tx>
  latchlab::Attempt<latchlab::Found> find_in(Tx& tx, Key key) const {
    auto before = tx.enter(&head_), at = before;
    if (!seek(before, at, key)) return latchlab::kRestart;
    const bool found = at.node() != &head_ && at->key == key.raw();
    // Confirms both readers: a hit is a value of `at`, and a miss says that no node lies between the two.
    return tx.confirm(found ? latchlab::Found(at->value.load()) : latchlab::Found(), before, at);
  }

  template <class Tx>
  latchlab::Attempt<bool> put_in(Tx& tx, Key key, const auto value, latchlab::Put how) {
    auto before = tx.enter(&head_), at = before;
    if (!seek(before, at, key)) return latchlab::kRestart;
    const bool found = at.node() != &head_ && at->key == key.raw();
    if (found ? how == latchlab::Put::kInsert : how == latchlab::Put::kUpdate) return tx.confirm(false, before, at);
    if (found) {
      // Only `at` is stored to. An erase of it would have changed its version.
      if (!tx.upgrade(at)) return latchlab::kRestart;  // must come before the first store
      value.change(at->value);
      return how == latchlab::Put::kUpdate;
    }
    Node* const node = tx.template make<Node>(key.raw(), value.first(), before->next.load());
    if (node == nullptr) return latchlab::kNoMemory;
    // `before` is stored to, and its link determines the new node's. No field of `at` does.
    if (!tx.upgrade(before)) return latchlab::kRestart;
    before->next.store(node);
    return true;
  }

  template <class Tx>
  latchlab::Attempt<bool> erase_in(Tx& tx, Key key, const auto& wanted) {
    auto before = tx.enter(&head_), at = before;
    if (!seek(before, at, key)) return latchlab::kRestart;
    if (at.node() == &head_ || at->key != key.raw()) return tx.confirm(false, before, at);
    if (!wanted.fits(at->value)) return tx.confirm(false, at);
    // `before` is stored to. The link of `at` determines the store, and its new version turns away its readers.
    if (!tx.upgrade(before, at)) return latchlab::kRestart;
    before->next.store(at->next.load());
    tx.retire(at.node(), sizeof(Node));
    return true;
  }

  /// Visits every pair. No thread may change the list meanwhile. The harness checks a run with it.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Node* node = head_.next.load(); node != nullptr; node = node->next.load())
      visit(node->key, node->value.load());
  }
  /// Frees every block, for memory that is not released in bulk (--alloc=malloc).
  template <class Pool>
  void free_all(Pool& pool) {
    for (Node* node = head_.next.load(); node != nullptr;) {
      Node* const next = node->next.load();
      pool.free(node, sizeof(Node));
      node = next;
    }
  }

 private:
  struct Node {
    Node() = default;
    Node(latchlab::u64 k, latchlab::u64 v, Node* n) : key(k), value(v), next(n) {}

    [[no_unique_address]] typename Layout::Latch latch;
    const latchlab::u64 key = 0;  // fixed for the life of the node, so it needs no cell
    typename Layout::template Cell<latchlab::u64> value;
    typename Layout::template Cell<Node*> next;
  };

  /// Sets `at` to the first node with a key that is not smaller, and `before` to the node in front of it. Sets both to
  /// the last node if there is none. Returns false to restart.
  ///
  /// The loop is bounded, since keys rise from step to step: each step proves the link that it took.
  template <class Reader>
  static bool seek(Reader& before, Reader& at, Key key) {
    while (Node* const next = at->next.load()) {
      before = at;
      if (!at.step_to(next)) return false;
      if (at->key >= key.raw()) return true;
    }
    before = at;
    return true;
  }

  // Mutable, since even a const find_in enters it: a reader may lock its node later.
  mutable Node head_;
};
