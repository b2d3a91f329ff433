#pragma once
// A thread that merges the free entries of slabs in the background (slabs.h).
#include <stop_token>
#include <thread>

#include "src/memory/slabs.h"

namespace latchlab {

template <class M>
class SlabMerger {
 public:
  /// Starts the thread. `slabs` must outlive it. It merges whenever growth asks for that. Throws std::system_error.
  explicit SlabMerger(Slabs<M>& slabs)
      : slabs_(slabs), thread_([&slabs](const std::stop_token& stop) {
          for (slabs.wait_until_asked(); !stop.stop_requested(); slabs.wait_until_asked()) (void)slabs.merge();
        }) {}
  /// Ends the thread, after a merge that runs.
  ~SlabMerger() {
    thread_.request_stop();
    slabs_.ask();
  }
  SlabMerger(const SlabMerger&) = delete;
  SlabMerger& operator=(const SlabMerger&) = delete;

 private:
  Slabs<M>& slabs_;
  std::jthread thread_;
};

}  // namespace latchlab
