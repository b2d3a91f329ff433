#pragma once
// The protocol between an index, a transaction and a policy.
//
// An index is written once. It keeps what others may see in the cells of its Layout and speaks these verbs to a
// transaction `tx`; a reader is what `enter` returns and may be copied:
//
//   tx.enter(node)             begin to read a node                      coarse: nothing  optimistic: read its version
//   reader.step_to(child)      go on to a child read from it             nothing          child's version, then
//   parent's reader.step_to(child, tag) and say whether that is its tag           load it          it is in the version
//   tx.enter_by(reader, node,  the same without a reader of the parent:  load the tag     node's version, then ask the
//            tag, link, word)  `link` led to it by `word`, a cell of a                    link: an unlinked node must
//                              node that is never unlinked, or of `node`                  not come back to it
//   reader.follow(p)           to something it guards (a leaf)           nothing          validate
//   tx.confirm(value, r...)    "my answer, if what I read held"          nothing          validate all
//   tx.upgrade(r...)           before the first store; also a span       nothing          lock all or none, each once
//   tx.make<Node>(args...)     a block; null when memory is out          pool             pool
//   tx.retire(p, bytes)        unlinked                                  free after commitfree after a grace period
//
// What every body obeys
//   1. Validate before you trust: go on by step_to or follow, end by confirm or upgrade. A false step or upgrade is
//      `return kRestart`.
//   2. Upgrade once, before the first store, naming every reader whose node is stored to, or whose content decided what
//      is stored. After the upgrade nothing fails: no restart, no make.
//   3. A body may run many times and may be cut short anywhere (a hardware abort): no input or output, no exception, no
//      allocation but make. Its only effect is its result, or what the caller gives it to write that to; a run that
//      does not count may have written it too.
//   4. A loop over what is read is bounded even if what is read makes no sense: it may be from two moments.
//   5. Retire after the upgrade that protects the unlinking. The bytes are those that were made.
//   6. A node's size, kind and place are fixed while it is linked: a change of those is a new node.
//   7. After an upgrade, no verb that reads: it would wait for a latch that the transaction itself may hold.
//
// An index that says kLatchFreeReaders promises more, for policies whose readers prove nothing (rowex): whatever a
// reading body sees of an operation that changes the index, it sees by one store, and what was unlinked stays as it
// was. And no body comes to harm before its upgrade, whatever it sees (scouts of adaptive); one that promises only this
// says kBearsScouts.
//
// An index that says kNeedsExclusion promises less: none of the above. Its bodies are those of a structure for one
// thread, and run only where whoever changes it is alone (peers, indexes/peers/map_body.h).
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
#include "sync/promises.h"

namespace latchlab {

/// Which cells the fields of an index are, what its nodes carry as a latch, and its scale.
template <class L>
concept Layout =
    Machine<typename L::Machine> && Cell<typename L::template Cell<u64>> && CellRow<typename L::template Row<u8, 16>> &&
    std::default_initializable<typename L::Latch> && std::constructible_from<typename L::Latch, u8> && requires {
      L::Bugs::kDropValidation;
      { L::kLatchFreeReaders } -> std::convertible_to<bool>;
      { L::kScale } -> std::convertible_to<Scale>;
    };

/// A node as the concepts see it: all that a transaction asks of one is its latch, and perhaps its tag.
template <class L>
struct AnyNode {
  [[no_unique_address]] typename L::Latch latch;
  typename L::template Cell<u64> value;
  u8 tag() const { return 0; }  ///< what its latch was made with; only for who guesses
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
                        { tx.confirm(1, tx.enter(node), tx.enter(node)) } -> std::same_as<Attempt<int>>;
                        { tx.upgrade(tx.enter(node), tx.enter(node)) } -> std::same_as<bool>;
                        // As many as turn out.
                        { tx.upgrade(std::span<const decltype(tx.enter(node))>()) } -> std::same_as<bool>;
                        { tx.template make<AnyNode<L>>() } -> std::same_as<AnyNode<L>*>;
                        tx.retire(block, std::size_t{});
                      };

/// What an index that says kOrdered has for scans: a step collects the next pairs into a batch.
template <class Index, class Tx>
concept OrderedBody =
    requires(const Index& constant, Tx& tx, const typename Index::Key& from, typename Index::Batch& batch) {
      { constant.gather_in(tx, from, true, std::size_t{}, batch) } -> std::same_as<Attempt<bool>>;
      { Index::first_key() } -> std::same_as<typename Index::Key>;
    };

/// What an index may have for batches of lookups: all ways side by side. Without it they go one after the other.
template <class Index, class Tx>
concept BatchBody = requires(const Index& constant, Tx& tx, std::span<const typename Index::Key> keys,
                             std::span<std::optional<u64>> found) {
  { constant.find_batch_in(tx, keys, found) } -> std::same_as<Attempt<bool>>;
};

/// What an index may have for batches of changes: asks for the lines where the way of a key begins, for an insert
/// perhaps for more of them, and waits for none. Runs in an attempt that ends with it. [[gnu::always_inline]], or g++
/// drops it as without effect.
template <class Index>
concept HintingBody =
    requires(const Index& constant, const typename Index::Key& key) { constant.prefetch(key, Hint::kInsert); };

/// Work that follows an operation of a key, outside of its attempt: growth, making room, learning from what a lookup
/// saw.
///   1. A Task is what is left of the work, with the state that it needs. IndexBody says which ones an index may name.
///   2. Synchronized takes steps until the task is done: one at least. Each is an attempt of its own, so that no
///      operation stands for the whole index. What a step needs to be made is made between them.
///   3. A step says kOneDone, the most frequent answer, or writes what is left then.
///   4. Where memory is out the work is given up. What it followed was right all the same. A put that lacks room
///      throws.
template <class Index, class Tx, class Task>
concept Maintains =
    std::semiregular<Task> && requires(Index& index, Tx& tx, const typename Index::Key& key, const Task& task,
                                       Task& after, Pool<typename Tx::Machine>& pool) {
      { index.maintain_in(tx, key, task, after) } -> std::same_as<Attempt<StepResult>>;  // a step; what is left then
      { task.done() } -> std::same_as<bool>;          // after a step: no other follows this operation
      { after.prepare(pool) } -> std::same_as<bool>;  // for a step, outside attempts; false: memory is out
      after.one_done();                               // what kOneDone means
      after.release(pool);                            // when the last step is done
    };

/// What an index may say of the way to a key: how many nodes find_in visits.
template <class Index, class Tx>
concept CountsVisits = requires(const Index& constant, Tx& tx, const typename Index::Key& key) {
  { constant.visits_in(tx, key) } -> std::same_as<Attempt<u64>>;
};

/// The Watch of an index, where it has one.
template <class Index>
struct WatchOf {
  struct Type {};
};
template <class Index>
  requires requires { typename Index::Watch; }
struct WatchOf<Index> {
  using Type = typename Index::Watch;
};

/// Whether, or PutResult.
template <class A>
concept SaysWhetherPut = std::same_as<A, Attempt<bool>> || std::same_as<A, Attempt<PutResult>>;

/// An index as somebody writes it: bodies for a transaction, once, for every policy. What each answers is said where
/// callers see it, in Synchronized. It may name two tasks (Maintains):
///   Growth   follows the insert of a key that asks_to_grow. Where put_in says kNoRoom, a Growth::for_room() comes
///            before it is tried again, until there is room or a step says kFull.
///            An index without Growth whose put_in says kNoRoom is full: the put throws IndexFull.
///   Watch    follows lookups. Each thread keeps one. It counts the thread's operations, and says how many lookups it
///            follows.
template <class Index, class Tx>
concept IndexBody =
    std::default_initializable<Index> && requires(Index& index, const Index& constant, Tx& tx,
                                                  const typename Index::Key& key, Pool<typename Tx::Machine>& pool) {
      { constant.find_in(tx, key) } -> std::same_as<Attempt<Found>>;
      { index.put_in(tx, key, u64{}, Put::kInsert) } -> SaysWhetherPut;
      // Makes nothing: it cannot fail half way through a batch.
      { index.put_in(tx, key, u64{}, Put::kUpdate) } -> SaysWhetherPut;
      { index.put_in(tx, key, u64{}, Put::kUpsert) } -> SaysWhetherPut;
      { index.erase_in(tx, key) } -> std::same_as<Attempt<bool>>;
      // Of one attempt, beyond what a pool has ready (16 KiB).
      { Index::extra_bytes(key) } -> std::same_as<std::size_t>;
      index.free_all(pool);  // while nobody else is there
      { Index::kOrdered } -> std::convertible_to<bool>;
      requires !Index::kOrdered || OrderedBody<Index, Tx>;
      requires(!requires { typename Index::Growth; }) || (Maintains<Index, Tx, typename Index::Growth> && requires {
                { constant.asks_to_grow(key) } -> std::same_as<bool>;
              });
      requires(!requires { typename Index::Watch; }) ||
                  (Maintains<Index, Tx, typename Index::Watch> && requires(typename Index::Watch& watch) {
                    { watch.lookups(u64{}) } -> std::same_as<u64>;  // so many pass: it follows so many of them
                    watch.pass(u64{});  // so many other operations pass, or lookups that found no memory
                    watch.sleep();      // no time passes from now on: it follows none
                  });
    };

/// The transaction of a policy's readers: ReadTx, where it has one of its own.
template <class P>
struct ReadTxOf {
  using Type = typename P::Tx;
};
template <class P>
  requires requires { typename P::ReadTx; }
struct ReadTxOf<P> {
  using Type = typename P::ReadTx;
};

/// A policy that runs bodies on what nothing proves: readers without a latch, or scouts.
template <class P>
concept RunsUnproved = P::Layout::kLatchFreeReaders || P::kScouts;

/// A policy under which a body that changes the index is alone with it, whatever memory it uses: it runs under a lock,
/// or in transactions that take back every store, and not only those to cells.
template <class P>
concept RunsAlone = !RunsUnproved<P> && P::kExcludes && (P::Machine::kUndoesAllMemory || !P::kElides);

/// An index whose bodies come to no harm before their upgrade, whatever they see.
template <class Index>
concept BearsScouts = requires { requires Index::kLatchFreeReaders; } || requires { requires Index::kBearsScouts; };

/// An index that may run under a policy: it must bear such runs where there are some. One that says kNeedsExclusion has
/// fields that are no cells, and bears nothing but to be alone.
template <class Index, class P>
concept Admits =
    (!P::Layout::kLatchFreeReaders || requires { requires Index::kLatchFreeReaders; }) &&
    (!P::kScouts || BearsScouts<Index>) && (RunsAlone<P> || !requires { requires Index::kNeedsExclusion; });

/// What a thread learns under a policy: Learned, where it has something to learn.
template <class P>
struct LearnedOf {
  struct Type {};
};
template <class P>
  requires requires { typename P::Learned; }
struct LearnedOf<P> {
  using Type = typename P::Learned;
};

/// A thread as a policy sees it: the pool that its attempts make blocks in, which is topped up before each; its place
/// in the reclaimer; what it has counted and learned.
template <class T, class P>
concept ThreadContext = requires(T& me) {
  { *me.pool } -> std::same_as<Pool<typename P::Machine>&>;
  { me.pool->top_up() } -> std::same_as<bool>;
  me.reclaim.enter();
  me.reclaim.leave();
  requires std::same_as<std::remove_cvref_t<decltype(me.counters)>, typename P::Counters>;
  requires std::same_as<std::remove_cvref_t<decltype(me.learned)>, typename LearnedOf<P>::Type>;
};

/// The least that is one.
template <class P>
struct PolicyThread {
  PoolLease<typename P::Machine> pool;
  typename P::Reclaimer::ThreadState reclaim;
  typename P::Counters counters;
  [[no_unique_address]] typename LearnedOf<P>::Type learned;
};

/// `read` and `write` run a body until one run counts and return its value. They throw std::bad_alloc for a body that
/// says kNoMemory, with everything unlocked and nothing changed.
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
