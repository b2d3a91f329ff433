#pragma once
// The rule that says what lies in near memory, and what in far memory: which values of any size, or which nodes of a
// tree of 8-byte values.
//
//     near-first[,promote=N]     a new value is near. When near memory is full, a clock hand moves cold values to far
//                                memory. The N-th touch there moves a value back; never: it stays. Default: 1
//     far-first[,promote=N]      a new value is far. Its N-th touch moves it to near memory. Default: 2
//     second-touch[,promote=N]   near-first for a cache: a cold value that far memory has not been offered lately is
//                                dropped, and remembered. Far memory takes it at the second offer
//     fixed:SHARE[,promote=N]    near-first for this share of the keys, which a hash chooses; the others are always far
//     weighted:SHARE             this share of the keys is always near, the others always far: nothing moves
//     leaves                     a tree's leaves are far, with their keys and 8-byte values; its inner nodes are near
//
// No value lies in both.
//
// Sources: near-first that never promotes is DRAM first of D. Kassa et al. (USENIX ATC 2021), with promotion their
// bidirectional rule; far-first is their SCM first; fixed is the load dispatch of KV-Direct (B. Li et al., SOSP 2017).

#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

enum class PlacementKind : u8 { kNearFirst, kFarFirst, kSecondTouch, kFixed, kWeighted, kLeaves };
template <>
inline constexpr std::array kWords<PlacementKind>{"near-first"sv, "far-first"sv, "second-touch"sv,
                                                  "fixed"sv,      "weighted"sv,  "leaves"sv};

struct PlacementRule {
  static constexpr u32 kMostPromote = 7;  ///< as many touches as a value's header counts

  PlacementKind kind = PlacementKind::kNearFirst;
  u32 promote = 1;   ///< the touch of a far value that moves it to near memory, 1 to kMostPromote; 0: never
  double share = 1;  ///< of keys that may be near, 0 to 1

  /// Parses a rule. `what` names it in errors, as in "--rule". Throws InputError for an unknown rule or option, and for
  /// a missing or wrong number.
  [[nodiscard]] static PlacementRule parse(std::string_view text, std::string_view what);
  /// Returns words that parse to this rule.
  [[nodiscard]] std::string str() const;

  /// Returns true if the value of a key with this hash may lie in near memory. The hash is random in all 64 bits.
  [[nodiscard]] bool may_be_near(u64 hash) const {
    return share >= 1 || static_cast<double>(hash >> 11) < share * 0x1p53;
  }
  /// Returns true if a new value of such a key begins in near memory.
  [[nodiscard]] bool begins_near(u64 hash) const { return kind != PlacementKind::kFarFirst && may_be_near(hash); }
  /// Returns true if the touch with this number, from 1 on, moves a far value of such a key to near memory.
  [[nodiscard]] bool promotes(u64 hash, u32 touch) const {
    return promote != 0 && touch >= promote && may_be_near(hash);
  }
  /// Returns true if cold values leave near memory for others.
  [[nodiscard]] bool demotes() const { return kind != PlacementKind::kWeighted; }

  friend bool operator==(const PlacementRule&, const PlacementRule&) = default;
};

}  // namespace latchlab
