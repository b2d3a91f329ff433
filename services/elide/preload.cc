// The library that ./bench elide preloads: it stands in front of glibc's mutexes and condition waits.
//
// The environment says what it does:
//
//     LATCHLAB_ELIDE_REPORTS=FOLDER      where the process leaves its document; without it, all calls are the real ones
//     LATCHLAB_ELIDE_ABORTS=RATE:SEED    aborts are emulated; without it, the processor's transactions are used, which
//                                        the one who sets FOLDER must have seen work (probe.cc)
//
// A program, the libraries that it loads later and the C++ library all call these functions, since the dynamic linker
// finds ours first. Calls inside glibc itself do not come here: those of C11's mtx_lock and of the condition waits.
// They find the words of the mutexes as glibc left them, so they and ours may meet on one mutex.
//
// A transaction must find each call bound, since the look-up of a lazily bound one aborts. ./bench elide sets
// LD_BIND_NOW.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "services/elide/hardware.h"
#include "services/elide/real_calls.h"
#include "services/elide/report.h"
#include "services/elide/threads.h"

namespace latchlab::elide {
namespace {

RealCall<int(pthread_mutex_t*)> real_lock("pthread_mutex_lock", "GLIBC_2.2.5", "GLIBC_2.2.5");
RealCall<int(pthread_mutex_t*)> real_trylock("pthread_mutex_trylock", "GLIBC_2.34", "GLIBC_2.2.5");
RealCall<int(pthread_mutex_t*, const timespec*)> real_timedlock("pthread_mutex_timedlock", "GLIBC_2.34", "GLIBC_2.2.5");
RealCall<int(pthread_mutex_t*, clockid_t, const timespec*)> real_clocklock("pthread_mutex_clocklock", "GLIBC_2.34",
                                                                           "GLIBC_2.30");
RealCall<int(pthread_mutex_t*)> real_unlock("pthread_mutex_unlock", "GLIBC_2.2.5", "GLIBC_2.2.5");
RealCall<int(pthread_cond_t*, pthread_mutex_t*)> real_wait("pthread_cond_wait", "GLIBC_2.3.2", "GLIBC_2.3.2");
RealCall<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real_timedwait("pthread_cond_timedwait",
                                                                                 "GLIBC_2.3.2", "GLIBC_2.3.2");
RealCall<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> real_clockwait("pthread_cond_clockwait",
                                                                                            "GLIBC_2.34", "GLIBC_2.30");

enum class Mode : u8 { kOff, kProcessor, kEmulated };

// Written once by start(). Relaxed: a thread that starts later sees it.
constinit std::atomic<Mode> mode{Mode::kOff};
constinit std::atomic<u64> threads_made{0};
pthread_key_t thread_ends;
std::atomic<bool> marked{false};
char folder[4096];
double rate = 1;
u64 seed = 1;

// The threads of one kind of hardware, and the place of the calling one. A preloaded library may use the static block
// of thread-local memory. So an access is one instruction that neither allocates nor calls. No fiber of ours comes
// here; those of a program share the transaction of their thread, as they share the place.
template <class Hardware>
struct Of {
  using All = Threads<ElidingThread<Hardware>>;
  static constinit All all;
  [[gnu::tls_model("initial-exec")]] static constinit thread_local typename All::Place* mine;
};
template <class Hardware>
constinit typename Of<Hardware>::All Of<Hardware>::all;
template <class Hardware>
constinit thread_local typename Of<Hardware>::All::Place* Of<Hardware>::mine = nullptr;

Processor hardware_of(const Processor*) { return {}; }
EmulatedAborts hardware_of(const EmulatedAborts*) { return {rate, seed, threads_made.fetch_add(1, kRelaxed)}; }

template <class Hardware>
[[gnu::noinline]] typename Of<Hardware>::All::Place* enter() {
  if (!marked.exchange(true, kRelaxed)) write_mark(folder);
  auto* place = Of<Hardware>::all.enter([] { return hardware_of(static_cast<const Hardware*>(nullptr)); });
  Of<Hardware>::mine = place;
  // It may allocate, and the allocator may lock: the place is there already.
  if (place != nullptr) (void)pthread_setspecific(thread_ends, place);
  return place;
}

// Returns the calling thread's place; null without memory for one.
template <class Hardware>
[[gnu::always_inline]] inline typename Of<Hardware>::All::Place* place_of_thread() {
  auto* place = Of<Hardware>::mine;
  return place != nullptr ? place : enter<Hardware>();
}

// Hands the call to the calling thread's place, or makes the real call where there is none.
template <class Act, class Real>
[[gnu::always_inline]] inline int on_thread(const Act& act, const Real& real) {
  switch (mode.load(kRelaxed)) {
    case Mode::kProcessor:
      if (auto* place = place_of_thread<Processor>(); place != nullptr) return act(place->thread);
      break;
    case Mode::kEmulated:
      if (auto* place = place_of_thread<EmulatedAborts>(); place != nullptr) return act(place->thread);
      break;
    case Mode::kOff: break;
  }
  return real();
}

template <class Real>
[[gnu::always_inline]] inline int lock(pthread_mutex_t* mutex, const Real& real) {
  return on_thread([&](auto& thread) { return thread.lock(*mutex, real); }, real);
}

template <class Real>
[[gnu::always_inline]] inline int wait(pthread_mutex_t* mutex, const Real& real) {
  return on_thread([&](auto& thread) { return thread.wait(*mutex, real); }, real);
}

template <class Hardware>
void leave(void* place) {
  Of<Hardware>::mine = nullptr;
  Of<Hardware>::All::leave(*static_cast<typename Of<Hardware>::All::Place*>(place));
}

// The child is marked when it first locks: one that only ends, or becomes another program, has nothing to report.
template <class Hardware>
void in_child() {
  auto*& mine = Of<Hardware>::mine;
  Of<Hardware>::all.keep_only(mine);
  if (mine != nullptr) Of<Hardware>::All::leave(*mine);
  mine = nullptr;
  (void)pthread_setspecific(thread_ends, nullptr);  // the place may get another thread
  marked.store(false, kRelaxed);
}

template <class Hardware>
void report(const char* how) {
  std::size_t entries = 0;
  Of<Hardware>::all.for_each([&](const LockEntry&) { ++entries; });
  // Threads may insert more, which are left out.
  auto* locks = entries == 0 ? nullptr : static_cast<LockTotal*>(new_pages(entries * sizeof(LockTotal)));
  std::size_t number = 0;
  if (locks != nullptr) {
    Of<Hardware>::all.for_each([&](const LockEntry& entry) {
      if (number < entries) (new (&locks[number++]) LockTotal)->add(entry);
    });
  }
  write_report(folder, how, locks, merge(locks, number));
}

template <class Hardware>
void begin_with(Mode which) {
  if (pthread_key_create(&thread_ends, leave<Hardware>) != 0) return;
  (void)pthread_atfork(nullptr, nullptr, in_child<Hardware>);
  write_mark(folder);
  marked.store(true, kRelaxed);
  mode.store(which, kRelaxed);
}

[[gnu::constructor]] void start() {
  const char* where = getenv("LATCHLAB_ELIDE_REPORTS");
  if (where == nullptr || *where == '\0' || std::strlen(where) >= sizeof folder) return;
  std::strcpy(folder, where);
  // No look-up happens inside a transaction.
  (void)real_lock.get(), (void)real_trylock.get(), (void)real_timedlock.get(), (void)real_unlock.get();
  (void)real_wait.get(), (void)real_timedwait.get();
  if (const char* aborts = getenv("LATCHLAB_ELIDE_ABORTS"); aborts != nullptr) {
    char* rest = nullptr;
    rate = strtod(aborts, &rest);
    if (*rest == ':') seed = strtoull(rest + 1, nullptr, 10);
    begin_with<EmulatedAborts>(Mode::kEmulated);
  } else {
    begin_with<Processor>(Mode::kProcessor);
  }
}

// Other threads may still run, so calls are served until the end.
[[gnu::destructor]] void end() {
  if (!marked.load(kRelaxed)) return;
  switch (mode.load(kRelaxed)) {
    case Mode::kProcessor: return report<Processor>("hardware");
    case Mode::kEmulated: return report<EmulatedAborts>("emulated aborts");
    case Mode::kOff: return;
  }
}

}  // namespace
}  // namespace latchlab::elide

using namespace latchlab::elide;

extern "C" {

[[gnu::visibility("default")]] int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return lock(mutex, [mutex] { return real_lock.get()(mutex); });
}

[[gnu::visibility("default")]] int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  return lock(mutex, [=] { return real_timedlock.get()(mutex, until); });
}

[[gnu::visibility("default")]] int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                                           const timespec* until) noexcept {
  return lock(mutex, [=] { return real_clocklock.get()(mutex, clock, until); });
}

[[gnu::visibility("default")]] int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  const auto real = [mutex] { return real_trylock.get()(mutex); };
  return on_thread([&](auto& thread) { return thread.try_lock(*mutex, real); }, real);
}

[[gnu::visibility("default")]] int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  const auto real = [mutex] { return real_unlock.get()(mutex); };
  return on_thread([&](auto& thread) { return thread.unlock(*mutex, real); }, real);
}

// The waits are cancellation points, which end a thread by an exception: they are not noexcept.
[[gnu::visibility("default")]] int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait(mutex, [=] { return real_wait.get()(condition, mutex); });
}

[[gnu::visibility("default")]] int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                          const timespec* until) {
  return wait(mutex, [=] { return real_timedwait.get()(condition, mutex, until); });
}

[[gnu::visibility("default")]] int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                          clockid_t clock, const timespec* until) {
  return wait(mutex, [=] { return real_clockwait.get()(condition, mutex, clock, until); });
}

}  // extern "C"
