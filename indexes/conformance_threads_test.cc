// Every pair of this build under four threads that work on neighbouring keys, so that they meet in the same
// nodes.
//
// A key belongs to one thread, which alone changes it and so knows every answer about it exactly, scans
// included. About other threads' keys it knows less, but enough: a value tells which key it belongs to, what
// is never erased is always found, scans are in order. At the end the index must hold what the owners hold
// together, and give all memory back.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "indexes/any_index.h"
#include "indexes/pairs_test.h"
#include "src/arch/sanitizer.h"
#include "src/base/hash.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"
#include "src/testing/oracle.h"

namespace latchlab::testing {
namespace {

constexpr u32 kThreads = 4;

/// Of each thread. Fewer where threads queue for the lock: then all wait whenever the next in the queue has no processor.
u32 operations_under(const std::string& policy) {
  return (kSanitized ? 8000 : 80'000) / (policy == "ticket" || policy == "mcs" ? 4 : 1);
}

/// The upper half of a value says whose it is.
u64 tagged(std::string_view key, u64 version) { return hash_bytes(key, 7) << 32 | (version & 0xffffffff); }
bool belongs(std::string_view key, u64 value) { return (value ^ tagged(key, 0)) >> 32 == 0; }

/// Key i belongs to thread i % kThreads; of each thread every eighth key is never erased.
struct Keys {
  std::vector<std::string> all;   // sorted
  u32 owner(std::size_t i) const { return static_cast<u32>(i % kThreads); }
  bool stays(std::size_t i) const { return i / kThreads % 8 == 0; }
};

Keys keys_for(KeyKind kind) {
  Keys keys;
  Rng rng(test_seed());
  for (const KeyPattern& pattern : patterns_of(kind)) {
    // Of each pattern a part, so that all shapes are there and threads still meet.
    for (const std::string& key : pattern.keys) {
      if (rng.below(4) == 0 && key.size() < 1000) keys.all.push_back(key);
    }
  }
  std::sort(keys.all.begin(), keys.all.end());
  keys.all.erase(std::unique(keys.all.begin(), keys.all.end()), keys.all.end());
  return keys;
}

class Worker {
 public:
  Worker(AnyIndex& index, const Keys& keys, u32 id, bool erases, u32 operations)
      : index_(index), keys_(keys), id_(id), erases_(erases), operations_(operations), rng_(test_seed() + 1000 * (id + 1)) {}

  /// What stays is there before anybody starts.
  void load() {
    const auto session = index_.join();
    for (std::size_t i = id_; i < keys_.all.size(); i += kThreads) {
      if (keys_.stays(i)) put(*session, i);
    }
  }

  void work(bool writes) {
    const auto session = index_.join();
    for (u32 i = 0; i < operations_ && complaint.empty(); ++i) {
      const std::size_t any = rng_.below(keys_.all.size());
      const std::size_t mine = std::min(any / kThreads * kThreads + id_, last_of_mine());
      const u64 ticket = rng_.below(100);
      if (ticket < 60 && writes) {
        change(*session, mine, i / (operations_ / 4) % 2 == 0);
      } else if (ticket < 70) {
        find_mine(*session, mine);
      } else if (ticket < 95 || !index_.ordered()) {
        find_any(*session, any);
      } else {
        scan(*session, any);
      }
    }
    if (complaint.empty()) complaint = session->inconsistency();
  }

  std::string complaint;
  std::map<std::string, u64> model;   // what of mine is there

 private:
  std::size_t last_of_mine() const { return (keys_.all.size() - 1 - id_) / kThreads * kThreads + id_; }

  void put(AnyIndex::Session& session, std::size_t i) {
    const std::string& key = keys_.all[i];
    const u64 value = tagged(key, ++version_);
    const bool fresh = model.insert_or_assign(key, value).second;
    note(session.upsert(key, value) == fresh, "upsert", key);
  }

  void change(AnyIndex::Session& session, std::size_t i, bool growing) {
    const std::string& key = keys_.all[i];
    const auto at = model.find(key);
    const bool there = at != model.end();
    const u64 value = tagged(key, ++version_);
    const u64 ticket = rng_.below(10);
    if (ticket < 2) {
      put(session, i);
    } else if (ticket < 4) {
      note(session.update(key, value) == there, "update", key);
      if (there) at->second = value;
    } else if (ticket < (growing ? 8 : 5) || keys_.stays(i) || !erases_) {
      note(session.insert(key, value) == !there, "insert", key);
      if (!there) model.emplace(key, value);
    } else {
      note(session.erase(key) == there, "erase", key);
      if (there) model.erase(at);
    }
  }

  void find_mine(AnyIndex::Session& session, std::size_t i) {
    const std::string& key = keys_.all[i];
    const auto at = model.find(key);
    const auto found = session.find(key);
    note(found == (at == model.end() ? std::nullopt : std::optional(at->second)), "find of an own key", key);
  }

  void find_any(AnyIndex::Session& session, std::size_t i) {
    const std::string& key = keys_.all[i];
    const auto found = session.find(key);
    if (found) note(belongs(key, *found), "find: another key's value", key);
    if (keys_.stays(i)) note(found.has_value(), "find missed a key that stays", key);
  }

  void scan(AnyIndex::Session& session, std::size_t from) {
    const std::size_t limit = 1 + rng_.below(100);
    std::size_t next = from, seen = 0;   // the first key that has not been accounted for
    const auto skip_to = [&](std::size_t end) {
      for (; next < end; ++next) {
        const bool missed =
            keys_.stays(next) || (keys_.owner(next) == id_ && model.contains(keys_.all[next]));
        note(!missed, "scan missed", keys_.all[next]);
      }
    };
    const std::size_t counted = session.scan(keys_.all[from], limit, [&](std::string_view key, u64 value) {
      ++seen;
      const auto at =
          std::lower_bound(keys_.all.begin() + static_cast<std::ptrdiff_t>(next), keys_.all.end(), key);
      if (at == keys_.all.end() || *at != key)
        return note(false, "scan out of order, or a key that nobody inserted", key);
      const std::size_t i = static_cast<std::size_t>(at - keys_.all.begin());
      skip_to(i);
      next = i + 1;
      note(belongs(key, value), "scan: another key's value", key);
      if (keys_.owner(i) != id_) return;
      const auto mine = model.find(*at);
      note(mine != model.end() && mine->second == value, "scan of an own key", key);
    });
    note(counted == seen && seen <= limit, "scan's count", keys_.all[from]);
    if (seen < limit) skip_to(keys_.all.size());
  }

  void note(bool right, const char* what, std::string_view key) {
    if (!right && complaint.empty())
      complaint = std::string(what) + " " + shown(key) + ", thread " + std::to_string(id_);
  }

  AnyIndex& index_;
  const Keys& keys_;
  const u32 id_;
  const bool erases_;
  const u32 operations_;
  Rng rng_;
  u64 version_ = 0;
};

void check_threads(const Pair& pair, const Keys& keys) {
  const auto index = pair.make_index(Spec::parse(pair.policy), {}, Spec::parse(pair.index));
  const u64 empty = index->bytes().live;
  const bool erases = pair.no_erase.empty();
  std::vector<std::unique_ptr<Worker>> workers;
  for (u32 id = 0; id < kThreads; ++id) {
    workers.push_back(std::make_unique<Worker>(*index, keys, id, erases, operations_under(pair.policy)));
  }
  for (const auto& worker : workers) worker->load();

  const auto run = [&](auto&& does) {
    std::vector<std::thread> threads;
    std::atomic<u32> ready{0};
    for (u32 id = 0; id < kThreads; ++id) {
      threads.emplace_back([&, id] {
        ready.fetch_add(1);
        while (ready.load() < kThreads) std::this_thread::yield();
        does(id);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  if (pair.many_writers) {
    run([&](u32 id) { workers[id]->work(true); });
  } else {
    for (const auto& worker : workers) std::thread([&] { worker->work(true); }).join();
    if (!pair.learns) run([&](u32 id) { workers[id]->work(false); });
  }

  std::map<std::string, u64> wanted, seen;
  for (const auto& worker : workers) {
    CHECK(worker->complaint == "");
    wanted.insert(worker->model.begin(), worker->model.end());
  }
  {
    const auto session = index->join();
    session->for_each([&](std::string_view key, u64 value) { seen.emplace(key, value); });
    CHECK(seen.size() == wanted.size());
    CHECK((seen == wanted));
    bool erased = true;
    for (const auto& [key, value] : wanted) erased = (!erases || session->erase(key)) && erased;
    CHECK(erased);
  }
  if (pair.own_memory.empty()) CHECK(index->bytes().live - index->bytes().room == empty);
}

void check_pairs(KeyKind kind) {
  static const Keys of_numbers = keys_for(KeyKind::kU64), of_strings = keys_for(KeyKind::kBytes);
  const Keys& keys = kind == KeyKind::kU64 ? of_numbers : of_strings;
  for (const Pair& pair : kept_pairs()) {
    if (pair.keys != kind) continue;
    DYNAMIC_SECTION(pair.index << ":" << pair.policy << ":" << word(kind)) { check_threads(pair, keys); }
  }
}

TEST_CASE("Conformance: four threads on every index of numbers", "[threads]") { check_pairs(KeyKind::kU64); }

TEST_CASE("Conformance: four threads on every index of strings", "[threads]") { check_pairs(KeyKind::kBytes); }

}  // namespace
}  // namespace latchlab::testing
