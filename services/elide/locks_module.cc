// A library with a lock, which locks_program loads while it runs.
#include <pthread.h>

extern "C" {

pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;

/// Locks and unlocks so many times; returns how often both succeeded.
int use_module_lock(int times) {
  int done = 0;
  for (int i = 0; i < times; ++i)
    done += pthread_mutex_lock(&module_lock) == 0 && pthread_mutex_unlock(&module_lock) == 0;
  return done;
}
}
