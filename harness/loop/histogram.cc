#include "harness/loop/histogram.h"

#include <algorithm>

namespace latchlab {

Histogram& Histogram::operator+=(const Histogram& more) {
  for (u32 i = 0; i < kBuckets; ++i) bucket_[i] += more.bucket_[i];
  count_ += more.count_;
  sum_ += more.sum_;
  min_ = std::min(min_, more.min_);
  max_ = std::max(max_, more.max_);
  return *this;
}

u64 Histogram::at_rank(u64 rank) const {
  u64 seen = 0;
  for (u32 i = 0; i < kBuckets; ++i) {
    seen += bucket_[i];
    if (seen >= rank) return std::min(last_of(i), max_);
  }
  return max_;
}

std::vector<std::pair<u64, u64>> Histogram::buckets() const {
  std::vector<std::pair<u64, u64>> out;
  for (u32 i = 0; i < kBuckets; ++i) {
    if (bucket_[i] != 0) out.emplace_back(last_of(i), bucket_[i]);
  }
  return out;
}

}  // namespace latchlab
