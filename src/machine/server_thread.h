#pragma once
// The server thread of machines with threads of the system: Native and Emulated. That of a virtual machine is a fiber
// of every run (virtual_machine.h).
//
// A policy that delegates owns one. It serves from the policy's construction to its destruction, and it is not one of
// the threads that call the index.
#include <atomic>
#include <functional>
#include <thread>

#include "src/base/types.h"

namespace latchlab {

class SystemServerThread {
 public:
  /// Starts a thread that calls `serve` once. Throws std::system_error if the system has no more threads.
  explicit SystemServerThread(std::function<void()> serve);
  /// Ends the thread: wait() returns false from now on, and `serve` must then return.
  ~SystemServerThread();
  SystemServerThread(const SystemServerThread&) = delete;
  SystemServerThread& operator=(const SystemServerThread&) = delete;

  /// Returns true: there is always a thread.
  static constexpr bool serves() { return true; }

  /// Returns true once done() does, or false if the thread is to end. Only the server thread may call it. It looks
  /// about thirty times, and then yields between looks, since the clients may need its processor. `words` tells a
  /// virtual machine what done() reads.
  template <class Words, class Done>
  bool wait(const Words& /*words*/, const Done& done) {
    for (u32 looks = 0; !done(); ++looks) {
      if (ends_.load(kAcquire)) return false;  // pairs with the destructor
      let_pass(looks);
    }
    return true;
  }

 private:
  static void let_pass(u32 looks);

  std::atomic<bool> ends_{false};
  std::thread thread_;  // last: it uses the member above
};

}  // namespace latchlab
