#pragma once
// The path of an ART node: the key bytes from the root down to the byte that the node branches on (its level).
//
// A path is fixed for the life of its node. It holds all bytes from the root (u64 keys) or the last four of them (byte
// strings), not only those since the parent. So a path does not change when a node is inserted above its node (prefix
// split) or removed there (merge). Both replace one pointer in the parent and touch nothing else. A reader compares its
// depth with the node's level. If the two agree, no bytes were compressed and there is nothing to compare.
//
//   U64Path     | 7 bytes of path, most significant first | kind 3, level 4, 0 |
//   BytesPath   | kind, level: 4 and 28 bits | path[level-1] .. path[level-4] |
//
// The kind of the node is fixed too. It lies beside the level, so that a lookup guesses both with one comparison.
#include <algorithm>

#include "src/base/key.h"
#include "src/base/types.h"

namespace latchlab::art {

enum class Kind : u8 { k4, k16, k48, k256 };

class U64Path {
 public:
  static constexpr u32 kStored = 7;  ///< number of trailing bytes of the path that matches() compares

  U64Path(U64Key key, u32 level) : word_((key.raw() & ~u64{0xff}) | level << 1) {}
  U64Path(const U64Path& path, Kind kind) : word_((path.word_ & ~u64{0xe0}) | static_cast<u64>(kind) << 5) {}

  u32 level() const { return static_cast<u32>(word_ >> 1 & 0xf); }
  Kind kind() const { return static_cast<Kind>(word_ >> 5 & 7); }
  /// Return kind and level in one byte, which is even.
  u8 tag() const { return static_cast<u8>(word_); }
  static constexpr u8 tag_of(Kind kind, u32 level) { return static_cast<u8>(static_cast<u32>(kind) << 5 | level << 1); }
  bool matches(U64Key key) const { return differing(key) == 0; }
  /// Returns the position of the first byte in which the path and a key that does not match differ.
  u32 mismatch(U64Key key) const { return static_cast<u32>(__builtin_clzll(word_ ^ key.raw())) / 8; }
  u8 operator[](u32 i) const { return U64Key(word_)[i]; }
  /// Returns the key that consists of the path and `byte` at level 7.
  U64Key with_last(u8 byte) const { return U64Key((word_ & ~u64{0xff}) | byte); }

 private:
  u64 differing(U64Key key) const { return (word_ ^ key.raw()) >> 8 >> (56 - 8 * level()); }

  u64 word_;
};
static_assert(U64Path::tag_of(Kind::k256, 7) % 2 == 0, "bit 0 of a latch's word is its lock");
static_assert(sizeof(U64Path) == 8, "level and path change hands in one word");

class BytesPath {
 public:
  /// Number of trailing bytes of the path that matches() compares; only a leaf has the rest.
  static constexpr u32 kStored = 4;

  BytesPath(const BytesKey& key, u32 level) : word_(level) {
    for (u32 i = 0; i < kStored; ++i) last_[i] = i < level ? key[level - 1 - i] : u8{0};
  }

  BytesPath(const BytesPath& path, Kind kind) : BytesPath(path) { word_ = static_cast<u32>(kind) << 28 | path.level(); }

  u32 level() const { return word_ & 0xfffffff; }
  Kind kind() const { return static_cast<Kind>(word_ >> 28); }
  /// Returns 0: levels of byte strings have no bound, so no reader guesses them.
  static constexpr u8 tag() { return 0; }
  /// Returns false only if the key is too short to reach the level or differs in the stored bytes.
  bool matches(const BytesKey& key) const {
    if (key.size() <= level()) return false;
    const u32 stored = std::min(level(), kStored);
    for (u32 i = 0; i < stored; ++i) {
      if (last_[i] != key[level() - 1 - i]) return false;
    }
    return true;
  }

 private:
  u32 word_;
  u8 last_[kStored];  // the byte nearest to the level first
};
static_assert(sizeof(BytesPath) == 8, "level and path change hands in one word");

template <class Key>
struct PathOf;
template <>
struct PathOf<U64Key> {
  using Type = U64Path;
};
template <>
struct PathOf<BytesKey> {
  using Type = BytesPath;
};
template <class Key>
using Path = typename PathOf<Key>::Type;

}  // namespace latchlab::art
