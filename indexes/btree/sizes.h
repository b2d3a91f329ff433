#pragma once
// The size of the B+-tree's nodes, and how many keys follow from it.
//
// A small node has four lines. Its searches compare all keys at once, and the order of a leaf is one word. A large node
// has more: binary searches ask for a few of its lines. The order of a large leaf is a row of bytes (order.h), and it
// has marks, by which lookups find a key (marks.h).
#include <algorithm>
#include <type_traits>

#include "src/base/scale.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::btree {

inline constexpr u32 kSmallBytes = 4 * kLineBytes;

/// A layout that also says how many bytes a node may have.
template <class Layout, u32 kBytes>
struct SizedLayout : Layout {
  static constexpr u32 kNodeBytes = kBytes;
};

template <class Layout>
inline constexpr bool kLarge = Layout::kNodeBytes > kSmallBytes;

/// The counts of keys that fit beside a latch, and kLinkBytes behind it. They are even, so that a search may compare
/// two at once.
template <class Layout, class Key, u32 kLinkBytes = 0>
class Sizes {
  using Latch = typename Layout::Latch;
  static constexpr u32 kLatchBytes = std::is_empty_v<Latch> ? 0 : sizeof(Latch);
  static constexpr u32 kKeyBytes = Key::kFixedSize != 0 ? sizeof(u64) : 2 * sizeof(u64);
  static constexpr u32 kWordBytes = sizeof(u64);

  /// Returns the bytes in front of the keys, which are aligned to two words.
  static constexpr u32 before_keys(u32 bytes) { return (kLatchBytes + kLinkBytes + bytes + 15) / 16 * 16; }
  static constexpr u32 inner_bytes(u32 keys) {
    return before_keys(sizeof(u32)) + keys * kKeyBytes + (keys + 1) * kWordBytes;
  }
  static constexpr u32 leaf_bytes(u32 keys) {
    const u32 marks_and_order = (keys + 15) / 16 * 16 + sizeof(u32) + keys;
    return before_keys(kLarge<Layout> ? marks_and_order : kWordBytes) + keys * (kKeyBytes + kWordBytes);
  }
  static constexpr u32 most(u32 (*bytes)(u32 keys)) {
    if (Layout::kScale == Scale::kTiny) return 4;
    u32 keys = 2;
    while (bytes(keys + 2) <= Layout::kNodeBytes) keys += 2;
    return keys;
  }

 public:
  static constexpr u32 kInnerKeys = most(inner_bytes);
  static constexpr u32 kLeafKeys = most(leaf_bytes);
  static_assert(kLeafKeys <= 256, "a byte names a place of a leaf");

  /// The most nodes on a way from the anchor to a leaf, and the most that one change locks. With two records of keys
  /// they are as many blocks as an attempt may make and retire. Only a tree of more than 10^9 keys has so long ways.
  static constexpr u32 kMostNodes = Layout::kNodeBytes == kSmallBytes || Layout::kScale == Scale::kTiny ? 14
                                    : Layout::kNodeBytes <= 1024                                        ? 9
                                                                                                        : 7;
};

}  // namespace latchlab::btree
