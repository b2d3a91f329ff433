#pragma once

// The resolved configuration of ONE run, as plain values. The lists and ranges of the command line are expanded, its
// words checked and its defaults filled in. A Config holds everything that changes a result, and nothing in it refers
// to another run. So it can be hashed, printed and run again.
//
// Only index, sync and the key kind select types (see registry.h); all the rest are values that a trial reads.

#include <optional>
#include <string>
#include <vector>

#include "harness/config/arrivals.h"
#include "harness/config/recording.h"
#include "harness/config/slo.h"
#include "src/base/batching.h"
#include "sync/station_options.h"
#include "src/arch/slice_extension.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "src/machine/waits.h"
#include "src/memory/media/medium_options.h"
#include "src/memory/media/placement_rule.h"
#include "src/memory/memory_config.h"
#include "workloads/value.h"

namespace latchlab {

/// The type of the keys: integers, or byte strings of any length (--keys=file:PATH, email, url).
enum class KeyKind { kU64, kBytes };
template <>
inline constexpr std::array kWords<KeyKind>{"u64"sv, "bytes"sv};

/// The source of node memory: `--alloc`.
enum class Alloc { kMalloc, kTcmalloc, kJemalloc, kMimalloc, kTbb, kArena, kArenaTouch };
template <>
inline constexpr std::array kWords<Alloc>{"malloc"sv, "tcmalloc"sv, "jemalloc"sv,   "mimalloc"sv,
                                          "tbb"sv,    "arena"sv,    "arena+touch"sv};

/// True if every node is allocated by malloc, of whichever library.
constexpr bool calls_malloc(Alloc alloc) { return alloc != Alloc::kArena && alloc != Alloc::kArenaTouch; }

/// The huge pages that the index's memory may have: `--hugepages`.
enum class HugePages { kNone, kThp };
template <>
inline constexpr std::array kWords<HugePages>{"none"sv, "thp"sv};

/// The check of the index at the end of a run: `--validate`.
enum class Validate {
  kTally,    ///< the contents, against the tally of what was done
  kHistory,  ///< that, and whether the recorded calls are linearizable
  kOff,
};
template <>
inline constexpr std::array kWords<Validate>{"tally"sv, "history"sv, "off"sv};

/// The form of progress: `--progress`.
enum class ProgressMode { kAuto, kPlain, kNone };

/// The processors that the threads of a run are pinned to: `--pin`.
struct Pin {
  enum class Kind {
    kCompact,  ///< fill a cluster, then its socket, then the next one
    kScatter,  ///< take sockets in turn, and within them clusters in turn
    kCluster,  ///< compact within these clusters
    kSocket,   ///< compact within these sockets
    kList,     ///< thread i runs on numbers[i mod size]
  };
  Kind kind = Kind::kCompact;
  std::vector<u32> numbers;  ///< clusters, sockets, or processors (the kernel's numbers), in the order given
  std::string text = "compact";
};

/// The order in which second hardware threads of cores are used: `--smt`.
enum class Smt {
  kAvoid,  ///< only after every core has a thread
  kPack,   ///< both hardware threads of a core before the next core
};
template <>
inline constexpr std::array kWords<Smt>{"avoid"sv, "pack"sv};

/// The NUMA nodes on which the index's memory lies: `--mem`.
struct Mem {
  PagePlacement::Kind kind = PagePlacement::Kind::kFirstTouch;
  bool of_pin = false;     ///< kInterleave covers only the nodes of the processors that --pin names
  std::vector<u32> nodes;  ///< nodes of kBind, and those of kInterleave once they are known
  std::string text = "first-touch";
};

/// The unit that `--threads` counts threads for: `--threads-per`.
enum class ThreadsPer { kRun, kCluster, kSocket };
template <>
inline constexpr std::array kWords<ThreadsPer>{"run"sv, "cluster"sv, "socket"sv};

/// The most threads that a run may have.
inline constexpr u32 kMostThreads = 1024;
/// The default of --pmu.
inline constexpr const char* kDefaultPmu = "core";

struct Config {
  Spec index{.name = "art", .arg = {}, .options = {}};
  /// The instruction set for the index's kernels, from --isa. Empty if --isa is not given, or once the planner has made
  /// it an option of the index.
  std::string isa;
  Spec sync{.name = "none", .arg = {}, .options = {}};
  /// The modelled machine that the run is predicted on, with its scale. No name: the run is measured.
  Spec machine;
  u32 threads = 1;  ///< threads of the run; until the run is planned, threads of each of Plan::groups
  ThreadsPer threads_per = ThreadsPer::kRun;
  Pin pin;
  Smt smt = Smt::kAvoid;
  Alloc alloc = Alloc::kArenaTouch;
  Mem mem;
  HugePages huge_pages = HugePages::kNone;
  Reclaim reclaim = Reclaim::kEpoch;
  WaitBy wait = WaitBy::kYield;  ///< how threads go on with waits of more than a microsecond
  SliceExtensions slice_extension = SliceExtensions::kOff;

  Spec workload{.name = "lookup", .arg = {}, .options = {}};       ///< lookup, insert, mix:read=..
  Spec keys{.name = "u64", .arg = {}, .options = {}};              ///< u64, u32, dense, stride:N, file:PATH
  Spec distribution{.name = "uniform", .arg = {}, .options = {}};  ///< uniform, zipf:Q
  Spec churn{.name = "none", .arg = {}, .options = {}};            ///< change of popularity: none, drift:.., flash:..
  double negative = 0;                                             ///< share of lookups for absent keys, 0..1
  Batching batch;                                                  ///< batches of operations; a power of two
  StationOptions station;                                          ///< where the operations of a batch meet
  u32 value_size = kPlainValueBytes;                               ///< bytes; the default is a word in the index
  std::optional<MediumOptions> far;                                ///< the far memory of values; unset: there is one
  u64 near = 0;                                                    ///< bytes of their near memory, if there are two
  std::optional<PlacementRule> rule;                               ///< which values are near; unset: --rule not given
  u64 records = 0;                                                 ///< keys loaded (lookup, mix) or inserted (insert)

  u64 warmup_ns = 0;
  u64 time_ns = 0;                ///< length of the measured phase; 0: it ends after `ops` operations
  u64 ops = 0;                    ///< operations of the measured phase over all threads; 0: it ends by time.
                                  ///< `insert` ends after `records` operations at the latest.
  u64 clear_accessed_ns = 0;      ///< interval at which the measured phase clears all pages' Accessed bits; 0: never
  u64 sample_ns = 100'000'000;    ///< interval of the throughput series
  std::optional<u64> rows;        ///< operations of each row of the measured phase; 0: no rows; unset: --rows not given
  u32 latency_every = 0;          ///< one call in this many is timed; 0: none
  std::string pmu = kDefaultPmu;  ///< the events to count: words for pmu_events (pmu_events.h)
  bool pmu_given = false;         ///< the user gave --pmu
  std::optional<Rate> rate;       ///< offered load of an open loop; unset: a closed loop
  std::optional<Slo> slo;         ///< bound on the response time: an open loop searches for the rate that keeps it
  u64 seed = 1;
  Validate validate = Validate::kTally;
  std::optional<Recording> history;  ///< the calls to record; unset: --history not given
  bool preempt = false;              ///< interrupt threads inside recorded calls
  bool strict = false;  ///< refuse a run that would be degraded; a run that ends degraded or noisy has failed
  bool fit = false;     ///< skip a run for which this machine is too small

  std::optional<u32> block;  ///< set by `harness ab`: the number of this replicate's block in the comparison
  std::optional<u32> order;  ///< set by `harness ab`: its position within that block
  u32 replicate = 0;         ///< number of this repetition of the point, from 0

  [[nodiscard]] KeyKind key_kind() const;
  /// Returns true if values are in a store (indexes/sized.h), and false if each is a word in the index.
  [[nodiscard]] bool sized() const { return value_size != kPlainValueBytes; }
  /// Returns the rule for values in two memories.
  [[nodiscard]] PlacementRule placement_rule() const { return rule.value_or(PlacementRule()); }
  /// Returns which calls are recorded, if any are: --validate=history needs some even without --history.
  [[nodiscard]] std::optional<Recording> recording() const;
};

/// The keys of a batch with --batch=auto.
inline constexpr u32 kBatchOfAuto = 16;
/// Returns the value of `--batch`: "1", "16", "16:rolling", "16:in-turn", "auto".
[[nodiscard]] std::string batch_text(const Batching&);
/// Returns the value of `--station`: "off", "on", "on,order=completion".
[[nodiscard]] std::string station_text(const StationOptions&);

/// Returns the value of `--latency`: "off", "sample:0.01", "all".
[[nodiscard]] std::string latency_text(u32 every);

}  // namespace latchlab
