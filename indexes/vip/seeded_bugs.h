// Bugs of vip on request (sync/seeded_bugs.h says what they are for). No history of threads finds them.
#pragma once

namespace latchlab::vip {

template <class Flag>
struct BugFlags {
  /// A key that moves is unlinked before its copy is linked.
  static inline Flag kUnlinkFirst{};
};

}  // namespace latchlab::vip
