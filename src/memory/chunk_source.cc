#include "src/memory/chunk_source.h"

#include <algorithm>
#include <new>

#include "src/arch/sanitizer.h"

namespace latchlab {
namespace {

MemoryConfig as_far_as_there_are_pages(MemoryConfig config, const PageSource* pages) {
  if (pages == nullptr) config.alloc = MemoryConfig::Alloc::kMalloc;
  return config;
}

/// Unmaps a chunk, parts of which pools may have poisoned: its addresses may be mapped again for other code. A range is
/// never poisoned, and its addresses are too many to unpoison.
void unmap_chunk(PageSource& pages, const ChunkSource::Chunk& chunk) {
  unpoison_memory(chunk.start, chunk.bytes);
  pages.unmap(chunk.start, chunk.bytes);
}

}  // namespace

ChunkSource::ChunkSource(const MemoryConfig& config, PageSource* pages)
    : config_(as_far_as_there_are_pages(config, pages)),
      pages_(pages == nullptr || config.source == nullptr ? pages : config.source),
      huge_granted_(config.thp && pages_ != nullptr && pages_->grants_huge_pages()) {}

ChunkSource::~ChunkSource() {
  for (const Chunk& chunk : chunks_) unmap_chunk(*pages_, chunk);
  for (const Range& range : ranges_) pages_->unmap(range.reserved.start, range.reserved.bytes);
  refund(reserved_);
}

ChunkSource::Chunk ChunkSource::take(u64 wanted, u64 least) {
  if (config_.fail != nullptr && config_.fail->fails()) return {};
  Chunk chunk;
  {
    const std::lock_guard lock(mutex_);
    chunk = map(rounded(wanted));
    if (chunk.start == nullptr && rounded(least) < rounded(wanted)) chunk = map(rounded(least));
  }
  // Outside the mutex, so that threads fault in their pages in parallel.
  if (chunk.start != nullptr && config_.alloc == MemoryConfig::Alloc::kArenaTouch)
    pages_->populate(chunk.start, chunk.bytes);
  return chunk;
}

// Maps a chunk and records it. The caller holds the mutex.
ChunkSource::Chunk ChunkSource::map(u64 bytes) {
  try {
    chunks_.reserve(chunks_.size() + 1);
  } catch (const std::bad_alloc&) {
    return {};
  }
  if (!charge(bytes)) return {};
  const PageSource::Mapping mapping = pages_->map(bytes, config_.thp, config_.pages);
  if (mapping.start == nullptr) {
    refund(bytes);
    return {};
  }
  if (!mapping.huge) huge_granted_ = false;
  reserved_ += bytes;
  chunks_.push_back({mapping.start, bytes});
  return chunks_.back();
}

void ChunkSource::give_back(const Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& c) { return c.start == chunk.start; });
  if (known == chunks_.end()) return;
  reserved_ -= known->bytes;
  unmap_chunk(*pages_, *known);
  refund(known->bytes);
  *known = chunks_.back();
  chunks_.pop_back();
}

ChunkSource::Chunk ChunkSource::reserve(u64 bytes) {
  const u64 least = std::min(bytes, u64{1} << 20);
  const std::lock_guard lock(mutex_);
  try {
    ranges_.reserve(ranges_.size() + 1);
  } catch (const std::bad_alloc&) {
    return {};
  }
  for (; bytes >= least; bytes /= 2) {
    if (void* const start = pages_->reserve(bytes)) {
      ranges_.push_back({.reserved = {start, bytes}});
      return ranges_.back().reserved;
    }
  }
  return {};
}

bool ChunkSource::commit(const Chunk& range, u64 from, u64 to) {
  if (config_.fail != nullptr && config_.fail->fails()) return false;
  char* const start = static_cast<char*>(range.start) + from;
  const u64 bytes = to - from;
  {
    const std::lock_guard lock(mutex_);
    if (!charge(bytes)) return false;
    if (!pages_->commit(start, bytes, config_.thp, config_.pages)) {
      refund(bytes);
      return false;
    }
    reserved_ += bytes;
    range_at(range.start).usable += bytes;
  }
  // Outside the mutex, so that threads fault in their pages in parallel.
  if (config_.alloc == MemoryConfig::Alloc::kArenaTouch) pages_->populate(start, bytes);
  return true;
}

void ChunkSource::release(const Chunk& range, u64 usable) {
  const std::lock_guard lock(mutex_);
  reserved_ -= usable;
  pages_->unmap(range.start, range.bytes);
  refund(usable);
  range_at(range.start) = ranges_.back();
  ranges_.pop_back();
}

// Returns the range that begins there. The caller holds the mutex.
ChunkSource::Range& ChunkSource::range_at(const void* start) {
  return *std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.reserved.start == start; });
}

bool ChunkSource::charge(u64 bytes) const { return config_.limit.charge(bytes); }

void ChunkSource::refund(u64 bytes) const { config_.limit.refund(bytes); }

Footprint ChunkSource::footprint() const {
  const std::lock_guard lock(mutex_);
  Footprint bytes;
  bytes.reserved = reserved_;
  bytes.chunks = chunks_.size() + ranges_.size();
  if (config_.alloc != MemoryConfig::Alloc::kMalloc)
    bytes.page_bytes = huge_granted_ ? kHugePageBytes : kSmallPageBytes;
  return bytes;
}

std::vector<ChunkSource::Chunk> ChunkSource::chunks() const {
  const std::lock_guard lock(mutex_);
  std::vector<Chunk> all = chunks_;
  for (const Range& range : ranges_) {
    if (range.usable != 0) all.push_back({range.reserved.start, range.usable});
  }
  return all;
}

}  // namespace latchlab
