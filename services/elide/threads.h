#pragma once
// All threads of the process that have locked something.
//
//     newest -> [thread, in use] -> [thread, free] -> [thread, in use] -> null
//
// A thread that ends frees its place, with its counts and with what it has learned; the next new thread takes it over.
// So the report has the counts of all threads, and a program that starts a thread for each request does not grow.
// Places are never unmapped: the report reads those of running threads.
//
// In the child of fork() one thread is left. The counts of the others are the parent's, and perhaps half changed. The
// child forgets their places and begins to count at 0.
#include <new>

#include "services/elide/eliding_thread.h"

namespace latchlab::elide {

template <class Thread>
class Threads {
 public:
  struct Place {
    explicit Place(auto&& hardware) : thread(hardware) {}

    Thread thread;
    std::atomic<bool> in_use{true};
    Place* next = nullptr;
  };

  /// Returns a place for the calling thread; null without memory. `hardware` makes what a new Thread is made of.
  template <class Hardware>
  [[nodiscard]] Place* enter(const Hardware& hardware) {
    for (Place* place = newest_.load(kAcquire); place != nullptr; place = place->next) {  // pairs with (1)
      bool free = false;
      // Pairs with (2): the counts of the thread that left are complete.
      if (place->in_use.compare_exchange_strong(free, true, kAcquire, kRelaxed)) return place;
    }
    void* room = new_pages(sizeof(Place));
    if (room == nullptr) return nullptr;
    Place* place = new (room) Place(hardware());
    place->next = newest_.load(kRelaxed);
    // (1) A reader of the head sees the place and all older ones.
    while (!newest_.compare_exchange_weak(place->next, place, kAcqRel, kRelaxed)) {}
    return place;
  }

  /// Frees the place of a thread that ends.
  static void leave(Place& place) {
    place.in_use.store(false, kRelease);  // (2)
  }

  /// Keeps only the place of the calling thread, if it has one, and clears its counts: after fork(), in the child.
  void keep_only(Place* own) {
    if (own != nullptr) {
      own->next = nullptr;
      own->thread.table().for_each([](LockEntry& entry) { entry.counts.clear(); });
    }
    newest_.store(own, kRelaxed);  // the only thread
  }

  /// Calls visit(entry) for the entries of all threads.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (Place* place = newest_.load(kAcquire); place != nullptr; place = place->next) {  // pairs with (1)
      place->thread.table().for_each(visit);
    }
  }

 private:
  std::atomic<Place*> newest_{nullptr};
};

}  // namespace latchlab::elide
