#pragma once
// Transactions that really roll back, without a processor that has them: a transaction is a child process.
//
//     program --- begin() = fork ---> child: kCommitted, goes on in the program
//                     |                 |
//                  waits                |-- abort: tells the status and ends. The parent returns it from begin()
//                     |                 '-- end(): tells of the commit. The child is now the program, and the parent
//                     '---------------------- waits for it and ends with it
//
// So begin() returns twice, as XBEGIN does, from a frame and in a memory in which nothing of the transaction is left.
// That is what setjmp cannot do (eliding_thread.h). It serves programs of one thread. A child that ends without a word
// stands for a system call or a fault: its status is 0. A scenario runs in a process of its own, and what it finds is
// in memory that all its processes share.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "services/elide/eliding_thread.h"

namespace latchlab::elide::testing {

/// What the processes of a scenario have seen. Nothing of it is undone by an abort.
struct Seen {
  u32 ends = 0;
  u32 bare_ends = 0;     // outside a transaction
  u32 ends_on_held = 0;  // while a watched lock was held
  bool finished = false;
  std::array<long, 16> results{};  // what the scenario found at its end
};

struct ForkedHardware {
  static constexpr bool kIsolates = true;

  // The state of the process. A scenario begins in a new one.
  static inline Seen* seen = nullptr;
  static inline bool inside = false;
  static inline int verdict = -1;               // the pipe to the parent
  static inline std::array<u32, 64> failing{};  // the statuses of the first begins
  static inline u32 failures = 0, begun = 0, pauses = 0;
  static inline u64 time = 1, time_of_begin = 0;
  static inline std::function<void(u32)> at_begin, at_pause;  // get the number of earlier ones
  static inline pthread_mutex_t* watched = nullptr;

  static void fail(std::initializer_list<u32> statuses) {
    for (const u32 status : statuses) failing[failures++] = status;
  }

  static u32 begin() {
    const u32 number = begun++;
    time += time_of_begin;
    if (at_begin) at_begin(number);
    if (number < failures) return failing[number];
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child < 0) std::abort();
    if (child == 0) {
      close(ends[0]);
      verdict = ends[1];
      inside = true;
      return kCommitted;
    }
    close(ends[1]);
    u32 status = 0;
    if (read(ends[0], &status, sizeof status) != sizeof status) status = 0;
    close(ends[0]);
    int end = 0;
    waitpid(child, &end, 0);
    if (status != kCommitted) return status;
    _exit(WIFEXITED(end) ? WEXITSTATUS(end) : 1);
  }
  static bool test() { return inside; }
  static void end() {
    ++seen->ends;
    seen->bare_ends += !inside;
    seen->ends_on_held += watched != nullptr && watched->__data.__lock != 0;
    if (inside) tell(kCommitted);
    inside = false;
  }
  template <u8 kCode>
  [[noreturn]] static void abort() {
    tell(explicit_status(kCode));
    _exit(0);
  }
  /// Does what aborts by itself.
  static void system_call() {
    if (inside) _exit(0);
  }
  static void pause() {
    if (at_pause) at_pause(pauses);
    ++pauses;
  }
  static void yield() {}
  static u64 now() { return time; }

 private:
  static void tell(u32 status) {
    if (write(verdict, &status, sizeof status) != sizeof status) _exit(1);
    close(verdict);
  }
};

/// Runs a scenario in a process of its own, and returns what it saw.
inline Seen run_in_process(const std::function<void()>& scenario) {
  auto* seen = new (mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Seen;
  const pid_t child = fork();
  if (child == 0) {
    ForkedHardware::seen = seen;
    scenario();
    seen->finished = true;
    _exit(0);
  }
  int end = 0;
  waitpid(child, &end, 0);
  const Seen copy = *seen;
  munmap(seen, sizeof(Seen));
  return copy;
}

}  // namespace latchlab::elide::testing
