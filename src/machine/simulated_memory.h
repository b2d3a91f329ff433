#pragma once
// The memory of the simulated machine: an arena with a state for every 16 bytes, and its lines.
//
//     arena    |block|block|     |block|            ...        blocks are never reused within a schedule,
//     states   |live |freed|never|live |never       ...        so that an access after free cannot hide
//     lines    readers, writer, waited: one per 64 bytes, for the conflicts of transactions
//
// Cells may also lie outside the arena (on a stack, in a test's object). Their lines are numbered in the order in which
// they are first accessed. So a schedule does not depend on the addresses of the system's allocator. reset() forgets
// all blocks; its time is proportional to the memory used.
#include <string>
#include <vector>

#include "src/base/types.h"
#include "src/machine/fiber_set.h"
#include "src/machine/foreign_lines.h"

namespace latchlab {

class SimulatedMemory {
 public:
  using Line = LineState<64>;

  SimulatedMemory();
  ~SimulatedMemory();
  SimulatedMemory(const SimulatedMemory&) = delete;
  SimulatedMemory& operator=(const SimulatedMemory&) = delete;

  /// Forgets every block and every line.
  void reset();

  /// Allocates a block, or returns null if the arena is full. Blocks of 64 bytes or more are aligned to 64, others to
  /// 16. A block of up to 4 KiB is filled with a pattern, like reused memory of malloc; a larger one is zero, like
  /// fresh pages.
  void* allocate(std::size_t bytes, u32 owner);
  /// Frees a block. Returns "", or the reason why p cannot be freed. Only a memory that is used again needs the bytes
  /// and the fiber that frees.
  std::string deallocate(void* p, std::size_t bytes, u32 owner);
  void poison(const void* p, std::size_t bytes) { mark(p, bytes, State::kPoisoned); }
  void unpoison(const void* p, std::size_t bytes) { mark(p, bytes, State::kLive); }

  /// Returns true if these bytes may be accessed. Memory outside the arena is not checked.
  bool accessible(const void* p, std::size_t bytes) const {
    const u64 offset = offset_of(p);
    if (offset >= kArenaBytes) return true;
    for (u64 unit = offset / kUnit; unit <= (offset + bytes - 1) / kUnit; ++unit) {
      if (states_[unit] != State::kLive) return false;
    }
    return true;
  }
  /// Returns why these bytes are inaccessible, and where they are.
  std::string complaint(const void* p, std::size_t bytes) const;

  /// Returns a readable position of p: "byte 8 of block 3", or the number of its line.
  std::string place(const void* p) const;

  /// Returns the number of p's line; the same in every replay.
  u32 line_number(const void* p) {
    const u64 offset = offset_of(p);
    return offset < kArenaBytes ? static_cast<u32>(offset / kLineBytes)
                                : kArenaLines + foreign_.number(reinterpret_cast<u64>(p) / kLineBytes);
  }
  Line& line(u32 number) {
    Line& found = lines_[number];
    if (!found.used) {
      found.used = true;
      used_lines_.push_back(number);
    }
    return found;
  }
  /// Returns the line that an access affects. (A memory with fewer lines may return null outside transactions.)
  Line* line_of_access(u32 number, bool) { return &line(number); }

  u64 live_blocks() const { return live_blocks_; }
  /// Describes the oldest block that has not been freed; there must be one.
  std::string describe_a_live_block() const;

 private:
  enum class State : u8 { kNever, kLive, kFreed, kPoisoned };
  struct Block {
    u64 offset;
    u64 bytes;
    u32 owner;
    bool live;
  };
  static constexpr u64 kArenaBytes = u64{512} << 20;
  static constexpr u64 kUnit = 16;
  static constexpr u32 kArenaLines = kArenaBytes / kLineBytes;
  static constexpr u32 kForeignLines = 1 << 20;
  static constexpr u64 kFirstOffset = 4096;
  static constexpr u64 kPatterned = 4096;

  u64 offset_of(const void* p) const { return static_cast<u64>(static_cast<const char*>(p) - arena_); }
  void mark(const void* p, std::size_t bytes, State state);
  const Block* block_at(u64 offset) const;
  std::string name(const Block& block) const;

  char* arena_;
  State* states_;
  Line* lines_;
  u64 top_ = kFirstOffset;
  u64 dirty_ = kFirstOffset;  // the arena is still zero beyond this offset
  std::vector<Block> blocks_;
  u64 live_blocks_ = 0;
  std::vector<u32> used_lines_;
  ForeignLines foreign_{kForeignLines};
};

}  // namespace latchlab
