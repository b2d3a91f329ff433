#pragma once
// Models of allocators: the addresses that they give, the lines of their own that they touch, and their calls of the
// kernel. So a modelled machine aborts and waits as a real one does under --alloc=malloc and its like.
//
//     program:    allocate(fiber, bytes)
//       1. needs()     names the call of the kernel that must come first; in a transaction that call aborts
//          grown()     after the call: the memory has grown. Again, until no call is needed
//       2. allocate()  takes a block. It is final at once, and notes what the allocator has touched for it
//       3. touched()   the caller makes these references. A transaction that one of them ends gives the block back
//
//     HeapAllocator   glibc       chunks with headers, an arena a thread, which grows by 4096 bytes at a time
//     SlabAllocator   tcmalloc    slabs of blocks of one size; they differ in what a thread keeps, in the way back of a
//                     jemalloc    block that another thread frees, and in the step by which they grow
//                     mimalloc
//                     tbb
//
// Free blocks and headers are kept in the blocks themselves, as the allocators do. These accesses are no references of
// the program, and no transaction undoes them: an aborted one leaves its block to the fiber that took it, and keeps
// what it moved between lists. On a processor both would be undone.
//
// No model returns memory to the kernel. The allocators that do so wait until all blocks of a slab have been free for
// a while: tens of milliseconds (mimalloc) or 10 seconds (jemalloc). Inserts leave no such slab.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/types.h"
#include "src/machine/simulated_costs.h"

namespace latchlab {

/// An allocator that has a model.
enum class ModelledMalloc : u8 { kGlibc, kTcmalloc, kJemalloc, kMimalloc, kTbb };

class AllocatorModel {
 public:
  /// The memory that an allocator divides.
  struct Ground {
    char* start;
    /// Returns the offset from `start` of so many zero bytes at this alignment, or 0 if there are none left.
    std::function<u64(u64 bytes, u64 alignment)> take;
  };
  /// Addresses that have become usable; none if `bytes` is 0.
  struct Addresses {
    u64 offset, bytes;
  };
  /// A reference of the allocator's own to 8 bytes at an offset.
  struct Touch {
    enum class Kind : u8 {
      kLoad,
      kStore,
      kChange,  ///< an atomic read-modify-write
      kLock,    ///< takes the lock there: a word that is 1 while it is taken
      kUnlock,
    } kind;
    u64 at;
  };

  AllocatorModel(Ground ground, u32 owners) : ground_(std::move(ground)), touched_(owners) {}
  virtual ~AllocatorModel() = default;
  AllocatorModel(const AllocatorModel&) = delete;
  AllocatorModel& operator=(const AllocatorModel&) = delete;

  /// Returns the largest block that is not a mapping of its own.
  virtual u64 largest() const = 0;
  /// Returns the nanoseconds of a call's instructions, without the references that it notes.
  virtual u64 ns_of_call() const = 0;

  /// Returns the call of the kernel that the owner's next block of so many bytes needs first; none if it needs none.
  virtual std::optional<KernelCall> needs(u32 owner, u64 bytes) = 0;
  /// Does what the call named by needs() does. Returns the addresses that it maps; nothing if memory is out.
  virtual std::optional<Addresses> grown(u32 owner, u64 bytes) = 0;
  /// Takes a block, when it needs no call. Returns its offset. A block of 64 bytes or more is aligned to 64, any other
  /// to 16.
  virtual u64 allocate(u32 owner, u64 bytes) = 0;
  virtual void deallocate(u32 owner, u64 block, u64 bytes) = 0;

  /// Forgets what the owner has touched; call it before each allocation or deallocation.
  void begin(u32 owner) { touched_[owner].clear(); }
  /// Returns what the owner's call has touched, in order.
  const std::vector<Touch>& touched(u32 owner) const { return touched_[owner]; }

 protected:
  using Kind = Touch::Kind;

  void touch(u32 owner, Kind kind, u64 at) { touched_[owner].push_back({kind, at}); }
  u64& word(u64 at) { return *reinterpret_cast<u64*>(ground_.start + at); }

  const Ground ground_;

 private:
  std::vector<std::vector<Touch>> touched_;
};

/// Makes a model for owners 0 to `owners` - 1.
[[nodiscard]] std::unique_ptr<AllocatorModel> make_allocator(ModelledMalloc, AllocatorModel::Ground, u32 owners);

}  // namespace latchlab
