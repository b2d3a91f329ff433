#include "src/machine/server_thread.h"

#include <sched.h>
#include <unistd.h>

#include <utility>

#include "src/arch/pause.h"

namespace latchlab {
namespace {

constexpr u32 kSpinLooks = 32;

/// Lets the calling thread run on all processors of the process. A thread inherits the affinity of the one that makes
/// it, and that may be a client that is bound to one processor.
void leave_processor_of_maker() {
  cpu_set_t of_process;
  // Those of the main thread, which a user or a batch system has set. If the kernel refuses, the thread stays where it
  // is, which is slow, not wrong.
  if (sched_getaffinity(getpid(), sizeof of_process, &of_process) == 0) {
    (void)sched_setaffinity(0, sizeof of_process, &of_process);
  }
}

}  // namespace

SystemServerThread::SystemServerThread(std::function<void()> serve)
    : thread_([serve = std::move(serve)] {
        leave_processor_of_maker();
        serve();
      }) {}

SystemServerThread::~SystemServerThread() {
  ends_.store(true, kRelease);  // pairs with wait
  thread_.join();
}

void SystemServerThread::let_pass(u32 looks) {
  if (looks < kSpinLooks) {
    pause_spin();
  } else {
    sched_yield();
  }
}

}  // namespace latchlab
