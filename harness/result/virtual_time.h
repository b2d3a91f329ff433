#pragma once

// Where the virtual time of a modelled run went (src/model/account.h), as its document says it.

#include <string>
#include <utility>
#include <vector>

#include "harness/config/or_reason.h"
#include "harness/result/fields.h"
#include "src/model/account.h"

namespace latchlab {

/// ns by cause, in the order of model::Cause.
using TimeByCause = std::vector<std::pair<std::string, double>>;

/// Transactions that ended with an abort, by its cause.
struct LostByCause {
  std::string name;  ///< the word of an AbortCause
  u64 count = 0;
  double ns = 0;
};
void describe(Like<LostByCause> auto& l, auto& field) {
  field("count", l.count, "", kOneOrMore);
  field("ns", l.ns, "time of these attempts, without their aborts");
}
auto& named_value(Like<LostByCause> auto& named) { return named; }

/// Transactions that an access of another thread ended, by the structure that it was to.
struct LostByStructure {
  OrReason<std::string> structure;
  OrReason<u64> bytes;
  u64 count = 0;
  double ns = 0;
};
void describe(Like<LostByStructure> auto& l, auto& field) {
  field("structure", l.structure, "type of the node; or policy, index or reclaimer, the objects that are no nodes");
  field("block_bytes", l.bytes, "of the node's block or of the object; 65536: at least", kOneOrMore);
  field("count", l.count, "", kOneOrMore);
  field("ns", l.ns, "time of these attempts, without their aborts");
}

/// A line that threads waited for each other on.
struct HotLineTime {
  OrReason<std::string> structure;
  OrReason<u64> bytes;
  OrReason<u64> offset;
  bool lock = false;
  double waited_ns = 0, asleep_ns = 0;
  u64 reads = 0, writes = 0, conflicts = 0;
  std::vector<u32> threads;
};
void describe(Like<HotLineTime> auto& h, auto& field) {
  field("structure", h.structure, "as in conflicts");
  field("block_bytes", h.bytes, "as in conflicts", kOneOrMore);
  field("offset", h.offset, "of the line's first byte in the block or the object");
  field("lock", h.lock, "true if threads slept until the line was written");
  field("waited_ns", h.waited_ns, "sum over the threads; that of attempts that were lost too");
  field("asleep_ns", h.asleep_ns, "the part of it in which they slept");
  field("reads", h.reads, "loads that took the line from another core, or waited for one that did");
  field("writes", h.writes, "stores and locked instructions that did so, or that made other cores give it up");
  field("conflicts", h.conflicts, "transactions that an access to the line ended");
  field("threads", h.threads, "those that waited for it, took it, or ended transactions by it");
}

struct VirtualTime {
  static constexpr u64 kHotLines = 10;
  double thread_ns = 0;
  TimeByCause causes;
  std::vector<TimeByCause> per_thread;
  std::vector<LostByCause> aborts;
  std::vector<LostByStructure> conflicts;
  std::vector<HotLineTime> hot_lines;
};
void describe(Like<VirtualTime> auto& v, auto& field) {
  field.about(
      "where the virtual time of the measured phase went. A miss counts only for the time that its thread waited for "
      "it, by what it did then. The causes add up to the threads' time");
  Keys keys{.names = {{"l3", "of the own cluster"},
                      {"own_cluster", "from a core under the same L3"},
                      {"other_cluster", "from a cache of another cluster of the socket"},
                      {"other_socket", "from a cache of another socket"},
                      {"dram_near", "from memory of the own cluster"},
                      {"dram_far", "from other memory"},
                      {"line_in_transfer", "until the line had gone to those that asked before"},
                      {"channels", "in queues of memory channels"},
                      {"links", "in queues of links between sockets"},
                      {"fences", "in fences, locked instructions and transactions until stores were done"},
                      {"locked", "locked instructions besides their misses"},
                      {"transactions", "to begin and to commit"},
                      {"aborted", "in attempts that were aborted, with their aborts"},
                      {"space_lock", "until the kernel's lock of the address space was free"},
                      {"asleep", "until another thread wrote a line"},
                      {"pauses", "and yields"},
                      {"idle", "until the run's other threads had ended their rounds, or an operation was due"}},
            .all = true};
  for (const std::string_view cause : kWords<model::Cause>) {
    if (std::ranges::find(keys.names, cause, &std::pair<std::string, const char*>::first) == keys.names.end())
      keys.names.emplace_back(cause, "");
  }
  field("thread_ns", v.thread_ns, "sum over the threads");
  field.keyed("causes", v.causes, keys, "ns, sum over the threads");
  field("per_thread", v.per_thread, "ns by cause, as in causes");
  field("aborts", v.aborts, "transactions that ended with an abort, by cause, the most time first");
  field("conflicts", v.conflicts,
        "transactions that an access of another thread ended, by the structure that it was to, the most time first");
  field("hot_lines", v.hot_lines,
        "up to ten lines that threads waited for each other on, the most time first. A line is found if it had more "
        "than an eighth of a 256th of these waits; its numbers are since then");
}

}  // namespace latchlab
