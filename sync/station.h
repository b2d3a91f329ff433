#pragma once
// A reservation station: the operations of one batch, which are those of one thread, meet in a small table before they
// reach the index. Those of one key are a chain. A chain is one operation of the index: the first operation gets the
// value that is there, each later one the value that the one before has left, and the last value is written back.
//
//     batch      get a   put b 1   add a 2   get b   put c 5   get d
//     chains     a: get, add 2     b: put 1, get     c: put 5  | d: get
//     index      modify(a)         modify(b)         modify(c) | find_batch(d)
//
//   1. The operations of a chain take effect at one moment, in the order of the batch: inside one attempt of the
//      policy, or at one find. So a batch is linearizable under every policy under which modify and find are.
//   2. Chains take effect in any order. So operations of different keys in one batch are concurrent.
//   3. An operation is answered after its chain was written back. Before, another thread could still see the value from
//      before.
//
// The operations of a batch are an object that says of operation i:
//
//     key(i)               its key
//     changes(i)           whether it may change something
//     next(i, before)      the value that it leaves if the key has the value `before`; nothing: absent
//     answer(i, before)    takes the value that it has got
//
// `next` runs inside attempts (sync/change.h): it is pure, and may run more than once. Neither it nor `answer` throws.
//
// A batch costs a hash and a look at the table for each operation. What it saves is every operation but one of each
// key. It pays if many keys are equal, or if a line that many threads change moves once a batch.
//
// Source: KV-Direct (B. Li et al., SOSP 2017), whose station is in hardware: 1,024 slots, 256 operations in flight.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "src/base/batch_room.h"
#include "src/base/batching.h"
#include "src/base/hash.h"
#include "src/base/types.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/station_options.h"
#include "sync/station_seeded_bugs.h"

namespace latchlab {

/// What a station has done. Applied over issued is the share of operations that have reached the index.
struct StationCounters {
  u64 issued = 0;   ///< operations that met in the station
  u64 applied = 0;  ///< operations of the index that were made of them
};

/// The station of one thread. `Index` finds and modifies in batches (kFindsBatches, kModifiesBatches).
template <class Index, class Flag = std::false_type>
class Station {
  using Bugs = station::BugFlags<Flag>;
  using Raw = typename Index::Raw;
  using ThreadState = typename Index::ThreadState;

 public:
  static constexpr u32 kSlots = 1024;
  static constexpr u32 kMostInFlight = kMostInCall;

  explicit Station(const StationOptions& options = {}) : options_(options) {}

  const StationCounters& counters() const { return counters_; }

  /// Returns how many batches shall run elsewhere before the next one that runs here; 0: the next one runs here. That
  /// is more than 0 while an automatic station is off.
  [[nodiscard]] u32 elsewhere() {
    if (options_.mode != StationMode::kAuto || on_) return 0;
    tries_ = !tries_;
    return tries_ ? 0 : kOneIn - 1;
  }

  /// Runs a batch of up to kMostInFlight operations, and answers each once. Throws what the index throws. Then some
  /// chains have taken effect, and those among them that found or left a value are answered. Takes O(operations) beside
  /// the operations of the index.
  template <class Operations>
  void run(Index& index, ThreadState& me, std::size_t count, Operations& operations, BatchOrder order) {
    static_assert(noexcept(operations.next(std::size_t{}, Found())) &&
                  noexcept(operations.answer(std::size_t{}, Found())));
    counters_.issued += count;
    for (std::size_t first = 0; first < count;) {
      const std::size_t now = form_chains(operations, first, count);
      if (options_.mode == StationMode::kAuto) learn(now);
      Answers<Operations> answers(*this, first, now, operations);
      apply(index, me, operations, order, answers);
      answers.all_done();
      first += now;
    }
  }

 private:
  using Number = u16;  // of an operation in its batch, or of a chain
  static constexpr Number kNone = 0xffff;
  static constexpr u32 kOneIn = 256;
  // An automatic station goes on if so many operations in 256 had the key of another, and off if fewer had. On two
  // threads, cuckoo under olc, 16 M keys, a station took 1.4 times as long where 12 % had, about as long where 37 %
  // had, and a seventh where nearly all had.
  static constexpr u32 kOnFrom = 128, kOffBelow = 96;

  struct Chain {
    Number first, last;  // operations
    bool changes;        // one of them may change something
    bool done = false;   // it has taken effect
  };
  /// A value that an operation has got, in two words: g++ copies an optional by one load of 16 bytes, which waits for
  /// the stores of its parts.
  struct Got {
    Got() = default;
    explicit Got(const Found& found) : value(found.value_or(0)), there(found.has_value()) {}
    Found found() const { return there != 0 ? Found(value) : Found(); }

    u64 value, there;
  };
  struct Slot {
    u32 round = 0;  // that has used the slot
    Number chain = 0;
  };

  /// Gives the answers of a round.
  template <class Operations>
  class Answers {
   public:
    Answers(Station& station, std::size_t first, std::size_t count, Operations& operations)
        : station_(station), first_(first), count_(count), operations_(operations) {}
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;
    /// If the index has thrown, answers in the order of the batch what has been done.
    ~Answers() {
      if (all_done_ || station_.options_.order == StationOrder::kCompletion) return;
      std::array<bool, kMostInFlight> done{};
      for (std::size_t c = 0; c < station_.chains_; ++c) {
        const Chain& chain = station_.chain_[c];
        for (Number i = chain.done ? chain.first : kNone; i != kNone; i = station_.behind_[i]) done[i] = true;
      }
      for (std::size_t i = first_; i < first_ + count_; ++i) {
        if (done[i]) operations_.answer(i, station_.before_[i].found());
      }
    }
    /// Notes that a chain has taken effect.
    void done(Chain& chain) {
      if (Bugs::kAnswerEarly && chain.done) return;
      chain.done = true;
      if (station_.options_.order == StationOrder::kRequest) return;
      for (Number i = chain.first; i != kNone; i = station_.behind_[i])
        operations_.answer(i, station_.before_[i].found());
    }
    /// Notes that the round is at its end.
    void all_done() {
      all_done_ = true;
      if (station_.options_.order == StationOrder::kCompletion) return;
      for (std::size_t i = first_; i < first_ + count_; ++i) operations_.answer(i, station_.before_[i].found());
    }

   private:
    Station& station_;
    const std::size_t first_, count_;
    Operations& operations_;
    bool all_done_ = false;
  };

  static u64 hash_of(const Raw& key) {
    if constexpr (std::is_same_v<Raw, std::string_view>) {
      return hash_bytes(key, 0);
    } else {
      return mix64(key);
    }
  }

  /// Forms the chains of the operations from `first` to `end`: of all, or if they stall, of as many as have different
  /// keys. Returns how many operations those are.
  std::size_t form_chains(const auto& operations, std::size_t first, std::size_t end) {
    if (++round_ == 0) slots_.fill({}), round_ = 1;
    chains_ = 0;
    for (std::size_t i = first; i < end; ++i) {
      const Raw key = operations.key(i);
      u64 at = hash_of(key) % kSlots;
      while (slots_[at].round == round_ && (Bugs::kTwoChains || head_[slots_[at].chain] != key)) at = (at + 1) % kSlots;
      const bool joins = slots_[at].round == round_;
      if (joins && options_.mode == StationMode::kStall) return i - first;
      const auto number = static_cast<Number>(i);
      behind_[i] = kNone;
      if (joins) {
        Chain& chain = chain_[slots_[at].chain];
        behind_[chain.last] = number;
        chain.last = number;
        chain.changes |= operations.changes(i);
      } else {
        slots_[at] = {round_, static_cast<Number>(chains_)};
        head_[chains_] = key;
        chain_[chains_++] = {number, number, operations.changes(i)};
      }
    }
    return end - first;
  }

  /// Decides by the share of operations whose key another has. While the station is off, by that of the last batch.
  void learn(std::size_t operations) {
    const auto share = static_cast<u32>((operations - chains_) * 256 / operations);
    share_ = on_ ? (7 * share_ + share) / 8 : share;
    on_ = share_ >= (on_ ? kOffBelow : kOnFrom);
  }

  /// Lets the chains take effect: those that only get by lookups, then the others by changes.
  void apply(Index& index, ThreadState& me, const auto& operations, BatchOrder order, auto& answers) {
    counters_.applied += chains_;
    const BatchRoom<Raw, kMostInFlight> keys(chains_);
    const BatchRoom<Chain*, kMostInFlight> chains(chains_);
    std::size_t all = 0;
    const auto collect = [&](bool changes) {
      for (std::size_t c = 0; c < chains_; ++c) {
        if (chain_[c].changes != changes) continue;
        keys.all()[all] = head_[c];
        chains.all()[all++] = &chain_[c];
      }
    };
    collect(false);
    const std::size_t gets = all;
    collect(true);
    if (gets != 0) {
      const BatchRoom<Found, kMostInFlight> found(gets);
      index.find_batch(me, keys.all().first(gets), found.all(), order);
      for (std::size_t c = 0; c < gets; ++c) {
        Chain& chain = *chains.all()[c];
        for (Number i = chain.first; i != kNone; i = behind_[i]) before_[i] = Got(found.all()[c]);
        answers.done(chain);
      }
    }
    if (gets != all)
      change(index, me, keys.all().subspan(gets), chains.all().subspan(gets), operations, order, answers);
  }
  template <class Operations>
  void change(Index& index, ThreadState& me, std::span<const Raw> keys, std::span<Chain* const> chains,
              const Operations& operations, BatchOrder order, Answers<Operations>& answers) {
    const auto run_chain = [&](std::size_t c, const Found& before) noexcept {
      Got got(before);
      for (Number i = chains[c]->first; i != kNone; i = behind_[i]) {
        before_[i] = got;
        const Found after = operations.next(i, got.found());
        if (!Bugs::kForwardErased || after) got = Got(after);
      }
      return got.found();
    };
    const BatchRoom<Modified, kMostInFlight> modified(chains.size());
    if (Bugs::kAnswerEarly) {
      const auto look = [&](std::size_t c, const Found& before) noexcept { return (void)run_chain(c, before), before; };
      index.modify_batch(me, keys, modified.all(), look, order);
      for (Chain* chain : chains) answers.done(*chain);
    }
    // If the index throws, the chains before that one have taken effect. One that found nothing and left nothing counts
    // as not run.
    struct Done {
      ~Done() {
        for (std::size_t c = 0; c < chains.size(); ++c) {
          if (all || modified[c].before || modified[c].after) given.done(*chains[c]);
        }
      }
      const std::span<Chain* const> chains;
      const std::span<const Modified> modified;
      Answers<Operations>& given;
      bool all = false;
    };
    Done done{chains, modified.all(), answers};
    index.modify_batch(me, keys, modified.all(), run_chain, order);
    done.all = true;
  }

  const StationOptions options_;
  bool on_ = false;
  u32 share_ = 0;  // of operations whose key another has, in 1/256
  bool tries_ = false;
  u32 round_ = 0;
  std::size_t chains_ = 0;
  std::array<Slot, kSlots> slots_{};
  std::array<Chain, kMostInFlight> chain_;
  std::array<Raw, kMostInFlight> head_;       // the key of each chain
  std::array<Number, kMostInFlight> behind_;  // the next operation of the chain
  std::array<Got, kMostInFlight> before_;
  StationCounters counters_;
};

}  // namespace latchlab
