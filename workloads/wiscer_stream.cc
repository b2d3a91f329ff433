#include "workloads/wiscer_stream.h"

#include <algorithm>

namespace latchlab {

WiscerStream::WiscerStream(const WiscerFile& file, u64 seed, const KeySet& keys, std::size_t most_kept)
    : Stream(keys), file_(file), seed_(seed), most_kept_(most_kept), front_(file, seed, keys) {}

void WiscerStream::fill(u64 first, std::span<Op> ops, std::vector<Op>& /*gets*/) const {
  const std::lock_guard lock(mutex_);
  while (!ops.empty()) {
    const u64 from = first % Mix::kBlock;
    const std::size_t here = std::min<std::size_t>(ops.size(), Mix::kBlock - from);
    give(first / Mix::kBlock, from, ops.first(here));
    ops = ops.subspan(here);
    first += here;
  }
}

u64 WiscerStream::made_again() const {
  const std::lock_guard lock(mutex_);
  return made_again_;
}

void WiscerStream::give(u64 number, std::size_t from, std::span<Op> ops) const {
  while (front_.next() <= number) {
    if (kept_.size() == most_kept_) kept_.erase(kept_.begin());
    Kept& made = kept_.emplace_hint(kept_.end(), front_.next(), Kept{})->second;
    front_.make_next(made.ops);
  }
  const auto kept = kept_.find(number);
  const Block& block = kept != kept_.end() ? kept->second.ops : again(number);
  std::copy_n(block.begin() + static_cast<std::ptrdiff_t>(from), ops.size(), ops.begin());
  if (kept == kept_.end()) return;
  kept->second.left -= std::min(kept->second.left, ops.size());
  if (kept->second.left == 0) kept_.erase(kept);
}

const WiscerStream::Block& WiscerStream::again(u64 number) const {
  ++made_again_;
  if (behind_ && behind_->next() == number + 1) return again_;
  if (!behind_ || behind_->next() > number) behind_.emplace(file_, seed_, keys());
  while (behind_->next() <= number) behind_->make_next(again_);
  return again_;
}

}  // namespace latchlab
