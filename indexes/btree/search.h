#pragma once
// The search of sorted rows that are too long to compare all elements at once.
#include "src/base/types.h"

namespace latchlab::btree {

/// Returns how many of kMany elements, from number `base` on, come before the one that is sought, plus `base`.
/// before(i) says whether element i does; if an element does, so do all on its left.
///
/// It compares the same number of elements in each search, and has no branch on what it finds: it multiplies by that.
/// Whatever before() says, the result is at most base + kMany, and no other element is asked for.
template <u32 kMany, class Before>
[[gnu::always_inline]] inline u32 count_before(const Before& before, u32 base = 0) {
  if constexpr (kMany == 1) {
    return base + before(base);
  } else {
    constexpr u32 kHalf = kMany / 2;
    const bool right = before(base + kHalf - 1);
    return count_before<kMany - kHalf>(before, base + u32{right} * kHalf);
  }
}

/// Calls visit(i) for the elements that the first kSteps comparisons of such a search may ask for.
template <u32 kMany, u32 kSteps, class Visit>
[[gnu::always_inline]] inline void visit_first(const Visit& visit, u32 base = 0) {
  if constexpr (kSteps > 0 && kMany > 1) {
    constexpr u32 kHalf = kMany / 2;
    visit(base + kHalf - 1);
    visit_first<kMany - kHalf, kSteps - 1>(visit, base);
    visit_first<kMany - kHalf, kSteps - 1>(visit, base + kHalf);
  }
}

}  // namespace latchlab::btree
