#include "src/memory/chunk_source.h"

#include <algorithm>
#include <new>

namespace latchlab {
namespace {

MemoryConfig as_far_as_there_are_pages(MemoryConfig config, const PageSource* pages) {
  if (pages == nullptr) config.alloc = MemoryConfig::Alloc::kMalloc;
  return config;
}

}  // namespace

ChunkSource::ChunkSource(const MemoryConfig& config, PageSource* pages)
    : config_(as_far_as_there_are_pages(config, pages)),
      pages_(pages),
      huge_granted_(config.thp && pages != nullptr && pages->grants_huge_pages()) {}

ChunkSource::~ChunkSource() {
  for (const Chunk& chunk : chunks_) pages_->unmap(chunk.start, chunk.bytes);
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
  if (config_.limit != 0 && (bytes > config_.limit || reserved_ > config_.limit - bytes)) return {};
  try {
    chunks_.reserve(chunks_.size() + 1);
  } catch (const std::bad_alloc&) {
    return {};
  }
  const PageSource::Mapping mapping = pages_->map(bytes, config_.thp, config_.pages);
  if (mapping.start == nullptr) return {};
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
  pages_->unmap(known->start, known->bytes);
  *known = chunks_.back();
  chunks_.pop_back();
}

bool ChunkSource::charge(u64 bytes) {
  if (config_.limit == 0) return true;
  // Relaxed, here and in refund: the sum guards no other memory.
  if (charged_.fetch_add(bytes, kRelaxed) + bytes <= config_.limit) return true;
  refund(bytes);
  return false;
}

void ChunkSource::refund(u64 bytes) {
  if (config_.limit != 0) charged_.fetch_sub(bytes, kRelaxed);
}

Footprint ChunkSource::footprint() const {
  const std::lock_guard lock(mutex_);
  Footprint bytes;
  bytes.reserved = reserved_;
  bytes.chunks = chunks_.size();
  if (config_.alloc != MemoryConfig::Alloc::kMalloc)
    bytes.page_bytes = huge_granted_ ? kHugePageBytes : kSmallPageBytes;
  return bytes;
}

std::vector<ChunkSource::Chunk> ChunkSource::chunks() const {
  const std::lock_guard lock(mutex_);
  return chunks_;
}

}  // namespace latchlab
