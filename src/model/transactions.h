#pragma once
// The lines of running transactions, against the capacity of the caches that track them. Conflicts are the caller's.
//
// These end a transaction:
//   written line   an L1 of its core evicts it; the siblings of a core share that L1
//   line read      the L3 of its cluster evicts it, or L1, or it is one line more than there is room for (htm.read)
//   trap           a page fault, a mark, the timer, a system call; with status 0
//
// A transaction that the machine has ended stays here until the caller has undone it, and is named once.
#include <algorithm>
#include <span>
#include <vector>

#include "src/arch/rtm_status.h"
#include "src/base/types.h"
#include "src/model/parameters.h"

namespace latchlab::model {

/// A transaction that the machine has ended, and the status of its abort (src/arch/rtm_status.h).
struct Ended {
  u32 thread;
  u32 status;
  bool operator==(const Ended&) const = default;
};

class Transactions {
 public:
  /// `cores` has the core of each thread.
  Transactions(const Parameters& p, const std::vector<u32>& cores) : read_(p.htm.read), read_lines_(p.htm.read_lines) {
    for (const u32 core : cores)
      threads_.push_back({.core = core, .cluster = p.cluster_of_core(core), .read = {}, .written = {}});
  }

  void begin(u32 thread) {
    threads_[thread].running = true;
    threads_[thread].ended = false;
    ++running_;
  }
  [[nodiscard]] bool running(u32 thread) const { return threads_[thread].running; }
  /// Forgets a transaction that has committed, or that the caller has undone.
  void finish(u32 thread) {
    Thread& t = threads_[thread];
    if (!t.running) return;
    t.running = false;
    --running_;
    t.read.clear();
    t.written.clear();
  }
  void reads(u32 thread, u64 line) {
    Thread& t = threads_[thread];
    if (!t.read.add(line)) return;
    if (read_ == ReadSet::kLines && t.read.lines.size() > read_lines_) end(thread, kAbortCapacity);
  }
  void writes(u32 thread, u64 line) { threads_[thread].written.add(line); }
  /// Tells that an L1 has evicted a line. O(threads + lines of the core's transactions that may have it).
  void gone_from_l1(u32 core, u64 line) {
    if (running_ == 0) return;
    for (u32 thread = 0; thread < threads_.size(); ++thread) {
      const Thread& t = threads_[thread];
      if (!t.running || t.core != core) continue;
      if (t.written.has(line) || (read_ == ReadSet::kL1 && t.read.has(line))) end(thread, kAbortCapacity);
    }
  }
  void gone_from_l3(u32 cluster, u64 line) {
    if (running_ == 0 || read_ != ReadSet::kL3) return;
    for (u32 thread = 0; thread < threads_.size(); ++thread) {
      const Thread& t = threads_[thread];
      if (t.running && t.cluster == cluster && t.read.has(line)) end(thread, kAbortCapacity);
    }
  }
  /// Ends a running transaction, unless it has been ended before.
  void end(u32 thread, u32 status) {
    Thread& t = threads_[thread];
    if (!t.running || t.ended) return;
    t.ended = true;
    ended_.push_back({thread, status});
  }

  [[nodiscard]] const std::vector<u64>& written(u32 thread) const { return threads_[thread].written.lines; }
  [[nodiscard]] std::span<const Ended> ended() const { return ended_; }
  void forget_ended() { ended_.clear(); }

 private:
  /// A set of lines. Transactions of indexes have tens; a filter answers most questions about others.
  struct Lines {
    std::vector<u64> lines;
    u64 filter = 0;

    static u64 bit(u64 line) { return u64{1} << (line * 0x9e3779b97f4a7c15u >> 58); }
    bool has(u64 line) const { return (filter & bit(line)) != 0 && std::ranges::find(lines, line) != lines.end(); }
    bool add(u64 line) {
      if (has(line)) return false;
      filter |= bit(line);
      lines.push_back(line);
      return true;
    }
    void clear() {
      lines.clear();
      filter = 0;
    }
  };
  struct Thread {
    u32 core, cluster;
    bool running = false, ended = false;
    Lines read, written;
  };

  ReadSet read_;
  u64 read_lines_;
  u32 running_ = 0;
  std::vector<Thread> threads_;
  std::vector<Ended> ended_;
};

}  // namespace latchlab::model
