#include "src/machine/block_starts.h"

#include <algorithm>

#include "src/machine/reserve.h"

namespace latchlab {

BlockStarts::BlockStarts(u64 bytes)
    : pages_(bytes / kPage), bits_(reserve<u64>(pages_ * kWordsOfPage)), reaching1_(reserve<u64>(pages_)) {}

BlockStarts::~BlockStarts() {
  release_reserved(bits_, pages_ * kWordsOfPage);
  release_reserved(reaching1_, pages_);
}

void BlockStarts::mark(u64 begin, u64 bytes) {
  const u64 first = begin / kUnit, last = (begin + std::max<u64>(bytes, 1) - 1) / kUnit;
  for (u64 at = first / 64; at <= last / 64; ++at) {
    u64 inside = ~u64{0};
    if (at == first / 64) inside &= ~u64{0} << first % 64;
    if (at == last / 64) inside &= ~u64{0} >> (63 - last % 64);
    if ((bits_[at] & inside) != 0) bits_[at] &= ~inside;  // a store would take memory for words that are zero
  }
  bits_[first / 64] |= u64{1} << first % 64;
  for (u64 page = begin / kPage + 1; page <= last * kUnit / kPage; ++page) reaching1_[page] = first * kUnit + 1;
}

void BlockStarts::clear(u64 bytes) {
  const u64 pages = std::min(pages_, bytes / kPage + 1);
  clear_reserved(bits_, pages * kWordsOfPage);
  clear_reserved(reaching1_, pages);
}

}  // namespace latchlab
