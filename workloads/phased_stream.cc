#include "workloads/phased_stream.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {

PhasedStream::PhasedStream(u64 seed, u64 phase, const KeySet& keys, const std::vector<WorkloadPhase>& phases, u64 records)
    : Stream(keys) {
  u64 begin = 0, gone = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const WorkloadPhase& one = phases[i];
    // The phases of a file draw from streams of their own, far from those of other phases of a run.
    const u64 number = (phase << 20) + i;
    auto stream = std::make_unique<MixStream>(seed, number, keys, one.distribution, one.mix, MixStream::Window{gone, records}, one.churn);
    const MixStream::Turnover turnover = stream->turnover(one.operations / Mix::kBlock);
    if (turnover.erases >= records + turnover.inserts) {
      throw InputError(fmt::format("phase {} erases {} records, and there are no more than {}", one.name, turnover.erases,
                                   records + turnover.inserts));
    }
    inserts_ |= turnover.inserts > 0;
    most_keys_ = std::max(most_keys_, stream->most_keys());
    gone += turnover.erases;
    records += turnover.inserts - turnover.erases;
    parts_.push_back({.stream = std::move(stream), .begin = begin, .end = begin + one.operations});
    begin += one.operations;
  }
}

void PhasedStream::fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const {
  auto part = std::ranges::upper_bound(parts_, first, {}, &Part::end);
  for (; !ops.empty(); ++part) {
    const std::size_t here = std::min<u64>(ops.size(), part->end - first);
    part->stream->fill(first - part->begin, ops.first(here), gets);
    ops = ops.subspan(here);
    first += here;
  }
}

}  // namespace latchlab
