#include "harness/loop/latency.h"

namespace latchlab {

Latencies& Latencies::operator+=(const Latencies& more) {
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    kinds_[k].ns += more.kinds_[k].ns;
    kinds_[k].response += more.kinds_[k].response;
    kinds_[k].fallbacks += more.kinds_[k].fallbacks;
    for (std::size_t i = 0; i < kinds_[k].aborts.size(); ++i) kinds_[k].aborts[i] += more.kinds_[k].aborts[i];
  }
  requests_ += more.requests_;
  fell_back_ += more.fell_back_;
  return *this;
}

Histogram Latencies::responses() const {
  Histogram all;
  for (const OfKind& kind : kinds_) all += kind.response;
  return all;
}

}  // namespace latchlab
