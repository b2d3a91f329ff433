#pragma once
// `shared_mutex`: one global reader-writer mutex of the system. Readers run side by side, but all of them write the
// lock's line.
//
// The C library decides which thread goes first. glibc lets readers in while a writer waits, so an unbroken sequence of
// readers keeps a writer out. In a mix this ends by itself, because every thread soon wants to write.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class SharedMutex : public OneSharedLock<M, typename M::SharedMutex> {
 public:
  static constexpr std::string_view kName = "shared_mutex";
  static constexpr std::string_view kAbout = "one global reader-writer mutex of the system";
  static constexpr std::string_view kWaitsElsewhere =
      "its threads sleep in the system's lock, each time by a voluntary context switch";
  using SharedMutex::OneLock::OneLock;
};

}  // namespace latchlab
