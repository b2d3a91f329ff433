// A program that uses mutexes of all kinds, for the test of the preloaded library (elide_test.py).
//
// It prints what its calls returned, which must be the same with the library and without. The numbers of acquisitions
// of its locks are in the test. Its argument is the path of locks_module, which it loads while it runs. With a second
// argument it runs the parts of one thread, whose emulated aborts are always the same.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

// Names that dladdr knows.
extern "C" {
pthread_mutex_t normal_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t tried_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t timed_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t churn_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t explicit_lock, recursive_lock, errorcheck_lock, robust_lock, inherit_lock, shared_lock;
pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;  // so that a wait for it is late for sure
}

namespace {

constexpr timespec kLongAgo{1, 0};

void say(const char* what, std::initializer_list<long> values) {
  std::printf("%s:", what);
  for (const long value : values) std::printf(" %ld", value);
  std::printf("\n");
}

void locked(pthread_mutex_t& mutex, const std::function<void()>& act = [] {}) {
  pthread_mutex_lock(&mutex);
  act();
  pthread_mutex_unlock(&mutex);
}

void in_threads(int number, const std::function<void()>& act) {
  std::vector<std::thread> threads;
  for (int i = 0; i < number; ++i) threads.emplace_back(act);
  for (std::thread& thread : threads) thread.join();
}

void make(pthread_mutex_t& mutex, int (*set)(pthread_mutexattr_t*, int), int value) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  set(&attributes, value);
  pthread_mutex_init(&mutex, &attributes);
}

// 4,000 acquisitions.
void normal() {
  long sum = 0;
  in_threads(4, [&] {
    for (int i = 0; i < 1000; ++i) locked(normal_lock, [&] { ++sum; });
  });
  say("normal", {sum});
}

// 101 acquisitions, and 10 refused ones.
void tried() {
  long taken = 0, refused = 0;
  for (int i = 0; i < 100; ++i) {
    taken += pthread_mutex_trylock(&tried_lock) == 0;
    pthread_mutex_unlock(&tried_lock);
  }
  locked(tried_lock, [&] {
    for (int i = 0; i < 10; ++i) refused += pthread_mutex_trylock(&tried_lock) == EBUSY;
  });
  say("tried", {taken, refused});
}

// 51 acquisitions, and 2 refused ones.
void timed() {
  long taken = 0;
  for (int i = 0; i < 25; ++i) {
    taken += pthread_mutex_timedlock(&timed_lock, &kLongAgo) == 0;
    pthread_mutex_unlock(&timed_lock);
    taken += pthread_mutex_clocklock(&timed_lock, CLOCK_MONOTONIC, &kLongAgo) == 0;
    pthread_mutex_unlock(&timed_lock);
  }
  int late = 0, late_by_clock = 0;
  locked(timed_lock, [&] {
    in_threads(1, [&] {
      late = pthread_mutex_timedlock(&timed_lock, &kLongAgo);
      late_by_clock = pthread_mutex_clocklock(&timed_lock, CLOCK_MONOTONIC, &kLongAgo);
    });
  });
  say("timed", {taken, late == ETIMEDOUT, late_by_clock == ETIMEDOUT});
}

// 5 acquisitions of each kind that is taken once, 150 of the recursive one, 1 and 1 refused of the errorcheck one, 2 of
// the robust one.
void kinds() {
  make(explicit_lock, pthread_mutexattr_settype, PTHREAD_MUTEX_NORMAL);
  make(recursive_lock, pthread_mutexattr_settype, PTHREAD_MUTEX_RECURSIVE);
  make(errorcheck_lock, pthread_mutexattr_settype, PTHREAD_MUTEX_ERRORCHECK);
  make(robust_lock, pthread_mutexattr_setrobust, PTHREAD_MUTEX_ROBUST);
  make(inherit_lock, pthread_mutexattr_setprotocol, PTHREAD_PRIO_INHERIT);
  make(shared_lock, pthread_mutexattr_setpshared, PTHREAD_PROCESS_SHARED);
  for (int i = 0; i < 5; ++i) {
    for (pthread_mutex_t* mutex : {&explicit_lock, &inherit_lock, &shared_lock}) locked(*mutex);
  }
  long depth = 0;
  for (int i = 0; i < 50; ++i) {
    for (int j = 0; j < 3; ++j) depth += pthread_mutex_lock(&recursive_lock) == 0;
    for (int j = 0; j < 3; ++j) pthread_mutex_unlock(&recursive_lock);
  }
  const int first = pthread_mutex_lock(&errorcheck_lock), again = pthread_mutex_lock(&errorcheck_lock);
  const int unlocked = pthread_mutex_unlock(&errorcheck_lock), twice = pthread_mutex_unlock(&errorcheck_lock);
  in_threads(1, [] { pthread_mutex_lock(&robust_lock); });
  const int inherited = pthread_mutex_lock(&robust_lock);
  pthread_mutex_consistent(&robust_lock);
  pthread_mutex_unlock(&robust_lock);
  say("kinds", {depth, first, again == EDEADLK, unlocked, twice == EPERM, inherited == EOWNERDEAD});
}

// 3 acquisitions, and an unlock before any.
void unlock_free() {
  const int result = pthread_mutex_unlock(&free_lock);
  for (int i = 0; i < 3; ++i) locked(free_lock);
  say("free", {result});
}

// 40 acquisitions of each, which are released in both orders.
void nested() {
  for (int i = 0; i < 40; ++i) {
    pthread_mutex_lock(&outer_lock);
    pthread_mutex_lock(&inner_lock);
    pthread_mutex_unlock(i % 2 == 0 ? &inner_lock : &outer_lock);
    pthread_mutex_unlock(i % 2 == 0 ? &outer_lock : &inner_lock);
  }
}

// 501 acquisitions: the consumer locks once, and waits in all three ways.
void conditions() {
  long queued = 0, taken = 0, late = 0;
  std::thread consumer([&] {
    locked(queue_lock, [&] {
      late += pthread_cond_timedwait(&never_signalled, &queue_lock, &kLongAgo) == ETIMEDOUT;
      late += pthread_cond_clockwait(&never_signalled, &queue_lock, CLOCK_MONOTONIC, &kLongAgo) == ETIMEDOUT;
      while (taken < 500) {
        while (queued == 0) pthread_cond_wait(&queue_filled, &queue_lock);
        taken += queued;
        queued = 0;
      }
    });
  });
  for (int i = 0; i < 500; ++i) {
    locked(queue_lock, [&] {
      ++queued;
      pthread_cond_signal(&queue_filled);
    });
  }
  consumer.join();
  say("conditions", {taken, late});
}

struct LocksAtEnd {
  ~LocksAtEnd() { locked(churn_lock); }
  int used = 0;
};
thread_local LocksAtEnd at_end;

void lock_late(void*) { locked(churn_lock); }

// 60 threads, one after the other, with 12 acquisitions each: the last two while the thread ends.
void churn() {
  pthread_key_t key;
  pthread_key_create(&key, lock_late);
  for (int i = 0; i < 60; ++i) {
    in_threads(1, [&] {
      pthread_setspecific(key, &key);
      at_end.used = 1;
      for (int j = 0; j < 10; ++j) locked(churn_lock);
    });
  }
}

// 1,000 locks on the heap, with 3 acquisitions each.
void many() {
  static std::vector<pthread_mutex_t> locks(1000, PTHREAD_MUTEX_INITIALIZER);
  for (int i = 0; i < 3; ++i) {
    for (pthread_mutex_t& mutex : locks) locked(mutex);
  }
}

// 2 acquisitions in this process, 7 in a child that exits, 5 in one that calls _exit, none in another such one.
void forks() {
  locked(fork_lock);
  for (const int times : {7, 5, 0}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < times; ++i) locked(fork_lock);
      if (times == 7) std::exit(3);
      _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("forks", {WEXITSTATUS(status)});
  }
  locked(fork_lock);
}

// 9 acquisitions of a lock of a library that is loaded now.
void load(const char* path) {
  void* module = dlopen(path, RTLD_NOW);
  if (module == nullptr) std::exit(5);
  auto* use = reinterpret_cast<int (*)(int)>(dlsym(module, "use_module_lock"));
  say("module", {use(9)});
}

}  // namespace

int main(int number, char** words) {
  if (number > 2) {
    tried();
    nested();
    return 6;
  }
  normal();
  tried();
  timed();
  kinds();
  unlock_free();
  nested();
  conditions();
  churn();
  many();
  forks();
  load(words[1]);
  return 6;
}
