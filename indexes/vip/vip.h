#pragma once
// `vip`: a hash table of chains that learns which keys are popular and moves them to the front of their chains. After
// VIP hashing (Kakaraparthy, Patel, Park, Kroth, VLDB 2022), as described by Wiscer; this is not its code.
//
// A thread that looks up learns from time to time (watch.h). While it learns, a short write follows each lookup. The
// write counts the key, and moves it before those keys of its chain that were found less often. Between rounds of
// learning a lookup costs one countdown more than a lookup of `chained`. A new key goes to the end of a chain with
// counts, so that it does not stand before popular keys, and to the front of any other, which is not read for that.
//
//     before   ... -> P -> A -> B -> X -> rest      X was found more often than A and B
//     after    ... -> P -> X'-> A'-> B'-> rest      P's link is one store; A, B and X are retired
//
// A move copies nodes. A reader on the old nodes continues undisturbed to the same rest. So it finds every key, with
// the values of the moment at which it arrived. From the store of P's link on, values are changed in the new nodes.
// That is so because moving a key and changing a value both need the latch of the bucket.
//
// Differences from the paper:
//   1. Counts saturate, and disappear with their keys.
//   2. Lookups that find nothing, inserts and erasures pass time too.
//   3. A thread learns again only when its lookups have become worse. An option says how often that is checked.
//   4. Each thread learns by itself, from its own lookups, into shared counts.
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/chained/chains.h"
#include "indexes/vip/popularity.h"
#include "indexes/vip/seeded_bugs.h"
#include "indexes/vip/watch.h"
#include "src/base/scale.h"
#include "src/base/spec.h"
#include "src/memory/attempt_blocks.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Layout, class KeyType>
class Vip : public Chains<Layout, KeyType, vip::Popularity<Layout>, chained::NewKeys::kBehindLearned> {
  using Base = Chains<Layout, KeyType, vip::Popularity<Layout>, chained::NewKeys::kBehindLearned>;
  using Node = typename Base::Node;
  using Word = typename Base::Word;
  template <class Tx>
  using Way = typename Base::template Way<Tx>;

 public:
  using Key = KeyType;
  using Watch = vip::Watch;
  static constexpr std::string_view kName = "vip";

  struct Options {
    u64 period = 60;

    static Options parse(const Spec& spec) {
      SpecReader reader(spec, "index vip");
      Options options;
      options.period = reader.arg_u64(options.period, 1, 1'000'000);
      reader.finish();
      return options;
    }
    std::vector<std::pair<std::string, std::string>> resolved() const { return {{"period", std::to_string(period)}}; }
    static std::vector<std::string> variants() { return {"vip:1"}; }
    static std::string_view about(std::string_view) {
      return "vip:N: a thread checks after N epochs whether to learn again; an epoch is 1.5 operations a bucket";
    }
  };

  Vip() = default;
  explicit Vip(const Options& options) : period_(options.period) {}

  using Base::maintain_in;
  /// Performs the step of learning that follows a lookup of `key`. `watch` becomes the thread's next state.
  template <class Tx>
  Attempt<StepResult> maintain_in(Tx& tx, const Key& key, const Watch& before, Watch& watch) {
    watch = before;
    if (watch.phase() == Watch::Phase::kNew) return conclude_in(tx, watch);
    if (watch.over()) {
      if (watch.phase() != Watch::Phase::kLearn) return conclude_in(tx, watch);
      watch.measure(kSample);
    }
    watch.step();
    if (watch.phase() == Watch::Phase::kLearn) return learn_in(tx, key, watch);
    Way<Tx> way(chained::hash_of(key));
    if (!this->arrive(tx, way)) return kRestart;
    u64 nodes = 1;
    for (; way.node != nullptr && !way.node->has(key, way.hash); ++nodes) way.node = way.node->next.load();
    if (way.node != nullptr) watch.found_after(nodes);
    return tx.confirm(StepResult::kChanged, way.at);
  }

 private:
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;
  static constexpr u64 kSample = kTiny ? 2 : 1000;
  static constexpr u64 kFewest = kTiny ? 1 : 30;  // smallest number of finds that an estimate may rest on
  // Limits the keys that a key passes in one move. They are copied, if their keys are short enough for one attempt.
  static constexpr u32 kMostPassed = 8;
  static_assert(kMostPassed + 1 <= AttemptBlocks<typename Layout::Machine>::kMaxBlocks);

  /// The state that all threads share.
  struct Attention {
    u8 tag() const { return 0; }
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> round;  // number of the latest round of learning
    typename Layout::template Cell<u64> mean;   // the mean with which samples are compared, as bits; width likewise
    typename Layout::template Cell<u64> width;
  };

  u64 epoch() const { return this->table_.buckets() * 3 / 2; }

  /// Decides, after a sample and for a new thread, what to do with the next lookups.
  template <class Tx>
  Attempt<StepResult> conclude_in(Tx& tx, Watch& watch) {
    auto attention = tx.enter(&attention_);
    const u32 round = static_cast<u32>(attention->round.load());
    const vip::Displacement now = watch.displacement(kFewest);
    const vip::Displacement known{.mean = std::bit_cast<double>(attention->mean.load()),
                                  .width = std::bit_cast<double>(attention->width.load())};
    const bool is_new = watch.phase() == Watch::Phase::kNew;
    if (is_new ? !known.known() : watch.phase() == Watch::Phase::kSense && now.above(known)) {
      // If another thread has begun a round since this thread last looked, this thread joins it.
      const bool begins = round == watch.round();
      watch.learn(round + begins, epoch());
      if (!begins) return tx.confirm(StepResult::kChanged, attention);
      if (!tx.upgrade(attention)) return kRestart;
      attention->round.store(watch.round());
      return StepResult::kChanged;
    }
    const bool news = now.known() && (watch.phase() == Watch::Phase::kMeasure || known.above(now));
    watch.rest(round, period_ * epoch(), kSample);
    if (!news) return tx.confirm(StepResult::kChanged, attention);
    if (!tx.upgrade(attention)) return kRestart;
    attention->mean.store(std::bit_cast<u64>(now.mean));
    attention->width.store(std::bit_cast<u64>(now.width));
    return StepResult::kChanged;
  }

  /// Counts the key, and moves it up.
  template <class Tx>
  Attempt<StepResult> learn_in(Tx& tx, const Key& key, const Watch& watch) {
    Way<Tx> way(chained::hash_of(key));
    if (!this->arrive(tx, way)) return kRestart;
    std::array<Node*, kMostPassed> passed;  // the last nodes before the key's; `before` precedes them
    u32 count = 0;
    Node* before = nullptr;
    for (; way.node != nullptr && !way.node->has(key, way.hash); way.node = way.node->next.load()) {
      if (count == kMostPassed) {
        before = passed.front();
        std::shift_left(passed.begin(), passed.end(), 1);
        --count;
      }
      if (way.node->mark.later(watch.round())) return tx.confirm(StepResult::kChanged, way.at);
      passed[count++] = way.node;
    }
    // A thread of an earlier round leaves the counts of a later one alone.
    if (way.node == nullptr || way.node->mark.later(watch.round())) return tx.confirm(StepResult::kChanged, way.at);
    const u32 finds = way.node->mark.next(watch.round());
    u32 place = 0;
    while (place < count && passed[place]->mark.finds(watch.round()) >= finds) before = passed[place++];
    if (place == count) {
      if (!tx.upgrade(way.at)) return kRestart;
      way.node->mark.note(watch.round(), finds);
      note_order(way);
      return StepResult::kChanged;
    }
    Node* after = way.node->next.load();
    for (u32 i = count; i-- > place;) {
      after = copy(tx, passed[i], after, watch.round(), passed[i]->mark.finds(watch.round()));
      if (after == nullptr) return kNoMemory;
    }
    after = copy(tx, way.node, after, watch.round(), finds);
    if (after == nullptr) return kNoMemory;
    if (!tx.upgrade(way.at)) return kRestart;
    if (vip::BugFlags<typename Layout::Bugs::Flag>::kUnlinkFirst) passed[count - 1]->next.store(way.node->next.load());
    if (before == nullptr) {
      way.at->word.store(way.word.with_head(after).as_ordered().word());
    } else {
      note_order(way);
      before->next.store(after);
    }
    for (u32 i = place; i < count; ++i) tx.retire(passed[i], passed[i]->bytes());
    tx.retire(way.node, way.node->bytes());
    return StepResult::kChanged;
  }
  /// Lets the word say that the chain has an order, which new keys do not disturb.
  template <class Tx>
  static void note_order(const Way<Tx>& way) {
    if (!way.word.ordered()) way.at->word.store(way.word.as_ordered().word());
  }
  /// Copies the node. Returns null when memory is out.
  template <class Tx>
  static Node* copy(Tx& tx, const Node* node, Node* after, u32 round, u32 finds) {
    return tx.template make<Node>(node->key(), node->hash(), node->value.load(), after, round, finds);
  }

  const u64 period_ = Options{}.period;
  alignas(kFalseSharingBytes) mutable Attention attention_;
};

}  // namespace latchlab
