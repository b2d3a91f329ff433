#pragma once

// The resolved configuration of ONE run, as plain values: what remains of a command line after its lists and
// ranges have been expanded, its words checked and its defaults filled in. Nothing here refers to another
// run, so a Config can be hashed, printed and run again; everything that changes a result is in it.
//
// Only index, sync and the key kind select types (see registry.h); all the rest are values that a trial
// reads.

#include <optional>
#include <string>
#include <vector>

#include "harness/config/arrivals.h"
#include "harness/config/slo.h"
#include "src/base/batching.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "src/memory/memory_config.h"
#include "workloads/value.h"

namespace latchlab {

/// What a key is to an index: an integer, or a byte string of any length (--keys=file:PATH, email, url).
enum class KeyKind { kU64, kBytes };
template <>
inline constexpr std::array kWords<KeyKind>{"u64"sv, "bytes"sv};

/// Where node memory comes from: `--alloc`.
enum class Alloc { kMalloc, kTcmalloc, kJemalloc, kMimalloc, kTbb, kArena, kArenaTouch };
template <>
inline constexpr std::array kWords<Alloc>{"malloc"sv, "tcmalloc"sv, "jemalloc"sv,   "mimalloc"sv,
                                          "tbb"sv,    "arena"sv,    "arena+touch"sv};

/// Whether every node is a call of malloc, of whichever library.
constexpr bool calls_malloc(Alloc alloc) { return alloc != Alloc::kArena && alloc != Alloc::kArenaTouch; }

/// `--hugepages`.
enum class HugePages { kNone, kThp };
template <>
inline constexpr std::array kWords<HugePages>{"none"sv, "thp"sv};

/// `--validate`.
enum class Validate { kTally, kOff };
template <>
inline constexpr std::array kWords<Validate>{"tally"sv, "off"sv};

/// The words of `--progress`.
enum class ProgressMode { kAuto, kPlain, kNone };

/// Which processors the threads of a run are pinned to; the words of `--pin`.
struct Pin {
  enum class Kind {
    kCompact,  ///< fill a cluster, then its socket, then the next one
    kScatter,  ///< sockets in turn, and within them clusters in turn
    kCluster,  ///< compact within these clusters
    kSocket,   ///< compact within these sockets
    kList,     ///< thread i runs on numbers[i mod size]
  };
  Kind kind = Kind::kCompact;
  std::vector<u32> numbers;  ///< of the last three, in the order given; those of kList are the operating system's
  std::string text = "compact";
};

/// When the second hardware threads of cores are used: `--smt`.
enum class Smt {
  kAvoid,  ///< when every core has a thread
  kPack,   ///< before the next core
};
template <>
inline constexpr std::array kWords<Smt>{"avoid"sv, "pack"sv};

/// On which NUMA nodes the index's memory lies; the words of `--mem`.
struct Mem {
  PagePlacement::Kind kind = PagePlacement::Kind::kFirstTouch;
  bool of_pin = false;     ///< kInterleave means the nodes of the processors that --pin names, and not all
  std::vector<u32> nodes;  ///< of kBind, and of kInterleave once they are known
  std::string text = "first-touch";
};

/// What `--threads` counts the threads of: `--threads-per`.
enum class ThreadsPer { kRun, kCluster, kSocket };
template <>
inline constexpr std::array kWords<ThreadsPer>{"run"sv, "cluster"sv, "socket"sv};

/// The most threads that a run may have.
inline constexpr u32 kMostThreads = 1024;
/// What --pmu counts where nobody says what.
inline constexpr const char* kDefaultPmu = "core";

struct Config {
  Spec index{.name = "art", .arg = {}, .options = {}};
  /// Which instructions the index's kernels are to use, where --isa says it and the index's options do not; empty once
  /// it is one of them.
  std::string isa;
  Spec sync{.name = "none", .arg = {}, .options = {}};
  u32 threads = 1;  ///< of the run; while it is planned, of each of Plan::groups
  ThreadsPer threads_per = ThreadsPer::kRun;
  Pin pin;
  Smt smt = Smt::kAvoid;
  Alloc alloc = Alloc::kArenaTouch;
  Mem mem;
  HugePages huge_pages = HugePages::kNone;
  Reclaim reclaim = Reclaim::kEpoch;

  Spec workload{.name = "lookup", .arg = {}, .options = {}};       ///< lookup, insert, mix:read=..
  Spec keys{.name = "u64", .arg = {}, .options = {}};              ///< u64, u32, dense, stride:N, file:PATH
  Spec distribution{.name = "uniform", .arg = {}, .options = {}};  ///< uniform, zipf:Q
  Spec churn{.name = "none", .arg = {}, .options = {}};            ///< how popularity changes: none, drift:.., flash:..
  double negative = 0;                                             ///< share of lookups for absent keys, 0..1
  Batching batch;                     ///< of lookups, inserts, updates or erasures; a power of two
  u32 value_size = kPlainValueBytes;  ///< bytes; where they are more, they are in payloads (payloads.h)
  u64 records = 0;                    ///< keys loaded (lookup, mix) or inserted (insert)

  u64 warmup_ns = 0;
  u64 time_ns = 0;              ///< length of the measured phase; 0: it ends after `ops` operations
  u64 ops = 0;                  ///< operations of the measured phase over all threads; 0: it ends by time.
                                ///< `insert` ends after `records` at the latest, whatever is given.
  u64 clear_accessed_ns = 0;    ///< between two clearings of all pages' Accessed bits in the measured phase; 0: none
  u64 sample_ns = 100'000'000;  ///< interval of the throughput series
  std::optional<u64> rows;      ///< the measured phase has a row for so many operations; 0: none; not set: nobody says
  u32 latency_every = 0;        ///< one call in so many is timed; 0: none
  std::string pmu = kDefaultPmu;  ///< which events are counted: words for pmu_events (pmu_events.h)
  bool pmu_given = false;         ///< somebody asked for them
  std::optional<Rate> rate;       ///< of an open loop; none: a closed one
  std::optional<Slo> slo;         ///< ... or the rate that keeps this bound
  u64 seed = 1;
  Validate validate = Validate::kTally;
  bool strict = false;  ///< refuse a run that would be degraded; one that turns out so, or noisy, is a failure
  bool fit = false;     ///< skip a run for which this machine is too small

  std::optional<u32> block;  ///< set by `harness ab`: which block of the comparison this replicate belongs to
  std::optional<u32> order;  ///< ... and its position within that block
  u32 replicate = 0;         ///< which repetition of the same point, from 0

  [[nodiscard]] KeyKind key_kind() const;
};

/// As `--batch` is given: "1", "16", "16:in-turn".
[[nodiscard]] std::string batch_text(const Batching&);

/// As `--latency` is given: "off", "sample:0.01", "all".
[[nodiscard]] std::string latency_text(u32 every);

}  // namespace latchlab
