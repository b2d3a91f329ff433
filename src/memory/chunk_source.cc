#include "src/memory/chunk_source.h"

#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <string>

#include "src/arch/sanitizer.h"

namespace latchlab {
namespace {

bool system_grants_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  return std::getline(file, line) && line.find("[never]") == std::string::npos;
}

// By one call rather than a trap a page, which takes about 1.5 times as long; kernels before 5.14 do not know it. One byte a
// page then: volatile, because a write of zero to memory that nobody reads is otherwise no write at all.
void touch_pages(void* start, u64 bytes) {
  if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return;
  auto* const at = static_cast<volatile unsigned char*>(start);
  for (u64 offset = 0; offset < bytes; offset += kSmallPageBytes) at[offset] = 0;
}

}  // namespace

ChunkSource::ChunkSource(const MemoryConfig& config)
    : config_(config),
      page_bytes_(config.thp ? kHugePageBytes : kSmallPageBytes),
      huge_granted_(config.thp && system_grants_huge_pages()) {}

ChunkSource::~ChunkSource() {
  for (const Chunk& chunk : chunks_) {
    unpoison_memory(chunk.start, chunk.bytes);   // the addresses may come back as somebody else's
    munmap(chunk.start, chunk.bytes);
  }
}

ChunkSource::Chunk ChunkSource::take(u64 wanted, u64 least) {
  if (config_.fail != nullptr && config_.fail->fails()) return {};
  Chunk chunk;
  {
    const std::lock_guard lock(mutex_);
    chunk = map(rounded(wanted));
    if (chunk.start == nullptr && rounded(least) < rounded(wanted)) chunk = map(rounded(least));
  }
  // Outside the mutex: every thread faults in its own pages.
  if (chunk.start != nullptr && config_.alloc == MemoryConfig::Alloc::kArenaTouch) touch_pages(chunk.start, chunk.bytes);
  return chunk;
}

// The mutex is held.
ChunkSource::Chunk ChunkSource::map(u64 bytes) {
  if (config_.limit != 0 && (bytes > config_.limit || reserved_ > config_.limit - bytes)) return {};
  try {
    chunks_.reserve(chunks_.size() + 1);
  } catch (const std::bad_alloc&) {
    return {};
  }
  // Huge pages need their own alignment: map one more and cut off both ends.
  const u64 slack = config_.thp ? kHugePageBytes : 0;
  void* const mapped =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return {};
  char* start = static_cast<char*>(mapped);
  if (slack != 0) {
    const u64 before = -reinterpret_cast<u64>(start) & (kHugePageBytes - 1);
    if (before != 0) munmap(start, before);
    start += before;
    if (before != slack) munmap(start + bytes, slack - before);
  }
  // A kernel without transparent huge pages refuses both advices; then its pages are small anyway.
  if (madvise(start, bytes, config_.thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0) huge_granted_ = false;
  (void)place_mapping(start, bytes, config_.pages);
  reserved_ += bytes;
  chunks_.push_back({start, bytes});
  return chunks_.back();
}

void ChunkSource::give_back(const Chunk& chunk) {
  unpoison_memory(chunk.start, chunk.bytes);
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& c) { return c.start == chunk.start; });
  if (known == chunks_.end()) return;
  reserved_ -= known->bytes;
  munmap(known->start, known->bytes);
  *known = chunks_.back();
  chunks_.pop_back();
}

bool ChunkSource::charge(u64 bytes) {
  if (config_.limit == 0) return true;
  // Relaxed, here and in refund: a sum that guards no other memory.
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
  if (config_.alloc != MemoryConfig::Alloc::kMalloc) bytes.page_bytes = huge_granted_ ? kHugePageBytes : kSmallPageBytes;
  return bytes;
}

std::vector<ChunkSource::Chunk> ChunkSource::chunks() const {
  const std::lock_guard lock(mutex_);
  return chunks_;
}

}  // namespace latchlab
