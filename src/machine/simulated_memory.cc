#include "src/machine/simulated_memory.h"

#include <algorithm>
#include <cstring>

#include "src/machine/reserve.h"

namespace latchlab {

namespace {

// The preferred address of the arena. Equal addresses in every process make runs equal even if code orders or hashes
// addresses. The kernel may choose another address.
void* const kArenaHint = reinterpret_cast<void*>(u64{0x7e9000000000});

constexpr u64 round_up(u64 value, u64 to) { return (value + to - 1) & ~(to - 1); }

}  // namespace

SimulatedMemory::SimulatedMemory()
    : arena_(reserve<char>(kArenaBytes, kArenaHint)),
      states_(reserve<State>(kArenaBytes / kUnit)),
      lines_(reserve<Line>(u64{kArenaLines} + kForeignLines)) {}

SimulatedMemory::~SimulatedMemory() {
  release_reserved(arena_, kArenaBytes);
  release_reserved(states_, kArenaBytes / kUnit);
  release_reserved(lines_, u64{kArenaLines} + kForeignLines);
}

void SimulatedMemory::reset() {
  constexpr u64 kCheapToClear = u64{1} << 20;
  std::memset(states_, 0, top_ / kUnit + 1);
  dirty_ = std::max(dirty_, top_);
  if (dirty_ > kCheapToClear) {
    clear_reserved(arena_, round_up(dirty_, 4096));
    dirty_ = kFirstOffset;
  }
  top_ = kFirstOffset;
  blocks_.clear();
  live_blocks_ = 0;
  for (const u32 number : used_lines_) lines_[number] = {};
  used_lines_.clear();
  foreign_.clear();
}

void* SimulatedMemory::allocate(std::size_t bytes, u32 owner) {
  const u64 begin = round_up(top_, bytes >= kLineBytes ? kLineBytes : kUnit);
  const u64 size = round_up(std::max<u64>(bytes, 1), kUnit);
  // One unit stays free between blocks, so an access beyond the end of a block is detected.
  if (size > kArenaBytes || begin + size + kUnit > kArenaBytes) return nullptr;
  top_ = begin + size + kUnit;
  if (size <= kPatterned) {
    std::memset(arena_ + begin, 0xa5, size);
  } else if (begin < dirty_) {
    std::memset(arena_ + begin, 0, std::min(size, dirty_ - begin));
  }
  std::memset(states_ + begin / kUnit, static_cast<int>(State::kLive), size / kUnit);
  blocks_.push_back({begin, bytes, owner, true});
  ++live_blocks_;
  return arena_ + begin;
}

std::string SimulatedMemory::deallocate(void* p, std::size_t, u32) {
  const u64 offset = offset_of(p);
  Block* block = const_cast<Block*>(offset < kArenaBytes ? block_at(offset) : nullptr);
  if (!block || block->offset != offset) return "free of something that is not a block";
  if (!block->live) return "double free of " + name(*block);
  block->live = false;
  --live_blocks_;
  std::memset(states_ + offset / kUnit, static_cast<int>(State::kFreed),
              round_up(std::max<u64>(block->bytes, 1), kUnit) / kUnit);
  return {};
}

void SimulatedMemory::mark(const void* p, std::size_t bytes, State state) {
  const u64 offset = offset_of(p);
  if (offset >= kArenaBytes) return;
  // Only whole units are marked, so that a neighbouring block keeps its state.
  const u64 first = round_up(offset, kUnit) / kUnit;
  const u64 last = (offset + bytes) / kUnit;
  if (last > first) std::memset(states_ + first, static_cast<int>(state), last - first);
}

std::string SimulatedMemory::complaint(const void* p, std::size_t bytes) const {
  const u64 begin = offset_of(p);
  u64 offset = begin;
  while (states_[offset / kUnit] == State::kLive && offset < begin + bytes) offset = (offset / kUnit + 1) * kUnit;
  const State state = states_[offset / kUnit];
  const char* const kind = state == State::kFreed      ? "freed memory"
                           : state == State::kPoisoned ? "poisoned memory"
                                                       : "memory that was never allocated";
  const Block* block = block_at(offset);
  if (!block) return kind;
  return std::string(kind) + " at byte " + std::to_string(offset - block->offset) + " of " + name(*block);
}

std::string SimulatedMemory::place(const void* p) const {
  const u64 offset = offset_of(p);
  if (offset < kArenaBytes) {
    const Block* block = block_at(offset);
    if (!block) return "outside of all blocks";
    return "byte " + std::to_string(offset - block->offset) + " of block " + std::to_string(block - blocks_.data());
  }
  return "byte " + std::to_string(reinterpret_cast<u64>(p) % kLineBytes) + " of the test's own line " +
         std::to_string(foreign_.find(reinterpret_cast<u64>(p) / kLineBytes).value_or(0));
}

const SimulatedMemory::Block* SimulatedMemory::block_at(u64 offset) const {
  const auto after =
      std::upper_bound(blocks_.begin(), blocks_.end(), offset, [](u64 at, const Block& b) { return at < b.offset; });
  return after == blocks_.begin() ? nullptr : &*std::prev(after);
}

std::string SimulatedMemory::name(const Block& block) const {
  std::string text =
      "block " + std::to_string(&block - blocks_.data()) + " (" + std::to_string(block.bytes) + " bytes, allocated ";
  return text + (block.owner == ~0u ? "outside virtual time)" : "by fiber " + std::to_string(block.owner) + ")");
}

std::string SimulatedMemory::describe_a_live_block() const {
  return name(*std::find_if(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.live; }));
}

}  // namespace latchlab
