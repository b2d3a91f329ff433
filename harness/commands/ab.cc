#include "harness/commands/ab.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/commands/child_process.h"
#include "harness/host/interrupt.h"
#include "src/base/rng.h"

namespace latchlab {

namespace {

bool all_count(const VariantSummary& variant) {
  return std::all_of(variant.replicates.begin(), variant.replicates.end(),
                     [](const Replicate& r) { return r.counts(); });
}

/// Runs one block: every variant once, in random order. Returns false after a stop request.
bool run_block(const AbCommand& command, u32 block, Comparison& comparison, Progress& progress,
               const RunReplicate& run) {
  const auto n = static_cast<u32>(command.variants.size());
  comparison.orders.push_back(shuffled(n, draw(command.seed, 0, block)));
  for (u32 position = 0; position < n; ++position) {
    const u32 which = comparison.orders.back()[position];
    progress.title(fmt::format("block {}/{} {}", block + 1, *comparison.planned_blocks, command.variants[which].name));
    progress.advance(u64{block} * n + position);
    std::vector<std::string> args = command.variants[which].args;
    args.insert(args.end(), {"--json", "--progress=none", fmt::format("--block={}", block),
                             fmt::format("--order={}", position), fmt::format("--replicate={}", block)});
    // A modelled run is a function of its seed. So blocks differ by seeds, and the variants of a block share one.
    if (const auto seed = command.variants[which].seed) args.push_back(fmt::format("--seed={}", *seed + block));
    comparison.variants[which].replicates.push_back(run(args));
    if (stop_requested()) return false;
  }
  return true;
}

/// Decides whether --replicates=auto goes on after the blocks planned so far. Otherwise it sets `ended_by` to the
/// reason.
bool goes_on(std::vector<Comparison>& alone) {
  summarize(alone);
  Comparison& comparison = alone.front();
  std::vector<Contrast> contrasts;
  for (std::size_t i = 1; i < comparison.variants.size(); ++i) {
    const VariantSummary& variant = comparison.variants[i];
    if (!all_count(variant) || !all_count(comparison.variants.front())) {
      comparison.ended_by = "a replicate does not count";
      return false;
    }
    contrasts.push_back(*variant.contrast);
  }
  switch (look_at(contrasts, *comparison.planned_blocks)) {
    case Look::kGoOn: return true;
    case Look::kTight: comparison.ended_by = "the intervals are within 1 %"; break;
    case Look::kMost: comparison.ended_by = fmt::format("{} blocks, the limit, have run", kLastLook); break;
    case Look::kHopeless:
      comparison.ended_by = fmt::format("{} blocks, the limit, would not bring the intervals near 1 %", kLastLook);
  }
  return false;
}

}  // namespace

Replicate run_replicate(const std::string& binary, const std::vector<std::string>& args) {
  const Output output = run_process(binary, args);
  return replicate_of(Json::parse(output.out, nullptr, false), output.complaint());
}

Comparison run_ab(const AbCommand& command, Progress& progress, const RunReplicate& run) {
  std::vector<Comparison> alone(1);
  Comparison& comparison = alone.front();
  comparison.seed = command.seed;
  comparison.common = command.common;
  comparison.planned_blocks = command.replicates.value_or(kFirstLook);
  for (const AbCommand::Variant& variant : command.variants) {
    VariantSummary summary;
    summary.name = variant.name;
    summary.command = variant.line;
    comparison.variants.push_back(std::move(summary));
  }
  progress.begin("runs", u64{command.replicates.value_or(kLastLook)} * command.variants.size(), 0);
  for (u32 block = 0; !comparison.interrupted; ++block) {
    if (block == *comparison.planned_blocks) {
      if (command.replicates || !goes_on(alone)) break;
      comparison.planned_blocks = block + kBetweenLooks;
    }
    comparison.interrupted = !run_block(command, block, comparison, progress, run);
  }
  progress.end();
  summarize(alone);
  return std::move(comparison);
}

}  // namespace latchlab
