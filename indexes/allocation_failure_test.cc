// Tests with memory that ends at the n-th allocation of an operation, for every n until the operation succeeds. Until
// then it must throw std::bad_alloc, change nothing, leak nothing and leave nothing locked. Other tests do so for
// batches of modifications (modify_batch_test.cc), sized values (sized_failure_test.cc) and walks without heap
// (walk_failure_test.cc).
//
// Keys that fan out, split and merge force every change of a node's shape, up and down (src/testing/key_patterns.h).
// Besides the pairs of this build, rtm and hybrid run on the emulated machine, so that failures happen in transactions
// too.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "indexes/erased_testing.h"
#include "indexes/art/art.h"
#include "indexes/pairs_test.h"
#include "indexes/starving_test.h"
#include "src/arch/sanitizer.h"
#include "src/base/hash.h"
#include "src/machine/emulated.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"
#include "src/testing/oracle.h"
#include "sync/hybrid.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

using Model = std::map<std::string, u64>;
using Alloc = MemoryConfig::Alloc;
using Operation = std::function<bool(StringSession&)>;

constexpr Reclaim kReclaims[] = {Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak};

struct Subject {
  std::string name;
  bool numbers;
  std::function<std::unique_ptr<Erased>(const MemoryConfig&)> make;
};

/// Returns all indexes that take their memory from pools: all except peers.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Pair& pair : kept_pairs()) {
    // Several replicas would end the process (sync/nr.h).
    const Spec spec = Spec::parse(pair.policy == "nr" ? "nr:1" : pair.policy);
    if (!pair.own_memory.empty()) continue;
    // Each partition takes chunks of its own. Two of them leave room for keys under a limit.
    const std::string index_spec = pair.index.ends_with("_parts") ? pair.index + ":2" : pair.index;
    all.push_back({pair.index + ":" + pair.policy + ":" + std::string(word(pair.keys)), pair.keys == KeyKind::kU64,
                   [make = pair.make_index, spec, index = Spec::parse(index_spec)](const MemoryConfig& memory) {
                     return make(spec, memory, index);
                   }});
  }
  const Spec rtm = Spec::parse("rtm:2"), hybrid = Spec::parse("hybrid:2");
  all.push_back({"art:rtm:u64 on emulated", true, [rtm](const MemoryConfig& memory) -> std::unique_ptr<Erased> {
                   return std::make_unique<ErasedOf<Synchronized<Art, Rtm<Emulated>, U64Key>>>(rtm, memory,
                                                                                               Spec::parse("art"));
                 }});
  all.push_back({"art:rtm:bytes on emulated", false, [rtm](const MemoryConfig& memory) -> std::unique_ptr<Erased> {
                   return std::make_unique<ErasedOf<Synchronized<Art, Rtm<Emulated>, BytesKey>>>(rtm, memory,
                                                                                                 Spec::parse("art"));
                 }});
  all.push_back({"art:hybrid:u64 on emulated", true, [hybrid](const MemoryConfig& memory) -> std::unique_ptr<Erased> {
                   return std::make_unique<ErasedOf<Synchronized<Art, Hybrid<Emulated>, U64Key>>>(hybrid, memory,
                                                                                                  Spec::parse("art"));
                 }});
  return all;
}

/// Returns the kinds of allocation to test. Under a sanitizer only malloc: then every block is a call that can fail and
/// that the sanitizer watches.
std::vector<Alloc> allocs() {
  if (kSanitized) return {Alloc::kMalloc};
  return {Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch};
}

/// The circumstances under which memory ends.
struct Shortage {
  Alloc alloc;
  Reclaim reclaim = Reclaim::kEpoch;
  /// True if another thread has looked a key up and then pauses. Under qsbr all retired blocks wait for it.
  bool quiet = false;

  std::string name() const {
    return std::string(word(alloc)) + ", " + std::string(word(reclaim)) + (quiet ? ", a quiet thread" : "");
  }
};

/// An index that runs out of memory, and a twin that never does.
class Starved {
 public:
  Starved(const Subject& subject, const Shortage& shortage)
      : limit_(u64{1} << 40),  // for its count of bytes
        index_(subject.make({.alloc = shortage.alloc, .reclaim = shortage.reclaim, .limit = limit_, .fail = &plan_})),
        twin_(subject.make({.alloc = shortage.alloc, .reclaim = shortage.reclaim})),
        session_(another()),
        twin_session_(std::make_unique<StringSession>(*twin_)) {
    if (!shortage.quiet) return;
    quiet_ = another();
    CHECK_FALSE(quiet_->find(number_key(0)));
  }

  /// Runs `operation` with the n-th allocation failing, n = 1, 2, 3, ... until it is done. It must return true, for the
  /// twin too.
  void until_done(const std::string& what, FailurePlan::Then then, const Operation& operation) {
    INFO(what);
    const Starving starving{plan_, [this] { return live_apart_from_room(); }, [this] { return contents() == model; }};
    failures += starve_until_done(starving, then, [&] { return operation(*session_); });
    if (!operation(*twin_session_)) FAIL("the operation returned the wrong answer");
    // Growth that failed must not take buckets again.
    if (index_->bytes().room > twin_->bytes().room)
      FAIL("the table has " << index_->bytes().room << " bytes, and " << twin_->bytes().room << " are enough");
  }

  /// Returns all pairs, as a walk sees them. A walk takes no memory of the index.
  Model contents() {
    Model seen;
    session_->for_each([&](std::string_view key, u64 value) { seen.emplace(key, value); });
    return seen;
  }
  StringSession& session() { return *session_; }
  std::unique_ptr<StringSession> another() { return std::make_unique<StringSession>(*index_); }
  FailurePlan& plan() { return plan_; }
  /// Ends the sessions, so that nothing waits to be freed. Returns the live bytes that are not the table's own.
  u64 live_after_all() {
    quiet_.reset();
    session_.reset();
    index_->join();
    return live_apart_from_room();
  }
  /// Ends the index, after its sessions. Returns the bytes that it has not given back.
  u64 charged_after_end() {
    index_.reset();
    return limit_.charged();
  }

  /// Returns the live bytes without those of a table's buckets: a put may grow the table and then fail.
  u64 live_apart_from_room() const { return index_->bytes().live - index_->bytes().room; }

  Model model;
  u64 failures = 0;

 private:
  FailurePlan plan_;
  const MemoryBudget limit_;
  std::unique_ptr<Erased> index_;
  const std::unique_ptr<Erased> twin_;
  std::unique_ptr<StringSession> session_, quiet_;
  const std::unique_ptr<StringSession> twin_session_;
};

/// Tries the operations that read. They need no memory of the index: one that learns from lookups then learns nothing.
void starve_reads(Starved& index, const std::string& key) {
  index.plan().arm(1, FailurePlan::Then::kForEver);
  CHECK(index.session().find(key) == Found(index.model.at(key)));
  CHECK((index.contents() == index.model));
  Model scanned;
  index.session().scan("", 1000, [&](std::string_view at, u64 value) { scanned.emplace(at, value); });
  index.plan().disarm();
  CHECK((scanned.empty() || scanned == index.model));
}

/// Adds the keys by every operation that can, and then takes them away.
void starve(const Subject& subject, const Shortage& shortage, const KeyPattern& pattern) {
  INFO(subject.name << ", " << shortage.name() << ", " << pattern.name);
  Starved index(subject, shortage);
  const u64 live_before = index.live_apart_from_room();
  std::vector<std::string> keys = pattern.keys;
  if (keys.size() > 60) keys.resize(60);  // enough keys for every kind of node
  const bool modifies = index.session().modifies();
  u64 value = 0;
  // A table absorbs one refusal of the run of pages that it asks for, so a plan that fails once is the rarer one.
  const auto then = [&] { return value % 3 == 0 ? FailurePlan::Then::kOnce : FailurePlan::Then::kForEver; };
  const auto modify = [&](const std::string& what, const std::string& key, const Found& before, const Found& after) {
    index.until_done("modify to " + what + " " + shown(key), then(), [&](StringSession& me) {
      const Modified done = me.modify(key, [&](Found) { return after; });
      return done.before == before && done.after == after;
    });
  };
  for (const std::string& key : keys) {
    ++value;
    switch (value % (modifies ? 4 : 3)) {
      case 0:
        index.until_done("upsert " + shown(key), then(), [&](StringSession& me) { return me.upsert(key, value); });
        break;
      case 3: modify("insert", key, {}, value); break;
      default:
        index.until_done("insert " + shown(key), then(), [&](StringSession& me) { return me.insert(key, value); });
    }
    index.model[key] = value;
    if (value % 8 != 0) continue;
    ++value;
    index.until_done("upsert again " + shown(key), then(), [&](StringSession& me) { return !me.upsert(key, value); });
    index.model[key] = value;
    ++value;
    index.until_done("update " + shown(key), then(), [&](StringSession& me) { return me.update(key, value); });
    index.model[key] = value;
    index.until_done("refused insert", then(), [&](StringSession& me) { return !me.insert(key, 0); });
    if (modifies) {
      modify("replace", key, value, value + 1);
      index.model[key] = ++value;
      modify("leave", key, value, value);
    }
    starve_reads(index, key);
  }
  CHECK((index.contents() == index.model));
  // Some keys fit into the first node, which a large node has room for. Then no operation needs memory.
  CHECK((index.failures > 0 || index.live_apart_from_room() == live_before));
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return hash_bytes(a, 3) < hash_bytes(b, 3); });
  for (const std::string& key : keys) {
    ++value;
    if (modifies && value % 3 == 0) {
      modify("erase", key, index.model.at(key), {});
    } else {
      index.until_done("erase " + shown(key), then(), [&](StringSession& me) { return me.erase(key); });
    }
    index.model.erase(key);
  }
  CHECK(index.contents().empty());
  const u64 live = index.live_after_all();
  if (shortage.reclaim != Reclaim::kLeak) CHECK(live == 0);
  CHECK(index.charged_after_end() == 0);
}

TEST_CASE("Allocation failure: every operation succeeds or changes nothing, no matter which allocation fails",
          "[no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    const auto& patterns = patterns_of(subject.numbers ? KeyKind::kU64 : KeyKind::kBytes);
    DYNAMIC_SECTION(subject.name) {
      for (const Alloc alloc : allocs()) {
        for (const KeyPattern& pattern : patterns) starve(subject, {alloc}, pattern);
      }
    }
  }
}

TEST_CASE("Allocation failure: every operation does so under every reclaimer, beside a thread that is quiet",
          "[no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    const auto& patterns = patterns_of(subject.numbers ? KeyKind::kU64 : KeyKind::kBytes);
    DYNAMIC_SECTION(subject.name) {
      for (std::size_t r = 0; r < std::size(kReclaims); ++r) {
        for (std::size_t i = 0; i < patterns.size(); ++i) {
          // All of them would take a quarter of an hour under a sanitizer.
          if (kSanitized && i % std::size(kReclaims) != r) continue;
          starve(subject, {Alloc::kMalloc, kReclaims[r], true}, patterns[i]);
        }
      }
    }
  }
}

/// Erases all keys that it can while memory is out. Returns the number of refused keys.
u64 erase_starved(Starved& index) {
  u64 refused = 0;
  for (auto at = index.model.begin(); at != index.model.end();) {
    bool threw = false;
    index.plan().arm(1, FailurePlan::Then::kForEver);
    try {
      if (!index.session().erase(at->first)) FAIL("a key was not there");
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    index.plan().disarm();
    refused += threw;
    threw ? ++at : at = index.model.erase(at);
  }
  return refused;
}

TEST_CASE("Allocation failure: an erase succeeds or is refused while another thread has an idle session",
          "[no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const Alloc alloc : allocs()) {
        for (const Reclaim reclaim : kReclaims) {
          INFO(word(alloc) << ", " << word(reclaim));
          Starved index(subject, {alloc, reclaim});
          for (u64 i = 0; i < 2000; ++i) {
            const std::string key = number_key(i << 40);  // each in a leaf of its own
            REQUIRE(index.session().insert(key, i));
            index.model[key] = i;
          }
          auto quiet = index.another();
          CHECK(quiet->find(number_key(0)) == 0);
          (void)erase_starved(index);
          CHECK((index.contents() == index.model));
          CHECK(index.model.size() < 2000);
          quiet.reset();
          (void)erase_starved(index);
          CHECK((index.contents() == index.model));
          for (const auto& pair : std::exchange(index.model, {})) REQUIRE(index.session().erase(pair.first));
          const u64 live = index.live_after_all();
          if (reclaim != Reclaim::kLeak) CHECK(live == 0);
          CHECK(index.charged_after_end() == 0);
        }
      }
    }
  }
}

TEST_CASE("Allocation failure: an index at its memory limit continues to work", "[no-tsan]") {  // one thread
  for (const Subject& subject : subjects()) {
    DYNAMIC_SECTION(subject.name) {
      for (const Alloc alloc : allocs()) {
        INFO(word(alloc));
        const auto index = subject.make({.alloc = alloc, .limit = u64{1} << 20});
        const u64 beside = index->bytes().live;  // what is no memory of nodes
        const auto session = std::make_unique<StringSession>(*index);
        Rng rng(test_seed());
        Model model;
        const auto fill = [&] {
          try {
            for (;;) {
              const std::string key = number_key(rng());
              if (session->insert(key, model.size())) model.emplace(key, model.size());
              if (model.size() > 200'000) return false;
            }
          } catch (const std::bad_alloc&) {
            return true;
          }
        };
        REQUIRE(fill());
        CHECK(model.size() > 5000);
        CHECK(index->bytes().reserved <= (u64{1} << 20) + beside);
        // About half of the keys are erased and come again. An erase may need memory too, but most keys must be
        // erasable.
        u64 refused = 0, erased = 0;
        for (auto at = model.begin(); at != model.end();) {
          try {
            if (erased <= model.size() && session->erase(at->first)) {
              at = model.erase(at), ++erased;
              continue;
            }
          } catch (const std::bad_alloc&) {
            ++refused;
          }
          ++at;
        }
        CHECK(erased > 1000);
        CHECK(refused < erased);
        REQUIRE(fill());
        Model seen;
        session->for_each([&](std::string_view key, u64 value) { seen.emplace(key, value); });
        CHECK((seen == model));
      }
    }
  }
}

}  // namespace
}  // namespace latchlab::testing
