#pragma once
// Epoch-based reclamation: a retired block is freed when every thread that may have seen it has left its operation.
//
//     global epoch      ... 7        8        9 ...
//     thread A             [ inside, announced 7 ]        while it is inside, 8 -> 9 cannot happen
//     thread B                 unlinks x, retires it: stamp 8
//     x is freed                                    when the global epoch is 10
//
// Invariants:
//   1. A thread announces the global epoch when it enters, and kOutside when it leaves.
//   2. The epoch goes from g to g + 1 only when every thread inside has announced g. (kOutside is larger than any
//      epoch, so the test is one comparison.)
//   3. A block is stamped with the global epoch AFTER it was unlinked, and freed kGrace = 2 epochs later.
//
// Why two epochs are enough, and what each memory order is for. Let U be the unlinking store. Let S be the stamp: a
// read-modify-write of the global epoch that reads s. Let R be a reader inside that can reach the block, so it has not
// seen U. Consider the scan of the threads before s + 1 became s + 2.
//   1. The scan read s + 1, which comes after S in the order of read-modify-writes on the epoch. So U happens before
//      the scan.
//   2. R announces, then fences lightly (Decided::announce), then reads. The scan fences heavily (try_advance), then
//      looks at the announcements.
//   3. The two fences are ordered one way or the other (Machine::light_fence). So R's reads see U, or the scan sees the
//      store of R's announcement or a later one.
//   4. If R's reads see U, R cannot reach the block.
//   5. If the scan sees an epoch below s + 1, it fails.
//   6. If the scan sees s + 1 as R announced it, R has read it from the global epoch and acquired U with it. So R
//      cannot reach the block.
//   7. If the scan sees kOutside, or an epoch that a later operation of the thread has announced, R has left. All its
//      reads happened before the scan, hence before the free.
//
// Without the fences both sides could miss each other's store (the StoreLoad order that reference implementations
// forget). They are asymmetric because threads enter millions of times as often as they scan. A light fence is no
// instruction at all, so successive lookups overlap their cache misses as with `none`.
//
// A thread that reads an old epoch and announces it late only delays reclamation: the argument does not need a fresh
// announcement. One epoch would not be enough: s -> s + 1 lets readers pass that announced s before U. The thread's own
// announcement must not serve as the stamp: it may be one epoch old, and the block would be freed too early.
//
// MemoryConfig::reclaim says how threads announce. That is the price of safe memory for optimistic readers:
//
//   epoch        a store on entering and one on leaving; the scan pays for the fences, as above
//   epoch-fence  the same, and a full fence on entering; the scan fences only its own thread
//   qsbr         no store on entering. Every kQuietOps-th leave announces the current epoch, which says that all reads
//                before it are done, as leaving and entering would. A thread is outside only after idle(); one that
//                stops without it holds up all garbage
//   leak         no announcement; garbage waits for drain. The cost of the others is their distance to this
//
// Costs are amortised. Retired blocks collect in a batch, which is stamped once, when it is full (a later stamp is
// safe). Only then the thread tries to advance the epoch, and frees the batches that are due into its own pool. Tests
// make a batch of one block, so that short schedules reach the frees. A batch of large blocks is full when it holds
// kMostBatchBytes, so that the garbage of a thread does not grow with the size of its blocks.
//
// Batches are recorded in blocks of the pool. A retired block cannot hold its own link: the smallest one is a key and a
// value, and a reader inside may still load both. So retiring takes memory, at a moment when it must not fail.
// Therefore each thread owns a reserve from the heap, with records for all blocks that one attempt can retire:
//
//     retire    takes a record of the reserve if the pool has no block for one; from then on the thread is short
//     reserve   is called before each operation that may retire, and makes room if the thread is short: it frees the
//               batches that are due, then tries the pool. Without room the operation is refused before it has changed
//               anything
//
// A batch of the reserve is freed like any other, and its record returns to a reserve. No thread waits, so no thread
// can deadlock.
//
// A block may be held beyond its grace period, by a pin that is counted in the block itself. The last parameter,
// Holds, has the predicate:
//
//     batch that is due --> blocks not held: freed
//                      `--> blocks held: kept in a held batch, at which later collections look again
//
// The predicate must stay false once it was false after the grace period: no thread can find the block any more, so
// none can pin it anew. Each collection looks at two held batches at most, so many long pins cost no more than one.
// Held batches are the records of the retired ones, merged, so holding takes no memory.
//
// A thread that exits leaves its garbage to the others: they adopt it with their next batch, or drain frees it. A
// thread that never leaves its operation holds up all garbage. This is detected and counted (stalled), not prevented.
// If memory is out as well, operations that may retire are refused until that thread leaves.
//
// After K. Fraser, Practical lock-freedom (2004). Unlike there, entering never advances the epoch.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "src/memory/attempt_blocks.h"
#include "src/reclaim/reclaimer.h"
#include "src/reclaim/seeded_bugs.h"

namespace latchlab {

/// The Holds of a reclaimer that frees every block when it is due.
struct HoldsNothing {};

/// The reclaimer by epochs. kBatch blocks are stamped together. Under qsbr a thread announces at every kQuietOps-th
/// operation. A kGrace below 2 is a bug, which tests plant on purpose. Holds is HoldsNothing, or has a static function
/// `bool held(const Block&)`: true keeps a block that is due. Its false acquires what the holders did before their end.
/// Flag is the type of the flags of seeded bugs.
template <class M, u64 kGrace = 2, u32 kBatch = 64, u32 kQuietOps = 64, class Holds = HoldsNothing,
          class Flag = std::false_type>
class Epochs {
 public:
  static constexpr std::string_view kName = "epoch";
  using Machine = M;

  /// The number of waiting blocks of one thread above which its batches count as stalled.
  static constexpr u64 kStallBlocks = u64{64} * 64;
  /// The bytes of blocks with which a batch is full, whatever their number.
  static constexpr u64 kMostBatchBytes = u64{1} << 20;

  explicit Epochs(Memory<M>& memory) : reclaim_(memory.config().reclaim), memory_(memory) {}
  Epochs(const Epochs&) = delete;
  Epochs& operator=(const Epochs&) = delete;
  /// Frees all garbage. Every ThreadState must have ended, and no block may be held.
  ~Epochs() {
    if (counters().pending != 0) drain();
    if constexpr (kHolds) {
      if (counters().pending != 0) held_at_the_end();
    }
    for (Slot* slot = first_slot(); slot != nullptr;) delete std::exchange(slot, slot->next);
  }

 private:
  using Bugs = reclaim::BugFlags<Flag>;
  static constexpr bool kHolds = !std::same_as<Holds, HoldsNothing>;
  static constexpr u64 kOutside = ~u64{0};
  static constexpr u32 kAttemptBlocks = AttemptBlocks<M>::kMaxBlocks;
  static constexpr u32 kReserve = (kAttemptBlocks + kBatch - 1) / kBatch;  // batches of a full reserve

  struct RetiredBatch {
    RetiredBatch* next = nullptr;
    u64 stamp = 0;
    u64 bytes = 0;  // of the blocks, while the batch is being filled
    u32 count = 0;
    u64 far = 0;            // kFarBlock if the record is from the far pool
    bool reserved = false;  // true if the record is from the heap, and so of a reserve
    Block blocks[kBatch];
  };
  static void push(RetiredBatch*& list, RetiredBatch* batch) { batch->next = std::exchange(list, batch); }
  static RetiredBatch* pop(RetiredBatch*& list) {
    RetiredBatch* const batch = std::exchange(list, list->next);
    batch->next = nullptr;
    return batch;
  }
  static u32 length(const RetiredBatch* list) {
    u32 batches = 0;
    for (; list != nullptr; list = list->next) ++batches;
    return batches;
  }

  // The state of one thread. Later threads reuse it, and it is never freed before the end, because a scan walks the
  // list without a lock.
  struct alignas(kFalseSharingBytes) Slot {
    typename M::template Atomic<u64> announced{kOutside};  // written by its thread, read by scans
    Slot* next = nullptr;                                  // fixed before the slot is published
    bool taken = true;                                     // guarded by Epochs::mutex_

    // Only its thread uses the members below (and drain and counters, while no operation runs). So they are not on the
    // line that scans read.
    alignas(kFalseSharingBytes) RetiredBatch* open = nullptr;  // being filled, not yet stamped
    RetiredBatch* oldest = nullptr;                            // the queue of stamped batches
    RetiredBatch* newest = nullptr;
    RetiredBatch* held = nullptr;  // the queue of batches that were due; all their blocks were held
    RetiredBatch* last_held = nullptr;
    RetiredBatch* spare = nullptr;    // a list, usually of one
    RetiredBatch* reserve = nullptr;  // a list, of kReserve if it is full
    u64 retired = 0;
    u64 freed = 0;
    u64 waiting = 0;  // blocks in the stamped batches of this slot
    u64 advances = 0;
    u64 stalled = 0;

    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
      while (reserve != nullptr) delete pop(reserve);
    }
  };

 public:
  class ThreadState {
   public:
    /// Joins the reclaimer. Takes a mutex. Throws std::bad_alloc.
    ThreadState(Epochs& epochs, Pool<M>& pool)
        : reclaim_(epochs.reclaim_), epochs_(&epochs), slot_(epochs.join()), pool_(&pool) {}
    ThreadState(ThreadState&& other) noexcept
        : reclaim_(other.reclaim_),
          short_(other.short_),
          operations_(other.operations_),
          epochs_(other.epochs_),
          slot_(std::exchange(other.slot_, nullptr)),
          pool_(other.pool_) {}
    ThreadState& operator=(ThreadState&&) = delete;
    /// Ends the thread's membership, outside enter and leave. Frees the blocks that are due (all, if no other thread is
    /// inside) and leaves the rest to other threads.
    ~ThreadState() {
      if (slot_ == nullptr) return;
      idle();
      for (u64 advance = 0; advance <= kGrace; ++advance) collect();
      epochs_->leave(*slot_, *pool_);
    }

    /// Calls `run(decided)`. `decided` enters and leaves like this thread, but its Reclaim is fixed at compile time.
    template <class Run>
    [[gnu::always_inline]] decltype(auto) decide(const Run& run) {
      if (reclaim_ == Reclaim::kEpoch) [[likely]]
        return decided_as<Reclaim::kEpoch>(run);
      if (reclaim_ == Reclaim::kEpochFence) return decided_as<Reclaim::kEpochFence>(run);
      if (reclaim_ == Reclaim::kQsbr) return decided_as<Reclaim::kQsbr>(run);
      return decided_as<Reclaim::kLeak>(run);
    }
    /// Enters an operation: until leave, no block that can be reached is freed. Must not be nested. Always inlined,
    /// like leave: otherwise g++ decides, and speed depends on how many indexes share a translation unit.
    [[gnu::always_inline]] void enter() {
      decide([](auto& decided) { decided.enter(); });
    }
    /// Leaves the operation: pointers that were read since enter must not be used any more.
    [[gnu::always_inline]] void leave() {
      decide([](auto& decided) { decided.leave(); });
    }
    /// Declares that no reclamation need wait for this thread until its next enter. Call it between operations.
    /// Release: pairs with all_reached, so that this thread's reads happen before the frees that the scan allows.
    void idle() { slot_->announced.store(kOutside, kRelease); }

    /// Makes room to record all blocks that one attempt can retire. Call it before an operation that may retire,
    /// outside enter and leave. Returns false when memory is out and too many blocks wait to be freed. Never waits:
    /// O(1), or a few scans of all threads.
    [[nodiscard, gnu::always_inline]] bool reserve() { return !short_ || refill(); }

    /// Returns the number of blocks in this thread's batches that are full and wait for other threads.
    [[nodiscard]] u64 waiting() const { return slot_->waiting; }

    /// Takes a block that can no longer be found, to free it after the grace period. After a successful reserve it
    /// never fails, for as many blocks as one attempt can retire. O(1), and a scan of all threads once in kBatch calls
    /// or in kMostBatchBytes.
    void retire(void* block, u64 bytes) {
      Slot& slot = *slot_;
      ++slot.retired;
      if (slot.open == nullptr) [[unlikely]]
        open();
      RetiredBatch& batch = *slot.open;
      batch.blocks[batch.count++] = {block, bytes};
      batch.bytes += bytes & ~kFarBlock;
      // A batch that closes with few blocks wastes the rest of its record. So a thread that is short fills its batches,
      // and refill closes them.
      if (batch.count == kBatch || (batch.bytes >= kMostBatchBytes && !short_)) [[unlikely]]
        collect();
    }

    /// Closes the batch, tries once to advance the epoch, and frees the batches that are due. A thread that goes idle
    /// may call it; retire calls it when a batch is full.
    [[gnu::noinline]] void collect() {
      Slot& slot = *slot_;
      if (slot.open != nullptr) close();
      if (reclaim_ == Reclaim::kLeak) return;
      adopt();
      if constexpr (kHolds) look_again();
      if (slot.oldest == nullptr) return;
      if (epochs_->try_advance()) ++slot.advances;
      free_due();
      pool_->balance();
      pool_->balance_far();
      if (slot.waiting > kStallBlocks) ++slot.stalled;
    }

    /// Frees all blocks that this thread has retired, or adopted, unless another thread is inside an operation. Call it
    /// between operations, when memory is out.
    [[gnu::noinline]] void collect_all() {
      idle();
      for (u32 advance = 0; advance < 3; ++advance) collect();
    }

   private:
    /// The enter and leave of this thread for one Reclaim. It holds all that they need, so a loop keeps that in
    /// registers.
    template <Reclaim kReclaim>
    class Decided {
     public:
      explicit Decided(ThreadState& me)
          : announced_(me.slot_->announced), global_(me.epochs_->global_), operations_(me.operations_) {}
      template <class Run>
      [[gnu::always_inline]] decltype(auto) decide(const Run& run) const {
        return run(*this);
      }
      [[gnu::always_inline]] void enter() const {
        if constexpr (kReclaim == Reclaim::kLeak) return;
        if (kReclaim != Reclaim::kQsbr || announced_.load(kRelaxed) == kOutside) announce();  // relaxed: its own store
      }
      // Release: pairs with all_reached, so that this thread's reads happen before the frees that the scan allows.
      [[gnu::always_inline]] void leave() const {
        if constexpr (kReclaim == Reclaim::kQsbr) {
          if (++operations_ % kQuietOps == 0) announce();
        } else if constexpr (kReclaim != Reclaim::kLeak) {
          announced_.store(kOutside, kRelease);
        }
      }

      void idle() const { announced_.store(kOutside, kRelease); }  // as ThreadState::idle

     private:
      // Acquire: pairs with the read-modify-writes of the global epoch. Release: pairs with all_reached. The scan may
      // see this store without having seen the leave before it; all reads of the previous operation must precede it
      // too.
      [[gnu::always_inline]] void announce() const {
        announced_.store(global_.load(kAcquire), kRelease);
        if constexpr (kReclaim == Reclaim::kEpochFence) {
          M::full_fence();  // pairs with the full fence of try_advance
        } else {
          M::light_fence();  // pairs with the heavy fence of try_advance
        }
      }

      typename M::template Atomic<u64>& announced_;
      const typename M::template Atomic<u64>& global_;
      u32& operations_;  // counted under qsbr
    };

    template <Reclaim kReclaim, class Run>
    [[gnu::always_inline]] decltype(auto) decided_as(const Run& run) {
      const Decided<kReclaim> decided(*this);
      return run(decided);
    }

    RetiredBatch* new_batch() {
      if (void* const at = pool_->allocate(sizeof(RetiredBatch))) return new (at) RetiredBatch;
      if (!pool_->has_far()) return nullptr;
      void* const at = pool_->allocate(sizeof(RetiredBatch) | kFarBlock);
      if (at == nullptr) return nullptr;
      RetiredBatch* const batch = new (at) RetiredBatch;
      batch->far = kFarBlock;
      return batch;
    }

    void open() {
      Slot& slot = *slot_;
      slot.open = slot.spare != nullptr ? pop(slot.spare) : new_batch();
      if (slot.open != nullptr) [[likely]]
        return;
      if (slot.reserve == nullptr) missing_reserve();
      slot.open = pop(slot.reserve);
      short_ = true;
    }
    // Ends the process: the policy has an error, which would otherwise overwrite memory.
    [[noreturn, gnu::noinline, gnu::cold]] static void missing_reserve() {
      std::fprintf(stderr, "Epochs: memory is out; the policy must call reserve before an operation that retires\n");
      std::abort();
    }

    /// Returns the number of blocks that can be retired without memory from the pool.
    u32 room() const {
      const u32 left = slot_->open == nullptr ? 0 : kBatch - slot_->open->count;
      return left + (length(slot_->spare) + length(slot_->reserve)) * kBatch;
    }

    [[gnu::noinline, gnu::cold]] bool refill() {
      if (room() < kAttemptBlocks || (slot_->open != nullptr && slot_->open->bytes >= kMostBatchBytes)) {
        idle();  // reserve is called between operations
        for (u64 advance = 0; advance <= kGrace; ++advance) collect();
      }
      while (room() < kAttemptBlocks) {
        RetiredBatch* const batch = new_batch();
        if (batch == nullptr) return false;
        push(slot_->spare, batch);
      }
      short_ = length(slot_->reserve) != kReserve;
      return true;
    }

    void close() {
      RetiredBatch* const batch = std::exchange(slot_->open, nullptr);
      slot_->waiting += batch->count;
      batch->stamp = epochs_->stamp();
      if (Bugs::kEarlyStamp) batch->stamp = std::min(batch->stamp, slot_->announced.load(kRelaxed));  // its own
      append(batch);
    }

    void append(RetiredBatch* batch) { Epochs::append(slot_->oldest, slot_->newest, batch); }

    // Adopts the garbage of threads that have exited. Its stamps may be older than those before it in the queue; such a
    // batch only waits longer.
    void adopt() {
      if (epochs_->orphans_.load(kRelaxed) == nullptr) [[likely]]
        return;  // relaxed: only a hint, the exchange orders
      // Acquire: pairs with every call of Epochs::leave, because each added to the list by a read-modify-write.
      RetiredBatch* batch = epochs_->orphans_.exchange(nullptr, kAcquire);
      while (batch != nullptr) {
        slot_->waiting += batch->count;
        append(std::exchange(batch, batch->next));
      }
    }

    void free_due() {
      const u64 now = epochs_->global_.load(kAcquire);  // pairs with try_advance: reads of the blocks happened before
      while (slot_->oldest != nullptr && slot_->oldest->stamp + (Bugs::kOneEpoch ? 1 : kGrace) <= now) {
        RetiredBatch* const batch = slot_->oldest;
        slot_->oldest = batch->next;
        epochs_->free_blocks(*batch, *slot_, *pool_);
        if constexpr (kHolds) {
          if (batch->count != 0) {
            hold(batch, *slot_, *pool_);
            continue;
          }
        }
        if (slot_->spare == nullptr && !batch->reserved) {
          const u64 far = batch->far;
          slot_->spare = new (batch) RetiredBatch;
          slot_->spare->far = far;
        } else {
          give_back(batch, *slot_, *pool_);
        }
      }
    }

    // Frees the blocks that are no longer held, of two batches: a collection seldom adds more than one.
    void look_again() {
      for (u32 looks = 0; looks < 2 && slot_->held != nullptr; ++looks) {
        RetiredBatch* const batch = pop(slot_->held);
        slot_->waiting += batch->count;  // free_blocks subtracts it
        if (Bugs::kTrustSecondLook) free_anyway(*batch, *slot_, *pool_);
        empty(batch, *slot_, *pool_);
      }
    }

    Reclaim reclaim_;
    bool short_ = false;  // the reserve may not be full
    u32 operations_ = 0;  // counted under qsbr
    Epochs* epochs_;
    Slot* slot_;
    Pool<M>* pool_;
  };

  /// Frees all garbage, except blocks that are held. No operation may run before this returns. Throws std::bad_alloc if
  /// no pool is idle and memory is out.
  void drain() {
    Pool<M>& pool = memory_.join();
    for (Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
      if (slot->open != nullptr) empty(std::exchange(slot->open, nullptr), *slot, pool);
      empty(std::exchange(slot->oldest, nullptr), *slot, pool);
      empty(std::exchange(slot->spare, nullptr), *slot, pool);
      if constexpr (kHolds) empty(std::exchange(slot->held, nullptr), *slot, pool);
      slot->waiting = 0;
    }
    if (RetiredBatch* const orphans = orphans_.exchange(nullptr, kAcquire)) {  // pairs with Epochs::leave
      Slot& any = *first_slot();
      any.waiting += count(orphans);
      empty(orphans, any, pool);
    }
    memory_.leave(pool);
  }

  /// Returns the counters; call it while no operation runs.
  ReclaimCounters counters() const {
    ReclaimCounters sum;
    for (const Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
      sum.retired += slot->retired;
      sum.freed += slot->freed;
      sum.advances += slot->advances;
      sum.stalled += slot->stalled;
    }
    sum.pending = sum.retired - sum.freed;
    return sum;
  }

 private:
  Slot* join() {
    const std::lock_guard lock(mutex_);
    for (Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
      if (slot->taken) continue;
      complete_reserve(*slot);
      slot->taken = true;
      return slot;
    }
    auto made = std::make_unique<Slot>();
    complete_reserve(*made);
    Slot* const slot = made.release();
    slot->next = slots_.load(kRelaxed);  // relaxed: written only under the mutex
    slots_.store(slot, kRelease);        // pairs with first_slot
    // A scan that reads the epoch from this read-modify-write, or from a later one, has acquired the slot. Any other
    // scan allows only blocks to be freed that were stamped by an earlier read-modify-write. The new thread has
    // acquired their unlinking stores.
    stamp();
    return slot;
  }

  static void complete_reserve(Slot& slot) {
    for (u32 batches = length(slot.reserve); batches < kReserve; ++batches) {
      push(slot.reserve, new RetiredBatch);
      slot.reserve->reserved = true;
    }
  }

  void leave(Slot& slot, Pool<M>& pool) {
    empty(std::exchange(slot.spare, nullptr), slot, pool);
    if constexpr (kHolds) {
      while (slot.held != nullptr) append(slot.oldest, slot.newest, pop(slot.held));
    }
    if (Bugs::kFreeOnLeave) empty(std::exchange(slot.oldest, nullptr), slot, pool);
    if (slot.oldest != nullptr) {
      RetiredBatch* last = slot.newest;
      RetiredBatch* const first = std::exchange(slot.oldest, nullptr);
      slot.waiting = 0;
      last->next = orphans_.load(kRelaxed);  // relaxed: only an address to link to, which the exchange proves
      while (!orphans_.compare_exchange(last->next, first, kRelease)) {  // pairs with adopt and drain
      }
    }
    const std::lock_guard lock(mutex_);
    slot.taken = false;
  }

  // Returns the global epoch by a read-modify-write. It acquires from all earlier ones, and all later ones acquire from
  // it all that this thread has done so far.
  u64 stamp() { return global_.fetch_add(0, kAcqRel); }  // pairs with itself and try_advance

  [[nodiscard]] bool try_advance() {
    u64 epoch = global_.load(kAcquire);     // pairs with stamp and with earlier advances
    if (!all_reached(epoch)) return false;  // the scan would fail, so spare the fence
    if (reclaim_ == Reclaim::kEpochFence) {
      M::full_fence();  // pairs with the full fence of Decided::announce
    } else {
      M::heavy_fence();  // pairs with the light fence of Decided::announce
    }
    if (!all_reached(epoch)) return false;
    return global_.compare_exchange(epoch, epoch + 1, kAcqRel);  // pairs with announce and free_due
  }

  bool all_reached(u64 epoch) const {
    if (Bugs::kSkipScan) return true;
    for (const Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
      if (slot->announced.load(kAcquire) < epoch) return false;  // pairs with leave, idle and announce
    }
    return true;
  }

  // Returns the first slot. The list only grows, at its beginning, so it can be walked from here to its end.
  Slot* first_slot() const { return slots_.load(kAcquire); }  // pairs with join

  static void append(RetiredBatch*& oldest, RetiredBatch*& newest, RetiredBatch* batch) {
    batch->next = nullptr;
    (oldest == nullptr ? oldest : newest->next) = batch;
    newest = batch;
  }

  // Frees the blocks of a batch that is due. Blocks that are held stay in it.
  static void free_blocks(RetiredBatch& batch, Slot& slot, Pool<M>& pool) {
    u32 held = 0;
    for (u32 i = 0; i < batch.count; ++i) {
      if constexpr (kHolds) {
        if (Holds::held(batch.blocks[i])) {
          batch.blocks[held++] = batch.blocks[i];
          continue;
        }
      }
      pool.free(batch.blocks[i].start, batch.blocks[i].bytes);
    }
    slot.freed += batch.count - held;
    slot.waiting -= batch.count;
    if constexpr (kHolds) batch.count = held;
  }
  // Frees the blocks of a batch, held or not: a bug.
  static void free_anyway(RetiredBatch& batch, Slot& slot, Pool<M>& pool) {
    for (u32 i = 0; i < batch.count; ++i) pool.free(batch.blocks[i].start, batch.blocks[i].bytes);
    slot.freed += batch.count;
    slot.waiting -= std::exchange(batch.count, 0);
  }
  // Queues a batch of held blocks. As many as there is room for go into the last such batch, so its record is used up.
  static void hold(RetiredBatch* batch, Slot& slot, Pool<M>& pool) {
    if (slot.held != nullptr) {
      RetiredBatch& last = *slot.last_held;
      while (batch->count != 0 && last.count != kBatch) last.blocks[last.count++] = batch->blocks[--batch->count];
      if (batch->count == 0) return give_back(batch, slot, pool);
    }
    append(slot.held, slot.last_held, batch);
  }
  static void empty(RetiredBatch* batch, Slot& slot, Pool<M>& pool) {
    while (batch != nullptr) {
      RetiredBatch* const one = pop(batch);
      free_blocks(*one, slot, pool);
      if constexpr (kHolds) {
        if (one->count != 0) {
          hold(one, slot, pool);
          continue;
        }
      }
      give_back(one, slot, pool);
    }
  }
  // Ends the process: memory that the caller still reads would be unmapped.
  [[noreturn, gnu::noinline, gnu::cold]] static void held_at_the_end() {
    std::fprintf(stderr, "Epochs: a block is still held; every pin must end before the reclaimer\n");
    std::abort();
  }
  // Frees the record of an empty batch. A record of the heap goes to this slot's reserve, also if another slot made it
  // (adoption).
  static void give_back(RetiredBatch* batch, Slot& slot, Pool<M>& pool) {
    if (!batch->reserved) return pool.free(batch, sizeof(RetiredBatch) | batch->far);
    if (length(slot.reserve) == kReserve) return delete batch;
    batch->count = 0;
    batch->bytes = 0;
    push(slot.reserve, batch);
  }
  static u64 count(const RetiredBatch* batch) {
    u64 blocks = 0;
    for (; batch != nullptr; batch = batch->next) blocks += batch->count;
    return blocks;
  }

  alignas(kFalseSharingBytes) typename M::template Atomic<u64> global_{0};
  alignas(kFalseSharingBytes) typename M::template Atomic<Slot*> slots_{nullptr};
  typename M::template Atomic<RetiredBatch*> orphans_{nullptr};
  const Reclaim reclaim_;
  Memory<M>& memory_;
  std::mutex mutex_;  // held while a thread joins or leaves
};

}  // namespace latchlab
