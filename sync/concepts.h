#pragma once
// The protocol between an index, a transaction and a policy.
//
// An index is written once. It keeps the data that other threads may see in the cells of its Layout. Its bodies use
// these verbs of a transaction `tx`; a reader is the result of `enter` and may be copied:
//
//                              meaning                                      coarse         optimistic
//   tx.enter(node)             begin to read a node                         nothing        read its version
//   reader.step_to(child)      go on to a child that was read from it       nothing        read the child's version;
//                                                                                          then validate the parent
//   reader.step_to(child, tag) the same, and say if the child has this tag  load the tag   the same: the version has it
//   tx.enter_by(reader, node,  enter a child without a reader of its        load the tag   read the node's version;
//       tag, link, word)       parent; `link` led to it by `word`                          then test link for word
//   tx.claim(reader, child)    step_to a child that will be changed; may    step_to        step_to; in latches with a
//                              wait in a queue, holding nothing                            queue: take the latch, then
//                                                                                          validate the parent
//   tx.unclaim()               give up the claim before an upgrade; its     nothing        unlock
//                              reader proves nothing any more
//   reader.follow(p)           use a pointer that the node guards (a leaf)  nothing        validate
//   tx.confirm(value, r...)    return `value` if all reads still hold       nothing        validate all
//   tx.upgrade(r...)           prepare the first store; also takes a span   nothing        lock all or none, each once
//   tx.upgrade_value(r)        the same for one node and its values alone   nothing        lock it; readers go on
//   reader.word()              the node's word                              load it        it is the version
//   tx.set_word(r, word)       change the word of an upgraded node          store it       the unlock stores it
//   tx.make<Node>(args...)     make a block; null when memory is out        pool           pool
//   tx.retire(p, bytes)        give up a block that was unlinked            free it after  free it after a grace period
//                                                                           the commit
//
// Roots and siblings: `enter` takes any node that needs no link to be found. That is a member of the index, or an
// element of an array that is never freed. A body may enter several of them, such as both buckets of a key, and goes
// from one bucket to the next by `enter`. A node that some link leads to is reached by step_to or enter_by.
//
// The readers of confirm are arguments. If only the run knows how many there are, call follow on each after the last
// read, and confirm with one of them. Whatever `p` is, follow validates the reader's node.
//
// A tag is a byte that is fixed when a node's latch is made, such as the kind of the node. Its bit 0 is 0. A step with
// the right guess of the tag needs one branch less.
//
// A node has a latch or a word (Layout::Word), which begins with begin_with(). The word is a node's own bits: where
// nodes have latches, it is the latch too, so bits that WordLatch keeps for itself are undefined when it is read.
// Values that readers load at once may be changed after upgrade_value, each by one store. Readers of the node do not
// notice. So a body that depends on such a value upgrades the node.
//
// An optimistic policy first runs a changing body with a SmallTx (small_tx.h), which locks one node at most. Only if
// the body upgrades more nodes does it run again with a transaction that can. A body may be written without knowing
// this. In a branch that is rare and long, `if constexpr (kSmall<Tx>) return tx.ask_for_more();` keeps the small
// attempt short.
//
// The `link` of enter_by is a cell of a node that is never unlinked, or of `node` itself. A node that was unlinked must
// not come back to it.
//
// Every body obeys these rules:
//   1. Validate before you trust. Follow a link only with step_to, enter_by or follow; finish only with confirm() or
//      upgrade(). Every answer without a store is confirmed: a miss, false, kNoRoom. If a step or an upgrade is false,
//      return kRestart.
//   2. Upgrade once, before the first store. Name every reader whose node is stored to or unlinked, or whose content
//      determines the stores. After the upgrade nothing may fail: no restart, no make.
//   3. A body may run many times, and may be cut off anywhere (a hardware abort). So it has no input or output, no
//      exceptions, and no allocation but make. Its only effect is its result, or a place for the result that the caller
//      gave it; an attempt that does not count may have written there too.
//   4. Every loop over data that was read is bounded, even if the data makes no sense: its parts may be from different
//      moments. A size or a count that is fixed bounds a loop. So does a step in each turn, because it proves the link:
//      a walk along rising keys or down a tree ends.
//   5. Retire a block after the upgrade that protects the unlinking, with the number of bytes that were made.
//   6. A node's size, kind and address are fixed while it is linked; to change them, make a new node.
//   7. Use no reading verb after an upgrade: it would wait for, or distrust, a latch that the transaction itself holds.
//      Between a claim and unclaim enter no other node (enter, step_to, enter_by, claim): that could wait while the
//      transaction holds a latch. confirm and follow never wait. Claim before the first upgrade, one node at a time.
//
// An index with kLatchFreeReaders promises more, for policies whose readers validate nothing (rowex):
//   8. All that a reading body sees of an operation that changes the index, it sees by one store.
//   9. An unlinked node stays as it was.
//  10. No body does harm before its upgrade, whatever it reads (for the scouts of adaptive).
// An index with kBearsScouts promises only rule 10 in addition.
//
// An index with kNeedsExclusion promises none of these rules. Its bodies are those of a structure for one thread. They
// run only under a policy that lets each change run alone (peers, indexes/peers/map_body.h).
//
// A policy decides when and how often a body runs, for the calling thread, whose ThreadContext is `me`.
#include <concepts>
#include <optional>
#include <span>
#include <string_view>

#include "src/base/key.h"
#include "src/base/scale.h"
#include "src/base/spec.h"
#include "src/machine/machine.h"
#include "src/memory/pool_lease.h"
#include "src/reclaim/reclaimer.h"
#include "sync/attempt.h"
#include "sync/change.h"
#include "sync/promises.h"

namespace latchlab {

/// A layout: the cells of an index's fields, the latch of its nodes, and its scale.
template <class L>
concept Layout = Machine<typename L::Machine> && Cell<typename L::template Cell<u64>> &&
                 CellRow<typename L::template Row<u8, 16>> && std::default_initializable<typename L::Latch> &&
                 std::constructible_from<typename L::Latch, u8> && requires(typename L::Word& word) {
                   word.begin_with(u64{});
                   L::Bugs::kDropValidation;
                   { L::kLatchFreeReaders } -> std::convertible_to<bool>;
                   { L::kScale } -> std::convertible_to<Scale>;
                 };

/// A node as the concepts see it: a transaction needs only its latch and, for guesses, its tag.
template <class L>
struct AnyNode {
  [[no_unique_address]] typename L::Latch latch;
  typename L::template Cell<u64> value;
  u8 tag() const { return 0; }  ///< the tag that its latch was made with; only steps with a guess need it
};

/// A node with a word instead of a latch.
template <class L>
struct AnyWordNode {
  typename L::Word word;
  typename L::template Cell<u64> value;
};

template <class R, class Node>
concept Reader = std::semiregular<R> && requires(R& reader, const R& constant, Node* node, const void* p) {
  { constant.node() } -> std::same_as<Node*>;
  { constant.operator->() } -> std::same_as<Node*>;
  { reader.step_to(node) } -> std::same_as<bool>;
  { reader.step_to(node, u8{}) } -> std::same_as<GuessResult>;
  { constant.follow(p) } -> std::same_as<bool>;
};

template <class Tx, class L>
concept Transaction = Reader<decltype(std::declval<Tx&>().enter(std::declval<AnyNode<L>*>())), AnyNode<L>> &&
                      requires(Tx& tx, AnyNode<L>* node, decltype(tx.enter(node)) reader, void* block) {
                        { tx.enter_by(reader, node, u8{}, node->value, u64{}) } -> std::same_as<GuessResult>;
                        { tx.claim(reader, node) } -> std::same_as<bool>;
                        tx.unclaim();
                        { tx.confirm(1, tx.enter(node), tx.enter(node)) } -> std::same_as<Attempt<int>>;
                        { tx.upgrade(tx.enter(node), tx.enter(node)) } -> std::same_as<bool>;
                        // Any number of readers, known at run time.
                        { tx.upgrade(std::span<const decltype(tx.enter(node))>()) } -> std::same_as<bool>;
                        { tx.template make<AnyNode<L>>() } -> std::same_as<AnyNode<L>*>;
                        tx.retire(block, std::size_t{});
                      } && requires(Tx& tx, AnyWordNode<L>* node, const decltype(tx.enter(node)) reader) {
                        { tx.upgrade(reader) } -> std::same_as<bool>;
                        { tx.upgrade_value(reader) } -> std::same_as<bool>;
                        { reader.word() } -> std::same_as<u64>;
                        tx.set_word(reader, u64{});
                      };

/// The body of scans, which an index with kOrdered has: a step collects the next pairs into a batch.
template <class Index, class Tx>
concept OrderedBody =
    requires(const Index& constant, Tx& tx, const typename Index::Key& from, typename Index::Batch& batch) {
      { constant.gather_in(tx, from, true, std::size_t{}, batch) } -> std::same_as<Attempt<bool>>;
      { Index::first_key() } -> std::same_as<typename Index::Key>;
    };

/// The body of walks beside changes, which an unordered index may have: a step collects the next pairs from a hand on
/// into Walked, and returns where to go on. A default Hand has not begun; a hand at the end is that again. A key that
/// stays while the hand goes round is collected at least once, whatever other threads change or move.
template <class Index, class Tx>
concept WalkingBody =
    std::default_initializable<typename Index::Walked> &&
    requires(const Index& constant, Tx& tx, const typename Index::Hand& hand, typename Index::Walked& pairs) {
      { constant.walk_in(tx, hand, std::size_t{}, pairs) } -> std::same_as<Attempt<typename Index::Hand>>;
      { hand.begun() } -> std::same_as<bool>;
      { pairs.lacks_room() } -> std::same_as<bool>;  // not even one step's pairs fit
      pairs.enlarge();
    };

/// The body of batched lookups, which an index may have: it descends for all keys side by side. Without it the lookups
/// run one after the other.
template <class Index, class Tx>
concept BatchBody = requires(const Index& constant, Tx& tx, std::span<const typename Index::Key> keys,
                             std::span<std::optional<u64>> found, bool prefetched) {
  { constant.find_batch_in(tx, keys, found, prefetched) } -> std::same_as<Attempt<bool>>;
};

/// The prefetch for operations to come, which an index may have. It prefetches the first lines of a key's path that
/// caches are not expected to hold, perhaps more of them for an insert, and waits for none. It is a body, but it never
/// fails.
template <class Index, class Tx>
concept HintingBody = requires(const Index& constant, Tx& tx, const typename Index::Key& key) {
  constant.prefetch_in(tx, key, Hint::kInsert);
};

/// A second such prefetch, which an index may have: of the line to which the first lines lead. It reads the first
/// lines, so it runs when they are there.
template <class Index, class Tx>
concept FurtherHintingBody =
    requires(const Index& constant, Tx& tx, const typename Index::Key& key) { constant.prefetch_further_in(tx, key); };

/// Maintenance: work that follows an operation on a key, outside its attempt. It is growth, making room, or learning
/// from a lookup.
///   1. A Task is the rest of the work, with the state that it needs. IndexBody says which tasks an index may have.
///   2. Synchronized runs at least one step, and steps until the task is done. Each step is an attempt of its own, so
///      no single attempt is proportional to the size of the index. Blocks that a step needs are made between steps.
///   3. A step returns kOneDone, the most frequent result, or it writes the rest of the task to `after`.
///   4. When memory is out, the work is given up. The operation before it is correct all the same. But a put that lacks
///      room throws.
template <class Index, class Tx, class Task>
concept Maintains =
    std::semiregular<Task> && requires(Index& index, Tx& tx, const typename Index::Key& key, const Task& task,
                                       Task& after, Pool<typename Tx::Machine>& pool) {
      { index.maintain_in(tx, key, task, after) } -> std::same_as<Attempt<StepResult>>;  // one step
      { task.done() } -> std::same_as<bool>;          // called after a step; true if no other follows
      { after.prepare(pool) } -> std::same_as<bool>;  // makes blocks for a step, outside attempts; false: memory is out
      after.one_done();                               // updates the task after kOneDone
      after.release(pool);                            // frees unused blocks after the last step
    };

/// The count of the nodes that find_in visits for a key, which an index may offer.
template <class Index, class Tx>
concept CountsVisits = requires(const Index& constant, Tx& tx, const typename Index::Key& key) {
  { constant.visits_in(tx, key) } -> std::same_as<Attempt<u64>>;
};

/// The Watch of an index, if it has one.
template <class Index>
struct WatchOf {
  struct Type {};
};
template <class Index>
  requires requires { typename Index::Watch; }
struct WatchOf<Index> {
  using Type = typename Index::Watch;
};

/// The Relief of an index, if it has one.
template <class Index>
struct ReliefOf {
  struct Type {};
};
template <class Index>
  requires requires { typename Index::Relief; }
struct ReliefOf<Index> {
  using Type = typename Index::Relief;
};

/// The counters of a policy under which changes restart, abort or wait because other threads are in the way.
template <class Counters>
concept CountsConflicts = requires(const Counters& counters) {
  { counters.conflicts() } -> std::same_as<u64>;  // how often those of this thread did
};

/// The result of a put: bool or PutResult.
template <class A>
concept SaysWhetherPut = std::same_as<A, Attempt<bool>> || std::same_as<A, Attempt<PutResult>>;

/// An index as its author writes it: bodies for any transaction, once, for every policy. Synchronized documents their
/// results, where callers see them (sync/synchronized.h). The harness's check of a run also visits every pair: an index
/// that is not ordered and does not walk (WalkingBody) needs `for_each` for it. An index may have three tasks
/// (Maintains):
///   Relief   follows some changes that met those of other threads, under policies that count them
///            (CountsConflicts). Each thread keeps one. It counts the thread's changes and decides which it follows.
///            Without memory it does nothing.
///   Growth   follows the insert of a key for which asks_to_grow is true. If put_in returns kNoRoom, Growth::for_room()
///            runs before the next try, until there is room or a step returns kFull.
///            An index without Growth whose put_in returns kNoRoom is full: the put throws IndexFull.
///   Watch    follows some lookups. Each thread keeps one. It counts the thread's operations and decides how many
///            lookups it follows.
template <class Index, class Tx>
concept IndexBody =
    std::default_initializable<Index> && requires(Index& index, const Index& constant, Tx& tx,
                                                  const typename Index::Key& key, Pool<typename Tx::Machine>& pool) {
      { constant.find_in(tx, key) } -> std::same_as<Attempt<Found>>;
      // sync/change.h says what a value offers, and a condition.
      { index.put_in(tx, key, SetTo(), Put::kInsert) } -> SaysWhetherPut;
      // An update makes no block, so it cannot fail half way through a batch.
      { index.put_in(tx, key, SetTo(), Put::kUpdate) } -> SaysWhetherPut;
      { index.put_in(tx, key, SetTo(), Put::kUpsert) } -> SaysWhetherPut;
      { index.erase_in(tx, key, AnyValue()) } -> std::same_as<Attempt<bool>>;
      // The bytes of one attempt beyond those that a pool has ready (16 KiB).
      { Index::extra_bytes(key) } -> std::same_as<std::size_t>;
      index.free_all(pool);  // called while no other thread uses the index
      { Index::kOrdered } -> std::convertible_to<bool>;
      requires !Index::kOrdered || OrderedBody<Index, Tx>;
      requires(!requires { typename Index::Growth; }) || (Maintains<Index, Tx, typename Index::Growth> && requires {
                { constant.asks_to_grow(key) } -> std::same_as<bool>;
              });
      requires(!requires { typename Index::Relief; }) ||
                  (Maintains<Index, Tx, typename Index::Relief> && requires(typename Index::Relief& relief) {
                    { relief.changed(true) } -> std::same_as<bool>;  // counts a change, and whether it met others
                  });
      requires(!requires { typename Index::Watch; }) ||
                  (Maintains<Index, Tx, typename Index::Watch> && requires(typename Index::Watch& watch) {
                    { watch.lookups(u64{}) } -> std::same_as<u64>;  // counts lookups; returns how many it follows
                    watch.pass(u64{});  // counts other operations, or lookups that it could not follow without memory
                    watch.sleep();      // stops its clock: it follows no lookup from now on
                  });
    };

/// The transaction of a policy's readers: its ReadTx, if it has one, or its Tx.
template <class P>
struct ReadTxOf {
  using Type = typename P::Tx;
};
template <class P>
  requires requires { typename P::ReadTx; }
struct ReadTxOf<P> {
  using Type = typename P::ReadTx;
};

/// A policy that runs bodies without validation: readers without a latch, or scouts.
template <class P>
concept RunsUnproved = P::Layout::kLatchFreeReaders || P::kScouts;

/// A policy under which a body that changes the index is alone with it, whatever memory it uses. The body runs under a
/// lock, or in transactions whose aborts undo every store, not only stores to cells.
template <class P>
concept RunsAlone = !RunsUnproved<P> && P::kExcludes && (P::Machine::kUndoesAllMemory || !P::kElides);

/// An index whose bodies obey rule 10: they do no harm before their upgrade, whatever they read.
template <class Index>
concept BearsScouts = requires { requires Index::kLatchFreeReaders; } || requires { requires Index::kBearsScouts; };

/// An index that may run under a policy: if the policy runs bodies without validation, the index must allow it. An
/// index with kNeedsExclusion has fields that are not cells, so it needs a policy that runs changes alone. An index
/// with kNodesFillLines searches a line as a whole, in which a node's word has eight bytes, so no latch has room beside
/// it.
template <class Index, class P>
concept Admits =
    (sizeof(typename P::Layout::Word) <= sizeof(u64) || !requires { requires Index::kNodesFillLines; }) &&
    (!P::Layout::kLatchFreeReaders || requires { requires Index::kLatchFreeReaders; }) &&
    (!P::kScouts || BearsScouts<Index>) && (RunsAlone<P> || !requires { requires Index::kNeedsExclusion; });

/// The state that a thread learns under a policy: Learned, if the policy has one.
template <class P>
struct LearnedOf {
  struct Type {};
};
template <class P>
  requires requires { typename P::Learned; }
struct LearnedOf<P> {
  using Type = typename P::Learned;
};

/// A thread as a policy sees it: its pool, its state in the reclaimer, its counters and its learned state. A policy
/// that speculates tops the pool up before each try.
template <class T, class P>
concept ThreadContext = requires(T& me) {
  { *me.pool } -> std::same_as<Pool<typename P::Machine>&>;
  { me.pool->top_up() } -> std::same_as<bool>;
  me.reclaim.enter();
  me.reclaim.leave();
  requires std::same_as<std::remove_cvref_t<decltype(me.counters)>, typename P::Counters>;
  requires std::same_as<std::remove_cvref_t<decltype(me.learned)>, typename LearnedOf<P>::Type>;
};

/// The smallest ThreadContext.
template <class P>
struct PolicyThread {
  PoolLease<typename P::Machine> pool;
  typename P::Reclaimer::ThreadState reclaim;
  typename P::Counters counters;
  [[no_unique_address]] typename LearnedOf<P>::Type learned;
};

/// A policy. `read` and `write` run a body until one attempt counts, and return its value. If a body returns kNoMemory,
/// they throw std::bad_alloc with everything unlocked and nothing changed.
///
/// `read` is always inlined, and so is what it calls on its way to the body, unless the policy runs bodies elsewhere or
/// on several paths. Synchronized::find is always inlined as well, and g++'s `flatten` does not reach into what such a
/// function calls.
/// Otherwise every lookup of a loop would be a call.
template <class P>
concept Policy =
    std::derived_from<P, Promises> && Machine<typename P::Machine> && Layout<typename P::Layout> &&
    Transaction<typename P::Tx, typename P::Layout> && Transaction<typename ReadTxOf<P>::Type, typename P::Layout> &&
    Reclaimer<typename P::Reclaimer> && std::constructible_from<P, const typename P::Options&> &&
    ThreadContext<PolicyThread<P>, P> &&
    requires(P& policy, PolicyThread<P>& me, Attempt<int> (*body)(typename P::Tx&),
             Attempt<int> (*look)(typename ReadTxOf<P>::Type&), const Spec& spec, const typename P::Options& options) {
      { P::kName } -> std::convertible_to<std::string_view>;
      { P::Options::parse(spec) } -> std::same_as<typename P::Options>;
      options.resolved();
      P::Counters::fields();
      { policy.read(me, look) } -> std::same_as<int>;
      { policy.write(me, body) } -> std::same_as<int>;
    };

}  // namespace latchlab
