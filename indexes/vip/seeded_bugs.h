// Bugs of vip for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::vip {

template <class Flag>
struct BugFlags {
  /// A key that moves is unlinked before its copy is linked.
  static inline Flag kUnlinkFirst{};
};

}  // namespace latchlab::vip
