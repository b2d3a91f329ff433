#pragma once
// Epoch-based reclamation: a retired block is freed when everybody who may have seen it has left.
//
//     global epoch      ... 7        8        9 ...
//     thread A             [ inside, announced 7 ]        while it is inside, 8 -> 9 cannot happen
//     thread B                 unlinks x, retires it: stamp 8
//     x is freed                                    when the global epoch is 10
//
// A thread announces the global epoch when it enters and kOutside when it leaves. The epoch goes from g to g + 1 only
// when every thread inside has announced g (kOutside is larger than any epoch, so the test is one comparison). A block
// is stamped with the global epoch AFTER it was unlinked, and freed kGrace = 2 epochs later.
//
// Why two are enough, and what each order is for. Let U be the unlinking store, S the stamp (a read-modify-write of the
// global epoch that sees s), and R a reader inside that can reach the block, so it has not seen U. Consider the scan of
// the threads before s + 1 became s + 2. It read s + 1, which comes after S in the order of read-modify-writes on the
// epoch: U happens before the scan. R announces, then fences lightly, then reads; the scan fences heavily, then looks
// at the announcements. The two fences are ordered one way or the other (Machine::light_fence), so of the two at least
// one holds:
//
//   R sees U        and cannot reach the block
//   the look sees   an epoch below s + 1 and the scan fails; or s + 1, read from the global epoch by R, who acquired U
//                   with it;
//   what R stored   or kOutside: R has left, and all that it read happened before the look, hence before the free
//
// Without the fences both sides could miss each other (the StoreLoad order that reference implementations forget). They
// are asymmetric because entering happens millions of times as often as scanning: a light fence is no instruction at
// all, and successive lookups overlap their cache misses as those of `none` do. A thread that reads an old epoch and
// announces it late only delays: the argument never used that its announcement is fresh. One epoch would not be enough:
// s -> s + 1 lets readers pass that announced s before U. A stamp from the thread's own announcement may be one epoch
// old, and frees too early.
//
// MemoryConfig::reclaim says how threads announce, which is what optimistic readers pay for safe memory:
//
//   epoch        a store on entering and one on leaving; the scan pays for the fences         as above
//   epoch-fence  the same, and a full fence on entering; the scan fences for itself alone
//   qsbr         no store on entering; every kQuietOps-th leave announces the present epoch, which says that all reads
//                before it are done, as leaving and entering would. Outside is only who says idle: a thread that stops
//                operating without it holds up all garbage
//   leak         nothing; garbage waits for drain. What the others cost is the distance to this
//
// Costs are amortised: retired blocks collect in a batch that is stamped once, when it is full (later is safe), and
// only then the thread tries to advance the epoch and frees what is due into its own pool. Tests make a batch of one
// block, so that short schedules reach the frees.
//
// Batches are recorded in blocks of the pool. A retired block cannot hold its own link: the smallest one is a key and a
// value, and a reader inside may still load both. So retiring takes memory, at a moment when nothing may fail any more.
// Therefore each thread owns a reserve from the heap, records for as much as one attempt can retire:
//
//     retire    finds no block for a record, and takes one of the reserve: the thread is short
//     reserve   before each operation that may retire, asks a short thread for room: frees what is due, then tries the
//               pool. Without room the operation is refused, before it has changed anything
//
// A batch of the reserve is freed as any other, and its record goes back to a reserve. Nothing waits, so nothing can
// deadlock.
//
// A thread that exits leaves its garbage to the others: they adopt it with their next batch, or drain does. A thread
// that never leaves its operation holds up all garbage; this is detected and counted (stalled), not prevented. If
// memory is out too, operations that may retire are refused until it leaves.
//
// After K. Fraser, Practical lock-freedom (2004). Unlike there, entering never advances anything.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "src/memory/attempt_blocks.h"
#include "src/reclaim/reclaimer.h"

namespace latchlab {

/// kBatch blocks are stamped together; under qsbr a thread announces at every kQuietOps-th operation. kGrace below 2 is
/// a bug that tests plant on purpose.
template <class M, u64 kGrace = 2, u32 kBatch = 64, u32 kQuietOps = 64>
class Epochs {
 public:
  static constexpr std::string_view kName = "epoch";
  using Machine = M;

  /// Garbage of one thread from which on its batches are counted as stalled.
  static constexpr u64 kStallBlocks = u64{64} * 64;

  explicit Epochs(Memory<M>& memory) : reclaim_(memory.config().reclaim), memory_(memory) {}
  Epochs(const Epochs&) = delete;
  Epochs& operator=(const Epochs&) = delete;
  /// All Threads are gone.
  ~Epochs() {
    if (counters().pending != 0) drain();
    for (Slot* slot = first_slot(); slot != nullptr;) delete std::exchange(slot, slot->next);
  }

 private:
  static constexpr u64 kOutside = ~u64{0};
  static constexpr u32 kAttemptBlocks = AttemptBlocks<M>::kMaxBlocks;
  static constexpr u32 kReserve = (kAttemptBlocks + kBatch - 1) / kBatch;  // batches of a whole reserve

  struct RetiredBatch {
    RetiredBatch* next = nullptr;
    u64 stamp = 0;
    u32 count = 0;
    bool reserved = false;  // from the heap
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

  // One per thread, reused by later threads, never freed before the end: a scan walks the list without a lock.
  struct alignas(kFalseSharingBytes) Slot {
    typename M::template Atomic<u64> announced{kOutside};  // written by its thread; scans only look
    Slot* next = nullptr;                                  // fixed before the slot is published
    bool taken = true;                                     // guarded by Epochs::mutex_

    // From here on of its thread alone (and of drain and counters, when nothing runs): not on the line that scans take.
    alignas(kFalseSharingBytes) RetiredBatch* open = nullptr;  // being filled, not yet stamped
    RetiredBatch* oldest = nullptr;                            // stamped, in a queue
    RetiredBatch* newest = nullptr;
    RetiredBatch* spare = nullptr;    // a list, of one in general
    RetiredBatch* reserve = nullptr;  // a list, of kReserve if it is whole
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
    /// Takes a mutex. Throws std::bad_alloc.
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
    /// Outside of enter and leave. Frees what is due (everything, if nobody else is inside) and leaves the rest to
    /// others.
    ~ThreadState() {
      if (slot_ == nullptr) return;
      idle();
      for (u64 advance = 0; advance <= kGrace; ++advance) collect();
      epochs_->leave(*slot_, *pool_);
    }

    /// `run(decided)`, where `decided` enters and leaves as this thread does, but for one Reclaim, which it need not
    /// look up any more.
    template <class Run>
    [[gnu::always_inline]] decltype(auto) decide(const Run& run) {
      if (reclaim_ == Reclaim::kEpoch) [[likely]]
        return decided_as<Reclaim::kEpoch>(run);
      if (reclaim_ == Reclaim::kEpochFence) return decided_as<Reclaim::kEpochFence>(run);
      if (reclaim_ == Reclaim::kQsbr) return decided_as<Reclaim::kQsbr>(run);
      return decided_as<Reclaim::kLeak>(run);
    }
    /// From here on nothing that can be reached is freed. Not nested. Always inlined, as leave is: else g++ decides,
    /// and speed depends on how many indexes share a translation unit.
    [[gnu::always_inline]] void enter() {
      decide([](auto& decided) { decided.enter(); });
    }
    /// What was read since enter must not be used any more.
    [[gnu::always_inline]] void leave() {
      decide([](auto& decided) { decided.leave(); });
    }
    /// Between operations: from here to the next enter nothing waits for this thread. Release: pairs with the scan's
    /// look, so that our reads happen before the frees that it allows.
    void idle() { slot_->announced.store(kOutside, kRelease); }

    /// Before an operation that may retire, outside of enter and leave: whether there is room for what one attempt can
    /// retire. False when memory is out and too much waits to be freed. Never waits: O(1), or a few looks at every
    /// thread.
    [[nodiscard, gnu::always_inline]] bool reserve() { return !short_ || refill(); }

    /// Takes a block that can no longer be found, to free it after the grace period. Never fails, for as many blocks
    /// after a reserve as an attempt can retire. O(1), and once in kBatch times a look at every thread.
    void retire(void* block, u64 bytes) {
      Slot& slot = *slot_;
      ++slot.retired;
      if (slot.open == nullptr) [[unlikely]]
        open();
      RetiredBatch& batch = *slot.open;
      batch.blocks[batch.count++] = {block, bytes};
      if (batch.count == kBatch) [[unlikely]]
        collect();
    }

    /// Closes the batch, tries once to advance the epoch, frees what is due. For threads that go idle; retire calls it
    /// by itself.
    [[gnu::noinline]] void collect() {
      Slot& slot = *slot_;
      if (slot.open != nullptr) close();
      if (reclaim_ == Reclaim::kLeak) return;
      adopt();
      if (slot.oldest == nullptr) return;
      if (epochs_->try_advance()) ++slot.advances;
      free_due();
      if (slot.waiting > kStallBlocks) ++slot.stalled;
    }

   private:
    /// How this thread enters and leaves for one Reclaim. What it needs is in it, so that a loop has it in registers.
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
        if (kReclaim != Reclaim::kQsbr || announced_.load(kRelaxed) == kOutside) announce();  // relaxed: our own store
      }
      // Release: pairs with the scan's look, so that our reads happen before the frees that it allows.
      [[gnu::always_inline]] void leave() const {
        if constexpr (kReclaim == Reclaim::kQsbr) {
          if (++operations_ % kQuietOps == 0) announce();
        } else if constexpr (kReclaim != Reclaim::kLeak) {
          announced_.store(kOutside, kRelease);
        }
      }

      void idle() const { announced_.store(kOutside, kRelease); }  // as ThreadState::idle

     private:
      // Acquire: pairs with the read-modify-writes of the global epoch. Release: pairs with the scan's look, which may
      // see this store and not the leave before it, and must still have all reads of our last stay behind it.
      [[gnu::always_inline]] void announce() const {
        announced_.store(global_.load(kAcquire), kRelease);
        if constexpr (kReclaim == Reclaim::kEpochFence) {
          M::full_fence();  // pairs with the full fence of the scan
        } else {
          M::light_fence();  // pairs with the heavy fence of the scan
        }
      }

      typename M::template Atomic<u64>& announced_;
      const typename M::template Atomic<u64>& global_;
      u32& operations_;  // of qsbr
    };

    template <Reclaim kReclaim, class Run>
    [[gnu::always_inline]] decltype(auto) decided_as(const Run& run) {
      const Decided<kReclaim> decided(*this);
      return run(decided);
    }

    RetiredBatch* new_batch() {
      void* const at = pool_->allocate(sizeof(RetiredBatch));
      return at == nullptr ? nullptr : new (at) RetiredBatch;
    }

    void open() {
      Slot& slot = *slot_;
      slot.open = slot.spare != nullptr ? pop(slot.spare) : new_batch();
      if (slot.open != nullptr) [[likely]]
        return;
      if (slot.reserve == nullptr) nobody_asked();
      slot.open = pop(slot.reserve);
      short_ = true;
    }
    // A policy's mistake, which would otherwise overwrite memory.
    [[noreturn, gnu::noinline, gnu::cold]] static void nobody_asked() {
      std::fprintf(stderr, "Epochs: memory is out, and nobody called reserve before an operation that retires\n");
      std::abort();
    }

    /// Blocks that can be retired whatever the pool has.
    u32 room() const {
      const u32 left = slot_->open == nullptr ? 0 : kBatch - slot_->open->count;
      return left + (length(slot_->spare) + length(slot_->reserve)) * kBatch;
    }

    [[gnu::noinline, gnu::cold]] bool refill() {
      if (room() < kAttemptBlocks) {
        idle();  // between operations
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
      append(batch);
    }

    void append(RetiredBatch* batch) {
      batch->next = nullptr;
      (slot_->oldest == nullptr ? slot_->oldest : slot_->newest->next) = batch;
      slot_->newest = batch;
    }

    // Garbage of threads that have gone. Its stamps may be older than those before it in our queue: it only waits
    // longer.
    void adopt() {
      if (epochs_->orphans_.load(kRelaxed) == nullptr) [[likely]]
        return;  // a guess; the exchange orders
      // Acquire: pairs with Epochs::leave, with every one of them, since each added to the list by a read-modify-write.
      RetiredBatch* batch = epochs_->orphans_.exchange(nullptr, kAcquire);
      while (batch != nullptr) {
        slot_->waiting += batch->count;
        append(std::exchange(batch, batch->next));
      }
    }

    void free_due() {
      const u64 now = epochs_->global_.load(kAcquire);  // pairs with try_advance: reads of the blocks happened before
      while (slot_->oldest != nullptr && slot_->oldest->stamp + kGrace <= now) {
        RetiredBatch* const batch = slot_->oldest;
        slot_->oldest = batch->next;
        epochs_->free_blocks(*batch, *slot_, *pool_);
        if (slot_->spare == nullptr && !batch->reserved) {
          slot_->spare = new (batch) RetiredBatch;
        } else {
          give_back(batch, *slot_, *pool_);
        }
      }
    }

    Reclaim reclaim_;
    bool short_ = false;  // the reserve may not be whole
    u32 operations_ = 0;  // of qsbr
    Epochs* epochs_;
    Slot* slot_;
    Pool<M>* pool_;
  };

  /// Frees all garbage. No operation runs, and none may begin before this returns. Throws std::bad_alloc if it is the
  /// first to use the memory's pools.
  void drain() {
    Pool<M>& pool = memory_.join();
    for (Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
      if (slot->open != nullptr) empty(std::exchange(slot->open, nullptr), *slot, pool);
      empty(std::exchange(slot->oldest, nullptr), *slot, pool);
      empty(std::exchange(slot->spare, nullptr), *slot, pool);
      slot->waiting = 0;
    }
    if (RetiredBatch* const orphans = orphans_.exchange(nullptr, kAcquire)) {  // pairs with Epochs::leave
      Slot& any = *first_slot();
      any.waiting += count(orphans);
      empty(orphans, any, pool);
    }
    memory_.leave(pool);
  }

  /// While no operation runs.
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
    // A scan that has read the epoch from this read-modify-write, or from a later one, has acquired the slot. What any
    // other scan lets free was stamped, by a read-modify-write too, before this one: the new thread acquires that it is
    // unlinked.
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

  // The global epoch, in the order of its read-modify-writes: acquires from all earlier ones, and all later ones
  // acquire from it what this thread has done so far.
  u64 stamp() { return global_.fetch_add(0, kAcqRel); }  // pairs with itself and try_advance

  [[nodiscard]] bool try_advance() {
    u64 epoch = global_.load(kAcquire);     // pairs with stamp and with earlier advances
    if (!all_reached(epoch)) return false;  // sure to fail: spare the fence
    if (reclaim_ == Reclaim::kEpochFence) {
      M::full_fence();  // pairs with the full fence of ThreadState::enter
    } else {
      M::heavy_fence();  // pairs with the light fences of ThreadState
    }
    if (!all_reached(epoch)) return false;
    return global_.compare_exchange(epoch, epoch + 1, kAcqRel);  // pairs with enter and free_due
  }

  bool all_reached(u64 epoch) const {
    for (const Slot* slot = first_slot(); slot != nullptr; slot = slot->next) {
      if (slot->announced.load(kAcquire) < epoch) return false;  // pairs with ThreadState::leave
    }
    return true;
  }

  // The list of slots only grows, at its beginning: whoever has this can walk it to its end.
  Slot* first_slot() const { return slots_.load(kAcquire); }  // pairs with join

  static void free_blocks(const RetiredBatch& batch, Slot& slot, Pool<M>& pool) {
    for (u32 i = 0; i < batch.count; ++i) pool.free(batch.blocks[i].start, batch.blocks[i].bytes);
    slot.freed += batch.count;
    slot.waiting -= batch.count;
  }
  static void empty(RetiredBatch* batch, Slot& slot, Pool<M>& pool) {
    while (batch != nullptr) {
      free_blocks(*batch, slot, pool);
      give_back(pop(batch), slot, pool);
    }
  }
  // A batch without blocks. One of the reserve may come from another slot, by adoption.
  static void give_back(RetiredBatch* batch, Slot& slot, Pool<M>& pool) {
    if (!batch->reserved) return pool.free(batch, sizeof(RetiredBatch));
    if (length(slot.reserve) == kReserve) return delete batch;
    batch->count = 0;
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
  std::mutex mutex_;  // joining and leaving threads
};

}  // namespace latchlab
