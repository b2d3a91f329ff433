#pragma once
// `shared_mutex`: one global reader-writer mutex of the system. Readers run side by side, and still all write the
// lock's line.
//
// The C library decides who goes first: glibc lets readers in while a writer waits, so readers that never leave the
// lock alone keep a writer out. Threads that all read and write, as those of a mix do, come to write by themselves.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class SharedMutex : public OneSharedLock<M, typename M::SharedMutex> {
 public:
  static constexpr std::string_view kName = "shared_mutex";
  static constexpr std::string_view kAbout = "one global reader-writer mutex of the system";
  using SharedMutex::OneLock::OneLock;
};

}  // namespace latchlab
