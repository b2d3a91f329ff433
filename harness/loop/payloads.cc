#include "harness/loop/payloads.h"

#include <new>

#include "harness/host/interrupt.h"

namespace latchlab {
namespace {

/// The stride between the contents of neighbouring words. It is odd, so no two words of the arena are equal; and none
/// is zero, as the words of fresh pages are.
constexpr u64 kStride = 0x9e3779b97f4a7c15ull;
constexpr u64 content(u64 word) { return (word + 1) * kStride; }

// Relaxed, since every store to a word stores the same value (invariants 1 and 3 in payloads.h).
u64 load(u64& word) { return std::atomic_ref<u64>(word).load(kRelaxed); }
void store(u64& word, u64 what) { std::atomic_ref<u64>(word).store(what, kRelaxed); }

/// Returns a configuration under which a page is touched first by the thread that fills it.
MemoryConfig untouched(MemoryConfig memory) {
  memory.alloc = MemoryConfig::Alloc::kArena;
  memory.pages = {};
  return memory;
}

}  // namespace

Payloads::Payloads(u64 places, u32 bytes, const MemoryConfig& memory, PageSource& pages)
    : source_(untouched(memory), &pages), places_(places), words_(bytes / sizeof(u64)) {
  const u64 all = places * bytes;
  arena_ = static_cast<u64*>(source_.take(all, all).start);
  if (arena_ == nullptr) throw std::bad_alloc();
}

void Payloads::fill(u32 part, u32 parts, const PagePlacement& pages) {
  const u64 page_words = (source_.config().thp ? kHugePageBytes : kSmallPageBytes) / sizeof(u64);
  const u64 all = places_ * words_;
  const u64 pages_of_all = (all + page_words - 1) / page_words;
  const u64 share = (pages_of_all + parts - 1) / parts * page_words;  // whole pages, so that each has one owner
  const u64 begin = std::min(part * share, all), end = std::min(begin + share, all);
  if (begin == end) return;
  // The result is ignored: a trial call before the run has found out if the kernel refuses.
  (void)place_mapping(arena_ + begin, (end - begin) * sizeof(u64), pages);
  for (u64 at = begin; at < end && !stop_requested();) {
    for (const u64 stop = std::min(at + page_words, end); at < stop; ++at) store(arena_[at], content(at));
  }
}

bool Payloads::read(u64 value) const {
  const u64 first = first_word(value);
  u64 expected = content(first), wrong = 0;
  for (u64 *word = arena_ + first, *const end = word + words_; word != end; ++word, expected += kStride) {
    wrong |= load(*word) ^ expected;
  }
  return wrong == 0;
}

void Payloads::write(u64 value) {
  const u64 first = first_word(value);
  u64 what = content(first);
  for (u64 *word = arena_ + first, *const end = word + words_; word != end; ++word, what += kStride) store(*word, what);
}

}  // namespace latchlab
