#pragma once
// A range of addresses whose beginning is usable memory, for an array that grows in place.
#include <cstring>
#include <mutex>

#include "src/base/types.h"
#include "src/memory/chunk_source.h"

namespace latchlab {

template <class M>
struct Range {
  typename M::Mutex mutex;  // guards the rest
  ChunkSource::Chunk space;
  u64 usable = 0;

  struct Extended {
    u64 usable;  ///< bytes, of which none ever becomes unusable
    u64 gained;  ///< bytes that this call has added
  };

  /// Makes at least `wanted` bytes usable and zero, for which at most `most` addresses are ever wanted. Fewer are
  /// usable afterwards when memory is out. Any thread may extend a range that others use or extend. Must not be called
  /// inside a transaction.
  [[nodiscard]] Extended extend(ChunkSource& source, u64 wanted, u64 most) {
    const std::lock_guard lock(mutex);
    if (wanted <= usable || wanted > most) return {usable, 0};
    if (!source.has_pages()) return extend_by_machine(source, most);
    if (space.start == nullptr) space = source.reserve(source.rounded(most));
    const u64 before = usable, to = source.rounded(wanted);
    if (to > space.bytes || !source.commit(space, before, to)) return {before, 0};
    usable = to;
    return {to, to - before};
  }
  /// Frees the range, which no other thread uses.
  void release(ChunkSource& source) {
    if (space.start == nullptr) return;
    if (source.has_pages()) return source.release(space, usable);
    source.refund(usable);
    M::deallocate(space.start, space.bytes);
  }

 private:
  /// Takes all of the range from a machine without pages.
  [[gnu::noinline]] Extended extend_by_machine(ChunkSource& source, u64 most) {
    const Extended none{0, 0};
    if (FailurePlan* const plan = source.config().fail; plan != nullptr && plan->fails()) return none;
    if (!source.charge(most)) return none;
    void* const start = M::allocate(most);
    if (start == nullptr) {
      source.refund(most);
      return none;
    }
    M::unpoison(start, most);
    std::memset(start, 0, most);
    space = {start, most};
    usable = most;
    return {most, most};
  }
};

}  // namespace latchlab
