#pragma once
// `latch-hybrid:K`: olc whose reading operations latch what they read after K restarts (Böttcher, Leis, Giceva,
// Neumann, Kemper, DaMoN 2020). So a scan beside many writers ends, and all others still write nothing.
//
// An attempt that shares takes the latch of each node that it enters, and keeps it until it ends. So nothing that it
// has read changes, and no step fails. (A reader of the root may find another root; it tries again.) It keeps at most
// kMostShares latches and then gives up the oldest first: validation by version holds without them.
//
// A reader that shares waits only for a node that a writer has locked. Where 255 others share a node, it reads the
// version and shares nothing. A writer never waits while it holds a lock: if it wants a shared node, it restarts. So
// there is no deadlock. Writers may starve where readers share without pause.
//
// Paper: J. Böttcher, V. Leis, J. Giceva, T. Neumann, A. Kemper. Scalable and robust latches for database systems.
// DaMoN 2020. Its latches also park waiting threads in a side table; here a wait is the machine's.
#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/spec.h"
#include "sync/layout.h"
#include "sync/optimistic.h"
#include "sync/shared_latch.h"

namespace latchlab {

struct LatchHybridOptions {
  u64 restarts = 3;  ///< the number after the colon, 0 to 1,000: restarts after which a reading attempt shares latches

  /// Parses a spec. Throws InputError for a number out of range, or for an option.
  static LatchHybridOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

template <class M, class SeededBugs>
struct SharedLayout : VersionedLayout<M, SeededBugs> {
  using Latch = SharedLatch<M>;
  using Word = WordBesideLatch<SharedLatch<M>, typename M::template Racy<u64>>;
};

/// The place of latches that optimistic readers do not share.
template <class M>
struct SharedLatchInNode : LatchInNode<M> {
  template <class N>
  static SharedLatch<M>& of(N* node) {
    return LatchInNode<M>::of(node);
  }
};

/// The latches that an attempt shares, up to kMostShares.
template <class M, class Bugs>
class Shares {
 public:
  static constexpr u32 kMostShares = 32;

  Shares() = default;
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;
  ~Shares() {
    if (Bugs::kKeepShares) return;
    for (u32 i = 0; i < std::min(taken_, kMostShares); ++i) shared_[i]->unlock_shared();
  }

  /// Shares a latch unless it is shared already, and returns its version.
  u64 share(SharedLatch<M>& latch) {
    for (u32 i = 0; i < std::min(taken_, kMostShares); ++i) {
      if (shared_[i] == &latch) return latch.version();
    }
    bool shared;
    const u64 version = latch.lock_shared(shared);
    if (!shared) return version;
    SharedLatch<M>*& place = shared_[taken_ % kMostShares];
    if (taken_++ >= kMostShares) place->unlock_shared();
    place = &latch;
    return version;
  }

 private:
  SharedLatch<M>* shared_[kMostShares];
  u32 taken_ = 0;
};

/// The place of latches that an attempt shares as it reads their versions.
template <class M, class Bugs>
class SharesInNode {
 public:
  static constexpr bool kTagged = true;
  using Lock = VersionLock<M>;
  using Queue = NoQueue;

  SharesInNode() = default;
  explicit SharesInNode(Shares<M, Bugs>& shares) : shares_(&shares) {}

  /// A latch, which is shared when its version is read.
  class Latch {
   public:
    Latch(SharedLatch<M>& latch, Shares<M, Bugs>& shares) : latch_(latch), shares_(shares) {}
    u64 version() const { return shares_.share(latch_); }
    u64 word() const { return version(); }
    bool unchanged(u64 version) const { return latch_.unchanged(version); }
    static u8 tag(u64 version) { return SharedLatch<M>::tag(version); }
    static bool locked(u64 version) { return SharedLatch<M>::locked(version); }

   private:
    SharedLatch<M>& latch_;
    Shares<M, Bugs>& shares_;
  };
  template <class N>
  Latch of(N* node) const {
    return Latch(SharedLatchInNode<M>::of(node), *shares_);
  }

 private:
  Shares<M, Bugs>* shares_ = nullptr;
};

template <class M, class Bugs = NoBugs>
class LatchHybrid : public Optimistic<SharedLayout<M, Bugs>, SharedLatchInNode<M>> {
  using Base = Optimistic<SharedLayout<M, Bugs>, SharedLatchInNode<M>>;

 public:
  static constexpr std::string_view kName = "latch-hybrid";
  static constexpr std::string_view kAbout = "olc whose readers share the latches after some restarts";
  using Options = LatchHybridOptions;

  struct Counters : Base::Counters {
    u64 shared_reads = 0;  ///< attempts of reading bodies that shared latches

    static constexpr auto fields() {
      using Field = CounterField<Counters>;
      return std::array{Field{"read_restarts", &Counters::read_restarts},
                        Field{"write_restarts", &Counters::write_restarts},
                        Field{"shared_reads", &Counters::shared_reads}};
    }
  };

  explicit LatchHybrid(const Options& options) : most_restarts_(options.restarts) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, const Body& body) {
    return me.reclaim.decide([&](const auto& reclaim) __attribute__((always_inline)) {
      reclaim.enter();
      std::optional<Failure> failure;
      if (most_restarts_ != 0) [[likely]] {
        auto attempt = this->run_once(body, [&] { return typename Base::Tx(*me.pool); });
        if (attempt) [[likely]] {
          reclaim.leave();
          return *std::move(attempt);
        }
        failure = attempt.failure();
      }
      return read_again(me, body, failure);
    });
  }

 private:
  template <class Me, class Body>
  [[gnu::noinline]] auto read_again(Me& me, const Body body, std::optional<Failure> failure) {
    for (u64 restarts = 0;; ++restarts) {
      if (failure) this->give_up(me, *failure, me.counters.read_restarts, static_cast<u32>(restarts));
      auto attempt = restarts + 1 < most_restarts_ ? this->run_once(body, [&] { return typename Base::Tx(*me.pool); })
                                                   : run_shared(me, body);
      if (attempt) {
        me.reclaim.leave();
        return *std::move(attempt);
      }
      failure = attempt.failure();
    }
  }
  template <class Me, class Body>
  static auto run_shared(Me& me, const Body& body) {
    using SharedTx = VersionedTx<M, Bugs, SharesInNode<M, Bugs>>;
    ++me.counters.shared_reads;
    Shares<M, Bugs> shares;
    if constexpr (std::invocable<const Body&, SharedTx&>) {
      return Base::run_once(body, [&] { return SharedTx(*me.pool, SharesInNode<M, Bugs>(shares)); });
    } else {
      return Base::run_once(body, [&] { return typename Base::Tx(*me.pool); });
    }
  }

  const u64 most_restarts_;
};

}  // namespace latchlab
