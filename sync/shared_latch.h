#pragma once
// The latch of `latch-hybrid`: a version latch that readers may also share.
//
//     | number of changes: 48 | readers: 8 | tag: 7 | lock: 1 |
//
// Optimistic readers ignore the number of readers: it is no part of a version. A writer locks from a version, which has
// no readers. So it comes only when nobody shares the latch, and it never waits.
#include "sync/version_latch.h"

namespace latchlab {

template <class M>
class SharedLatch : public LatchBase<M> {
  using Base = LatchBase<M>;

 public:
  /// Makes an unlocked latch. Bit 0 of the tag must be 0.
  explicit SharedLatch(u8 tag = 0) : Base(tag) {}

  u64 version() const { return Base::version() & ~kReaders; }
  u64 word() const { return Base::word() & ~kReaders; }
  static u8 tag(u64 version) { return static_cast<u8>(version); }
  [[nodiscard]] bool unchanged(u64 version) const {
    M::acquire_fence();                                          // pairs with the fence in try_lock
    return (this->word_.load(kRelaxed) & ~kReaders) == version;  // relaxed: the fence orders it
  }
  static u64 changed(u64 version) { return version + kChange; }

  /// Shares the latch, and returns the version; waits until the node is unlocked. From then on the node does not
  /// change. If 255 readers share it, there is no room for one more: then `shared` is false, and the node may change.
  u64 lock_shared(bool& shared) {
    for (;;) {
      u64 seen = M::wait_until(this->word_, [](u64 word) { return !Base::locked(word); });
      shared = (seen & kReaders) != kReaders;
      if (!shared) [[unlikely]]
        return seen & ~kReaders;  // the acquire of wait_until pairs with set
      // Acquire: pairs with set, so this reader sees the last writer's stores.
      if (this->word_.compare_exchange(seen, seen + kReader, kAcquire)) return seen & ~kReaders;
    }
  }
  /// Release: pairs with try_lock, so the reads stay before the next writer's stores.
  void unlock_shared() { this->word_.fetch_add(-kReader, kRelease); }  // no thread waits for it

 private:
  static constexpr u64 kReader = u64{1} << 8, kReaders = u64{0xff} << 8, kChange = u64{1} << 16;
};

}  // namespace latchlab
