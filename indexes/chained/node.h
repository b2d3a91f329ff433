#pragma once
// The nodes of a chained table, one for every key.
//
//   u64 keys      | key | value | next | mark |                                 24 bytes without a mark, a block of 32
//   byte strings  | value | next | mark | hash | bytes of the key | the key, spelled |
//
// A node has no latch: its bucket guards it. Key and hash are fixed. One store changes the value.
#include <cstring>
#include <type_traits>

#include "indexes/chained/hash.h"
#include "src/base/key.h"

namespace latchlab::chained {

/// A node. `Mark` is the data that an index keeps for a key, in cells; it may be empty.
template <class Layout, class Key, class Mark>
class Node;

template <class Layout, class Mark>
class Node<Layout, U64Key, Mark> {
 public:
  static constexpr std::size_t bytes_for(U64Key, u64, u64, Node*, auto...) { return sizeof(Node); }
  Node(U64Key key, u64, u64 given, Node* after, auto... marked)
      : key_(key.raw()), value(given), next(after), mark(marked...) {}

  bool has(U64Key key, u64) const { return key_ == key.raw(); }
  U64Key key() const { return U64Key(key_); }
  u64 hash() const { return hash_of(key()); }
  std::size_t bytes() const { return sizeof(Node); }

 private:
  const u64 key_;

 public:
  typename Layout::template Cell<u64> value;
  typename Layout::template Cell<Node*> next;
  [[no_unique_address]] Mark mark;
};

template <class Layout, class Mark>
class Node<Layout, BytesKey, Mark> {
 public:
  static std::size_t bytes_for(const BytesKey& key, u64, u64, Node*, auto...) { return kHeader + key.spelled_size(); }
  Node(const BytesKey& key, u64 hash, u64 given, Node* after, auto... marked)
      : value(given), next(after), mark(marked...), hash_(hash), size_(key.spelled_size()) {
    if (size_ != 0) std::memcpy(reinterpret_cast<u8*>(this) + kHeader, key.spelled(), size_);
  }

  bool has(const BytesKey& key, u64 hash) const { return hash_ == hash && this->key() == key; }
  BytesKey key() const { return BytesKey(reinterpret_cast<const u8*>(this) + kHeader, size_); }
  u64 hash() const { return hash_; }
  std::size_t bytes() const { return kHeader + size_; }

  typename Layout::template Cell<u64> value;
  typename Layout::template Cell<Node*> next;
  [[no_unique_address]] Mark mark;

 private:
  static constexpr std::size_t kHeader = 28 + (std::is_empty_v<Mark> ? 0 : sizeof(Mark));

  const u64 hash_;  // kept so that a split reads no keys
  const u32 size_;
};

}  // namespace latchlab::chained
