#include "harness/histogram.h"

#include <algorithm>
#include <cmath>

namespace latchlab {

Histogram& Histogram::operator+=(const Histogram& more) {
  for (u32 i = 0; i < kBuckets; ++i) bucket_[i] += more.bucket_[i];
  count_ += more.count_;
  sum_ += more.sum_;
  min_ = std::min(min_, more.min_);
  max_ = std::max(max_, more.max_);
  return *this;
}

u64 Histogram::quantile(double share) const {
  if (count_ == 0) return 0;
  const u64 wanted = std::max<u64>(1, static_cast<u64>(std::ceil(share * static_cast<double>(count_))));
  u64 seen = 0;
  for (u32 i = 0; i < kBuckets; ++i) {
    seen += bucket_[i];
    if (seen >= wanted) return std::min(last_of(i), max_);
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
