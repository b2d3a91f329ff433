// Runs one trace of allocations on an allocator, or measures the merges of slabs; experiments/slabs.py runs it.
//
//     slab_trace replay:alloc=WORD,threads=N,ops=N,live=BYTES,seed=N
//     slab_trace merge:slots=N,free=SHARE,seed=N      the median of three
//
// WORD is slabs, pool (as that of sized values), or one of the words of --alloc that name a malloc. The result is one
// JSON object on stdout. Exit status: 0; 2 for wrong input, such as a library that is not installed.
//
// A trace belongs to a table of blocks. It fills the table up to `live` bytes, and then replaces blocks: random ones
// are freed until the next one fits. Nine of ten sizes are of the phase, and the tenth is from 8 to 512 bytes; within
// each range the logarithm of the size is uniform:
//
//     phase    small        large         small
//     bytes    8 to 64      64 to 512     8 to 64
//
// There are as many tables as threads. After each of kSlices slices of its operations a thread goes on with the next
// table, so with two threads or more it frees blocks that other threads have made. The threads write the first eight
// bytes of each block, and check them before they free it.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/config/config.h"
#include "harness/host/malloc_library.h"
#include "harness/result/build_info.h"
#include "src/base/error.h"
#include "src/base/printable.h"
#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/machine/native.h"
#include "src/memory/memory.h"
#include "src/memory/page_source.h"
#include "src/memory/pool_lease.h"
#include "src/memory/slab_merger.h"
#include "src/memory/slabs.h"

namespace latchlab {
namespace {

using Json = nlohmann::ordered_json;
using Seconds = std::chrono::duration<double>;

constexpr u32 kSlices = 60, kPhases = 3;
constexpr u64 kLeast = 8, kMost = 512;

/// An array on pages of its own, which leaves malloc as it was.
template <class T>
class Mapped {
 public:
  explicit Mapped(u64 size) : bytes_((size * sizeof(T) + kSmallPageBytes - 1) / kSmallPageBytes * kSmallPageBytes) {
    at_ = static_cast<T*>(system_pages().map(bytes_, false, {}).start);
    if (at_ == nullptr) throw std::bad_alloc();
    system_pages().populate(at_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { system_pages().unmap(at_, bytes_); }
  T& operator[](u64 i) const { return at_[i]; }

 private:
  u64 bytes_;
  T* at_;
};

/// An operation: the allocation of a block for a place of the table, or the free of the block there.
struct Operation {
  u32 allocates : 1, bytes_less_one : 9, place : 22;
};
static_assert(sizeof(Operation) == 4);
constexpr u64 kPlaces = u64{1} << 22;
constexpr u32 kPlaceMask = (1u << 22) - 1;

u64 size_of_range(Rng& random, double least, double most) {
  return static_cast<u64>(std::lround(std::exp2(std::log2(least) + unit(random()) * std::log2(most / least))));
}
u64 size_of_phase(Rng& random, u32 phase) {
  if (random.below(10) == 0) return size_of_range(random, kLeast, kMost);
  return phase == 1 ? size_of_range(random, 64, kMost) : size_of_range(random, kLeast, 64);
}

/// A table of blocks and the operations on it.
class Trace {
 public:
  /// Makes a trace of `operations`, a multiple of kSlices, with up to `live` bytes in blocks.
  Trace(u64 seed, u64 operations, u64 live)
      : operations_(operations), of_slice_(operations / kSlices), blocks_(kPlaces) {
    struct Live {
      u32 place, bytes;
    };
    const Mapped<Live> all(kPlaces);
    const Mapped<u32> free(kPlaces);
    for (u32 i = 0; i < kPlaces; ++i) free[i] = static_cast<u32>(kPlaces) - 1 - i;
    Rng random(seed);
    u64 bytes = 0, count = 0, next = size_of_phase(random, 0);
    for (u64 i = 0; i < operations; ++i) {
      if (i != 0 && i % of_slice_ == 0) live_after_[i / of_slice_ - 1] = bytes;
      if (bytes + next <= live && count != kPlaces) {
        const u32 place = free[kPlaces - 1 - count];
        operations_[i] = {
            .allocates = 1, .bytes_less_one = static_cast<u32>(next - 1) & 511, .place = place & kPlaceMask};
        all[count++] = {place, static_cast<u32>(next)};
        bytes += next;
        next = size_of_phase(random, static_cast<u32>(i / of_slice_ * kPhases / kSlices));
      } else {
        Live& gone = all[random.below(count)];
        operations_[i] = {.allocates = 0, .bytes_less_one = (gone.bytes - 1) & 511, .place = gone.place & kPlaceMask};
        bytes -= gone.bytes;
        gone.bytes = all[--count].bytes;
        free[kPlaces - 1 - count] = std::exchange(gone.place, all[count].place);
      }
    }
    live_after_[kSlices - 1] = bytes;
  }

  u64 live_after(u32 slice) const { return live_after_[slice]; }

  /// Runs a slice. Returns false if a block does not hold what was written, or memory is out.
  template <class Thread>
  [[nodiscard]] bool run(u32 slice, Thread& allocator) const {
    bool right = true;
    const Operation* const end = &operations_[0] + (slice + 1) * of_slice_;
    for (const Operation* at = end - of_slice_; at != end; ++at) {
      u64*& block = blocks_[at->place];
      if (at->allocates != 0) {
        block = static_cast<u64*>(allocator.allocate(at->bytes_less_one + 1));
        if (block == nullptr) return false;
        *block = at->place;
      } else {
        right = right && *block == at->place;
        allocator.free(block, at->bytes_less_one + 1);
      }
    }
    return right;
  }

 private:
  const Mapped<Operation> operations_;
  const u64 of_slice_;
  const Mapped<u64*> blocks_;
  std::array<u64, kSlices> live_after_{};
};

const MemoryConfig kMemory{.alloc = MemoryConfig::Alloc::kArena};  // a page is touched when it is used

struct OfSlabs {
  Slabs<Native> slabs{kMemory};
  SlabMerger<Native> merger{slabs};

  struct Thread {
    explicit Thread(OfSlabs& of) : cache(of.slabs) {}
    void* allocate(u64 bytes) { return cache.allocate(bytes); }
    void free(void* block, u64 bytes) { cache.free(block, bytes); }
    std::optional<SlabCounts> counts() const { return cache.counts(); }
    SlabCache<Native> cache;
  };
  std::optional<u64> merges() const { return slabs.merges(); }
};

struct OfPool {
  Memory<Native> memory{kMemory, Sharing()};

  struct Thread {
    explicit Thread(OfPool& of) : pool(of.memory) {}
    void* allocate(u64 bytes) {
      pool->balance();
      return pool->allocate(bytes);
    }
    void free(void* block, u64 bytes) {
      pool->balance();
      pool->free(block, bytes);
    }
    static std::optional<SlabCounts> counts() { return {}; }
    PoolLease<Native> pool;
  };
  static std::optional<u64> merges() { return {}; }
};

struct OfMalloc {
  struct Thread {
    explicit Thread(OfMalloc&) {}
    static void* allocate(u64 bytes) { return std::malloc(bytes); }
    static void free(void* block, u64) { std::free(block); }
    static std::optional<SlabCounts> counts() { return {}; }
  };
  static std::optional<u64> merges() { return {}; }
};

/// Returns the bytes of this process that are in memory.
u64 resident_bytes() {
  std::array<char, 128> text{};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t size = read(file, text.data(), text.size() - 1);
  close(file);
  u64 all = 0, resident = 0;
  if (size <= 0 || std::sscanf(text.data(), "%lu %lu", &all, &resident) != 2)
    throw std::runtime_error("/proc/self/statm cannot be read");
  return resident * kSmallPageBytes;
}

/// Returns the processor time of this thread in seconds. Unlike that of a clock, it leaves out other programs.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct TraceOptions {
  u64 threads, operations, live, seed;
};

template <class Allocator>
Json run_trace(const TraceOptions& options) {
  std::vector<std::unique_ptr<Trace>> traces;
  const u64 operations = options.operations / options.threads / kSlices * kSlices;
  for (u64 t = 0; t < options.threads; ++t)
    traces.push_back(std::make_unique<Trace>(options.seed * 64 + t, operations, options.live / options.threads));

  struct alignas(kFalseSharingBytes) Part {
    double wall = 0, busy = 0;  // seconds
    bool right = true;
    std::optional<SlabCounts> counts;
  };
  std::vector<Part> parts(options.threads);
  std::array<u64, kSlices> resident{};
  u32 slice = 0;  // the barrier's last thread changes it while all wait
  std::barrier meeting(static_cast<std::ptrdiff_t>(options.threads),
                       [&]() noexcept { resident[slice++] = resident_bytes(); });
  Allocator allocator;
  const u64 before = resident_bytes();
  std::vector<std::jthread> team;
  for (u64 t = 0; t < options.threads; ++t) {
    team.emplace_back([&, t] {
      typename Allocator::Thread thread(allocator);
      Part& part = parts[t];
      for (u32 now = 0; now < kSlices; ++now) {
        const double busy = thread_seconds();
        const auto begin = std::chrono::steady_clock::now();
        part.right = part.right && traces[(t + now) % options.threads]->run(now, thread);
        part.wall += Seconds(std::chrono::steady_clock::now() - begin).count();
        part.busy += thread_seconds() - busy;
        meeting.arrive_and_wait();
      }
      part.counts = thread.counts();
    });
  }
  team.clear();

  Json out;
  double wall = 0, busy = 0;
  std::optional<SlabCounts> counts;
  for (const Part& part : parts) {
    if (!part.right) throw std::runtime_error("a block does not hold what was written to it, or memory is out");
    wall += part.wall;
    busy += part.busy;
    if (!part.counts) continue;
    if (!counts) counts.emplace();
    for (const auto& field : SlabCounts::fields()) *counts.*field.member += *part.counts.*field.member;
  }
  const double all = static_cast<double>(operations * options.threads);
  out["ns"] = wall * 1e9 / all;
  out["busy_ns"] = busy * 1e9 / all;
  for (const auto& field : SlabCounts::fields()) {
    if (field.member != &SlabCounts::merges) out[field.name] = counts ? Json(*counts.*field.member) : Json();
  }
  const auto merges = allocator.merges();
  out["merges"] = merges ? Json(*merges) : Json();
  u32 peak = 0;
  const auto held_over_live = [&](u32 at) {
    u64 live = 0;
    for (const auto& trace : traces) live += trace->live_after(at);
    return static_cast<double>(resident[at] - before) / static_cast<double>(live);
  };
  for (u32 at = 0; at < kSlices; ++at) {
    if (resident[at] > resident[peak]) peak = at;
  }
  out["held_at_peak"] = held_over_live(peak);
  for (u32 phase = 0; phase < kPhases; ++phase)
    out[std::string("held_") + std::array{"small", "large", "again"}[phase]] =
        held_over_live((phase + 1) * kSlices / kPhases - 1);
  return out;
}

/// Times one merge of the given share of all slots, in random order, by the thread's processor time.
Json run_merge(u64 slots, double share, u64 seed) {
  Slabs<Native> slabs(kMemory, slots * slab::kUnitBytes);
  SlabCounts counts;
  const Mapped<u32> entries(slots);
  u64 size = 0;
  for (u64 got = 1; got != 0 && size + Slabs<Native>::kMoved <= slots; size += got)
    got = slabs.take(0, std::span(&entries[size], Slabs<Native>::kMoved), counts);
  Rng random(seed);
  for (u64 i = size; i > 1; --i) std::swap(entries[i - 1], entries[random.below(i)]);
  const u64 given = static_cast<u64>(share * static_cast<double>(size));
  for (u64 at = 0; at < given; at += Slabs<Native>::kMoved)
    slabs.give(0, std::span(&entries[at], std::min<u64>(Slabs<Native>::kMoved, given - at)), counts);
  const double begin = thread_seconds();
  const auto merged = slabs.merge();
  const double time = thread_seconds() - begin;
  return {{"slots", merged.entries}, {"joins", merged.joins}, {"slots_s", static_cast<double>(merged.entries) / time}};
}

Json run(const Spec& spec, const std::vector<std::string>& command_line) {
  if (spec.name == "merge") {
    SpecReader reader(spec, "merge");
    const u64 slots = reader.number("slots", 16 << 20, 1 << 14, slab::kMostUnits);
    const double share = reader.real("free", 1, 0, 1);
    const u64 seed = reader.number("seed", 1, 0, ~u64{0} >> 8);
    reader.finish();
    std::array<Json, 3> merges;
    for (Json& merge : merges) merge = run_merge(slots, share, seed);
    std::ranges::sort(merges, {}, [](const Json& merge) { return merge["slots_s"].get<double>(); });
    return merges[1];  // The first one may wait for pages.
  }
  if (spec.name != "replay") throw InputError("'" + spec.name + "' is neither replay nor merge");
  SpecReader reader(spec, "replay");
  const std::vector<std::string> words{"slabs", "pool", "malloc", "tcmalloc", "jemalloc", "mimalloc", "tbb"};
  const std::string& alloc = words[reader.one_of("alloc", 0, words)];
  TraceOptions options{};
  options.threads = reader.number("threads", 1, 1, 64);
  options.operations = reader.number("ops", 60'000'000, u64{kSlices} * 64, u64{1} << 40);
  options.live = reader.number("live", 64 << 20, 64 * kMost, u64{1} << 40);
  options.seed = reader.number("seed", 1, 0, ~u64{0} >> 8);
  reader.finish();
  if (alloc == "slabs") return run_trace<OfSlabs>(options);
  if (alloc == "pool") return run_trace<OfPool>(options);
  serve_malloc_by(value_of_word<Alloc>(alloc).value(), command_line);
  return run_trace<OfMalloc>(options);
}

}  // namespace
}  // namespace latchlab

int main(int argc, char** argv) {
  using namespace latchlab;
  try {
    if (argc != 2) throw InputError("the usage is slab_trace replay:OPTIONS or slab_trace merge:OPTIONS");
    Json out = run(Spec::parse(argv[1]), {argv, argv + argc});
    const BuildInfo build = build_info();
    out["malloc"] = malloc_server().version;
    out["build"] = {{"commit", build.commit}, {"dirty", build.dirty}};
    std::printf("%s\n", out.dump().c_str());
    return 0;
  } catch (const InputError& error) {
    std::fprintf(stderr, "slab_trace: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slab_trace: %s\n", printable(error.what()).c_str());
    return 1;
  }
}
