#pragma once
// The document of a process: one JSON object with its locks. ./bench elide (experiments/elide.py) reads it.
//
// It is written when the process ends, by a library without libstdc++, since a program of C has none. Other threads may
// still run and count; each number is one that its count had.
#include <string_view>

#include "services/elide/lock_entry.h"

namespace latchlab::elide {

/// The counts of one lock, of all threads.
struct LockTotal {
  const void* lock = nullptr;
  int kind = 0;
  bool waits = false;
  u64 begins = 0, commits = 0, inside = 0, fallbacks = 0, direct = 0, passed = 0, refused = 0;
  std::array<u64, kCauses> aborts{};
  std::array<u64, kBudgets.size()> retries{};  // how many threads have each budget now

  /// Adds the counts of a thread.
  void add(const LockEntry& entry);
  /// Adds the counts of other threads for the same lock.
  void add(const LockTotal& other);
  /// Returns true if nothing was counted.
  bool empty() const { return commits + inside + fallbacks + direct + passed + refused == 0; }
};

/// Adds up the totals of one lock, and leaves out those that counted nothing. Returns how many are left, in the order
/// of their addresses. O(n log n), in place.
std::size_t merge(LockTotal* locks, std::size_t number);

/// Writes the document into `folder` as PID.json, completely or not at all. `locks` has each lock once. `how` is the
/// value of "mode": what began the transactions. Errors are ignored, since a program's end is no place for them;
/// ./bench elide says that the document is missing.
void write_report(std::string_view folder, std::string_view how, const LockTotal* locks, std::size_t number);

/// Leaves a mark in the folder that this process will write its document: PID.started.
void write_mark(std::string_view folder);

}  // namespace latchlab::elide
