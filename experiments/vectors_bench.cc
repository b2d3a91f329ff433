// Measures operations on vectors, for experiments/vectors.py: one contender and one operation a run.
//
//     vectors_bench CONTENDER OPERATION BYTES TOTAL THREADS MILLISECONDS
//
// CONTENDER   map        a map whose values are vectors of f32, by its operations on vectors
//             in-place   a map under one lock whose vectors change where they lie
//             batch, in-place-batch   the same two, with updates in batches of 16 vectors
//             modify     the first map, by modify, which copies the vector twice
//             bare       the vectors in an array, changed where they lie: what the machine can do
//             bare-copy  the same, but an update writes another vector, as the map does
//             elements   a map from numbers to f32: a key for each element, in batches
// OPERATION   update (adds a number to all), each (adds a vector), mix (update and reduce in turn), reduce (sum)
// BYTES       of a vector; TOTAL: of all vectors
//
// Every thread has vectors of its own, and takes them in the same random order with every contender. It prints one JSON
// object: vectors, elements and bytes a second of processor time, vectors a second of wall time, and the kernel.
#include <latchlab/map.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <time.h>

#include "indexes/cuckoo/cuckoo.h"
#include "library/in_place.h"
#include "sync/spin.h"

namespace latchlab {
namespace {

using vectors::f32;
using vectors::f64;

enum class Contender { kMap, kInPlace, kBatch, kInPlaceBatch, kModify, kBare, kBareCopy, kElements };
enum class Operation { kUpdate, kEach, kMix, kReduce };

}  // namespace

template <>
inline constexpr std::array kWords<Contender>{"map"sv,    "in-place"sv, "batch"sv,     "in-place-batch"sv,
                                              "modify"sv, "bare"sv,     "bare-copy"sv, "elements"sv};
template <>
inline constexpr std::array kWords<Operation>{"update"sv, "each"sv, "mix"sv, "reduce"sv};

namespace {

struct Setting {
  Contender contender;
  Operation operation;
  u64 bytes, total, threads, milliseconds;

  u64 elements() const { return bytes / sizeof(f32); }
  u64 count() const { return total / bytes / threads * threads; }  ///< of vectors
};

/// Does one operation on vector `i` for each call. `deltas` has an operand for each element.
class Bare {
 public:
  explicit Bare(const Setting& setting) : copies_(setting.contender == Contender::kBareCopy) {
    for (u64 i = 0; i < setting.count(); ++i) vectors_.emplace_back(setting.elements(), f32(i));
    spare_.assign(setting.threads, std::vector<f32>(setting.elements()));
  }
  f64 update(u64 i, u64 thread, const VectorUpdate& update) {
    std::vector<f32>& vector = vectors_[i];
    std::vector<f32>& to = copies_ ? spare_[thread] : vector;
    if (apply(update, std::as_bytes(std::span(vector)), std::as_writable_bytes(std::span(to))) != VectorStatus::kDone)
      std::abort();
    if (copies_) std::swap(vector, to);
    return 0;
  }
  f64 reduce(u64 i, u64) {
    return vectors::reduce(vectors::Element::kF32, Reduction::kSum, std::as_bytes(std::span(vectors_[i])))
        .number.as<f64>();
  }

 private:
  const bool copies_;
  std::vector<std::vector<f32>> vectors_, spare_;
};

struct Replaced {
  static constexpr bool kCanModify = true;
  using Type = Map<u64, std::vector<f32>, Cuckoo>;
};
struct ChangedInPlace {
  static constexpr bool kCanModify = false;
  using Type = Map<u64, InPlace<std::vector<f32>>, Cuckoo, Spin>;
};

template <class Vectors>
class Mapped {
 public:
  explicit Mapped(const Setting& setting)
      : modifies_(setting.contender == Contender::kModify),
        batches_(setting.contender == Contender::kBatch || setting.contender == Contender::kInPlaceBatch),
        pending_(setting.threads) {
    for (u64 i = 0; i < setting.count(); ++i) map_.insert(i, std::vector<f32>(setting.elements(), f32(i)));
  }
  f64 update(u64 i, u64 thread, const VectorUpdate& update) {
    if (batches_) {
      Pending& pending = pending_[thread];
      pending.keys[pending.count++] = i;
      pending.updates.push_back(update);
      if (pending.count == kBatch) flush(pending);
      return 0;
    }
    if (!modifies_) {
      if (map_.update_vector(i, update) != VectorStatus::kDone) std::abort();
      return 0;
    }
    if constexpr (Vectors::kCanModify) {
      map_.modify(i, [&](std::optional<std::vector<f32>> value) {
        const auto bytes = std::as_writable_bytes(std::span(*value));
        if (apply(update, bytes, bytes) != VectorStatus::kDone) std::abort();
        return value;
      });
    }
    return 0;
  }
  f64 reduce(u64 i, u64) {
    const vectors::Reduced sum = map_.template reduce_vector<f32>(i, Reduction::kSum);
    return sum.number.as<f64>();
  }

 private:
  static constexpr std::size_t kBatch = 16;
  struct alignas(kFalseSharingBytes) Pending {
    std::array<u64, kBatch> keys;
    std::vector<VectorUpdate> updates;
    std::size_t count = 0;
  };
  void flush(Pending& pending) {
    std::array<VectorStatus, kBatch> statuses;
    map_.update_vector_batch(pending.keys, pending.updates, statuses);
    if (std::ranges::count(statuses, VectorStatus::kDone) != kBatch) std::abort();
    pending.updates.clear();
    pending.count = 0;
  }

  const bool modifies_, batches_;
  std::vector<Pending> pending_;
  typename Vectors::Type map_;
};

/// A key for each element.
class Elements {
 public:
  explicit Elements(const Setting& setting) : elements_(setting.elements()) {
    for (u64 i = 0; i < setting.count() * elements_; ++i) map_.insert(i, f32(i / elements_));
  }
  f64 update(u64 i, u64, const VectorUpdate& update) {
    const bool each = update.shape() == vectors::Operands::kForEach;
    in_groups(i, [&](std::span<const u64> keys, u64 first) {
      std::array<decltype(map_)::Modified, kMostInAttempt> modified;
      map_.modify_batch(keys, std::span(modified).first(keys.size()), [&](std::size_t k, std::optional<f32> value) {
        return *value + vectors::load<f32>(update.operands().data() + (each ? (first + k) * sizeof(f32) : 0));
      });
    });
    return 0;
  }
  f64 reduce(u64 i, u64) {
    f64 sum = 0;
    in_groups(i, [&](std::span<const u64> keys, u64) {
      std::array<std::optional<f32>, kMostInAttempt> found;
      map_.find_batch(keys, std::span(found).first(keys.size()));
      for (std::size_t k = 0; k < keys.size(); ++k) sum += f64{*found[k]};
    });
    return sum;
  }

 private:
  template <class Run>
  void in_groups(u64 i, const Run& run) const {
    std::array<u64, kMostInAttempt> keys;
    for (u64 first = 0; first < elements_; first += keys.size()) {
      const u64 count = std::min<u64>(keys.size(), elements_ - first);
      for (u64 k = 0; k < count; ++k) keys[k] = i * elements_ + first + k;
      run(std::span<const u64>(keys).first(count), first);
    }
  }

  const u64 elements_;
  Map<u64, f32, Cuckoo> map_;
};

struct Rate {
  u64 vectors = 0;
  double seconds = 0, processor_seconds = 0;
  f64 sum = 0;
};

/// Returns the processor time of the calling thread, in seconds.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Store>
Rate run(const Setting& setting) {
  using Clock = std::chrono::steady_clock;
  Store store(setting);
  std::atomic<u64> ready{0};
  std::atomic<bool> begun{false}, ended{false};
  std::vector<Rate> rates(setting.threads);
  const auto work = [&](u64 thread) {
    const std::vector<f32> deltas(setting.elements(), f32{.5});
    const VectorUpdate one(UpdateFunction::kAdd, f32{.5});
    const VectorUpdate each(UpdateFunction::kAdd, std::span<const f32>(deltas));
    const VectorUpdate& update = setting.operation == Operation::kEach ? each : one;
    const Draws draws(1, thread);
    const u64 own = setting.count() / setting.threads;
    u64 done = 0;
    f64 sum = 0;
    const auto do_one = [&] {
      const u64 i = bounded(draws(done), own) * setting.threads + thread;
      const bool reads = setting.operation == Operation::kReduce || (setting.operation == Operation::kMix && done % 2);
      sum += reads ? store.reduce(i, thread) : store.update(i, thread, update);
      ++done;
    };
    for (u64 i = 0; i < own; ++i) do_one();  // the memory of new blocks is there then
    ready.fetch_add(1);
    while (!begun.load()) std::this_thread::yield();
    const u64 before = done;
    const auto start = Clock::now();
    const double begin = processor_seconds();
    do {
      do_one();
    } while (!ended.load(std::memory_order_relaxed));
    rates[thread] = {done - before, std::chrono::duration<double>(Clock::now() - start).count(),
                     processor_seconds() - begin, sum};
  };
  std::vector<std::thread> threads;
  for (u64 thread = 0; thread < setting.threads; ++thread) threads.emplace_back(work, thread);
  while (ready.load() != setting.threads) std::this_thread::yield();
  begun = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(setting.milliseconds));
  ended = true;
  for (std::thread& thread : threads) thread.join();
  Rate total;
  for (const Rate& rate : rates) {
    total.vectors += rate.vectors;
    total.seconds = std::max(total.seconds, rate.seconds);
    total.processor_seconds += rate.processor_seconds / static_cast<double>(rates.size());
    total.sum += rate.sum;
  }
  return total;
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "vectors_bench: %s\n", why.c_str());
  std::exit(2);
}

u64 number_of(std::string_view text, std::string_view name) {
  u64 number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0)
    refuse(std::string(name) + ": '" + std::string(text) + "' is no number above 0");
  return number;
}

template <Worded E>
E word_of(std::string_view text) {
  if (const std::optional<E> value = value_of_word<E>(text)) return *value;
  std::string all;
  for (const std::string_view word : kWords<E>) all += " " + std::string(word);
  refuse("'" + std::string(text) + "' is none of" + all);
}

Setting setting_of(std::span<char*> words) {
  if (words.size() != 6) refuse("needs CONTENDER OPERATION BYTES TOTAL THREADS MILLISECONDS");
  const Setting setting{word_of<Contender>(words[0]),   word_of<Operation>(words[1]),
                        number_of(words[2], "BYTES"),   number_of(words[3], "TOTAL"),
                        number_of(words[4], "THREADS"), number_of(words[5], "MILLISECONDS")};
  if (setting.bytes % sizeof(f32) != 0) refuse("BYTES: is no whole number of elements of 4 bytes");
  if (setting.count() == 0) refuse("TOTAL: has no room for a vector for each thread");
  return setting;
}

int measure(const Setting& setting) {
  const bool bare = setting.contender == Contender::kBare || setting.contender == Contender::kBareCopy;
  const bool in_place = setting.contender == Contender::kInPlace || setting.contender == Contender::kInPlaceBatch;
  const Rate rate = setting.contender == Contender::kElements ? run<Elements>(setting)
                    : bare                                    ? run<Bare>(setting)
                    : in_place                                ? run<Mapped<ChangedInPlace>>(setting)
                                                              : run<Mapped<Replaced>>(setting);
  const double vectors_s = static_cast<double>(rate.vectors) / rate.processor_seconds;
  std::printf(
      "{\"vectors_s\": %.6g, \"elements_s\": %.6g, \"bytes_s\": %.6g, \"wall_vectors_s\": %.6g, \"kernel\": "
      "\"%s\", \"sum\": %.6g}\n",
      vectors_s, vectors_s * static_cast<double>(setting.elements()), vectors_s * static_cast<double>(setting.bytes),
      static_cast<double>(rate.vectors) / rate.seconds, word(vectors::best_kernel()).data(), rate.sum);
  return 0;
}

}  // namespace
}  // namespace latchlab

int main(int count, char** words) {
  return latchlab::measure(latchlab::setting_of(std::span(words, static_cast<std::size_t>(count)).subspan(1)));
}
