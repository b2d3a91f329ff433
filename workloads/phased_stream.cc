#include "workloads/phased_stream.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {

std::vector<MixStream::Window> windows_of(const std::vector<WorkloadPhase>& phases, u64 records, u64 capacity) {
  std::vector<MixStream::Window> windows{{.gone = 0, .records = records}};
  for (const WorkloadPhase& phase : phases) {
    const u64 blocks = phase.operations / Mix::kBlock;
    const auto all_of = [&](OpKind kind) { return phase.mix.before(blocks, static_cast<std::size_t>(kind)); };
    const MixStream::Window found = windows.back();
    const u64 inserts = all_of(OpKind::kInsert), erases = all_of(OpKind::kErase);
    const auto fail = [&](std::string_view why) { throw InputError(fmt::format("phase {} {}", phase.name, why)); };
    if (erases >= found.records + inserts) {
      fail(fmt::format("erases {} records, and there are no more than {}", erases, found.records + inserts));
    }
    const u64 left = found.records + inserts - erases;
    if (left > capacity) fail(fmt::format("leaves {} records, and there are keys for {}", left, capacity));
    if (left > Ranks::kMost) fail(fmt::format("leaves {} records, and a distribution covers {}", left, Ranks::kMost));
    try {
      if (phase.mix.draws_keys()) (void)phase.distribution.law(found.records);
      phase.churn.check(found.records);
    } catch (const InputError& error) {
      fail(fmt::format("finds too few records: {}", error.what()));
    }
    windows.push_back({.gone = found.gone + erases, .records = left});
  }
  return windows;
}

PhasedStream::PhasedStream(u64 seed, u64 phase, const KeySet& keys, const std::vector<WorkloadPhase>& phases,
                           u64 records)
    : Stream(keys) {
  const std::vector<MixStream::Window> windows = windows_of(phases, records, keys.capacity());
  u64 begin = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const WorkloadPhase& one = phases[i];
    // The phases of a file draw from streams with numbers of their own, far from those of other phases of a run.
    const u64 number = (phase << 20) + i;
    parts_.push_back(
        {.stream = std::make_unique<MixStream>(seed, number, keys, one.distribution, one.mix, windows[i], one.churn),
         .begin = begin,
         .end = begin + one.operations});
    most_keys_ = std::max<u32>(most_keys_, one.mix.most_keys());
    begin += one.operations;
    inserts_ |= one.mix.has(OpKind::kInsert);
    upserts_ |= one.mix.has(OpKind::kUpsert);
  }
}

std::vector<u64> PhasedStream::sections() const {
  std::vector<u64> ends;
  for (const Part& part : parts_) ends.push_back(part.end);
  return ends;
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
