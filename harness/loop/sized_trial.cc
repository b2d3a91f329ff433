#include "harness/loop/sized_trial.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/loop/counted_session.h"
#include "harness/loop/runner_of.h"
#include "harness/loop/stamped.h"
#include "harness/loop/words.h"
#include "src/machine/native.h"
#include "src/memory/media/file_system.h"
#include "src/memory/media/medium.h"
#include "src/memory/media/medium_charge.h"

namespace latchlab {
namespace {

template <class Raw>
class SizedTrial final : public Trial {
  using Index = Stamped<Words<Raw>>;

 public:
  SizedTrial(std::unique_ptr<Trial> words, const Plan& plan, const MemoryConfig& memory)
      : words_(std::move(words)), index_(memory, plan.config.value_size, *words_) {
    prepare(plan);
  }
  SizedTrial(std::unique_ptr<Trial> words, const Plan& plan, const MemoryConfig& near, const MediumOptions& far)
      : words_(std::move(words)),
        medium_(std::make_unique<Medium>(far, "--far")),
        far_(far_memory(*medium_, plan, near)),
        near_limit_(near.limit),
        file_system_(file_system_with(far)),
        index_(near, *far_, plan.config.value_size, *words_) {
    prepare(plan);
  }

  [[nodiscard]] std::unique_ptr<Erased::Session> join() override {
    return std::make_unique<CountedSession<Index>>(index_);
  }
  [[nodiscard]] std::unique_ptr<Runner> runner(Clock& clock) override {
    return std::make_unique<RunnerOf<Index>>(index_, batch_, value_bits_, clock);
  }
  [[nodiscard]] bool ordered() const override { return words_->ordered(); }
  [[nodiscard]] bool numbers() const override { return words_->numbers(); }
  [[nodiscard]] bool keeps() const override { return words_->keeps(); }
  [[nodiscard]] bool modifies() const override { return true; }
  [[nodiscard]] bool walks_beside_writers() const override { return false; }
  [[nodiscard]] bool counts_visits() const override { return false; }
  [[nodiscard]] Footprint bytes() const override { return words_->bytes(); }
  [[nodiscard]] std::size_t own_bytes() const override { return words_->own_bytes(); }
  [[nodiscard]] bool loads_in_turns() const override { return words_->loads_in_turns(); }
  [[nodiscard]] bool elides() const override { return words_->elides(); }
  [[nodiscard]] bool finds_batches() const override { return words_->finds_batches(); }
  [[nodiscard]] SyncReport sync_report(const std::vector<u64>& sums, u64 operations) const override {
    return words_->sync_report(sums, operations);
  }
  [[nodiscard]] OrReason<ReclaimCounters> reclaim() const override { return index_.reclaim_counters(); }
  [[nodiscard]] OrReason<Footprint> value_bytes() const override { return index_.value_bytes(); }
  [[nodiscard]] OrReason<FarUse> far() const override {
    if (!far_) return OrReason<FarUse>::missing("values have one memory; --far adds another");
    return FarUse{.memory = *far_,
                  .bytes = index_.far_bytes(),
                  .near_free = near_limit_.bytes() - near_limit_.charged(),
                  .counts = index_.tier_counters(),
                  .file_system = file_system_,
                  .chunks = index_.far_chunks()};
  }
  [[nodiscard]] std::vector<ChunkSource::Chunk> chunks() const override { return index_.chunks(); }
  void read_no_values() override { index_.read_no_values(); }

 private:
  static FarMemory far_memory(const Medium& medium, const Plan& plan, const MemoryConfig& near) {
    FarMemory far{.memory = medium.memory(near), .rule = plan.config.placement_rule()};
    if (medium.is_modelled()) {
      far.model = medium.options().speed;
      far.slack_ns = MediumCharge<Native>::measured_slack();
    }
    return far;
  }

  static OrReason<std::string> file_system_with(const MediumOptions& far) {
    using Name = OrReason<std::string>;
    if (far.kind != MediumKind::kFile) return Name::missing("far memory is no file");
    if (!std::filesystem::is_directory(far.path)) return Name::missing("it is a DAX device");
    const std::optional<FileSystem> files = file_system_of(far.path);
    return files ? Name(files->str()) : Name::missing("the folder cannot be read");
  }

  const std::unique_ptr<Trial> words_;
  const std::unique_ptr<Medium> medium_;  // of far_
  const std::optional<FarMemory> far_;
  const MemoryBudget near_limit_;
  const OrReason<std::string> file_system_;
  Index index_;
};

template <class Raw>
std::unique_ptr<Trial> sized_trial_of(std::unique_ptr<Trial> words, const Plan& plan, const MemoryConfig& memory) {
  const std::optional<MediumOptions>& far = plan.config.far;
  if (!far) return std::make_unique<SizedTrial<Raw>>(std::move(words), plan, memory);
  MemoryConfig near = memory;
  near.limit = plan.config.near;
  return std::make_unique<SizedTrial<Raw>>(std::move(words), plan, near, *far);
}

}  // namespace

std::unique_ptr<Trial> sized_trial(std::unique_ptr<Trial> words, const Plan& plan, const MemoryConfig& memory) {
  if (words->numbers()) return sized_trial_of<u64>(std::move(words), plan, memory);
  return sized_trial_of<std::string_view>(std::move(words), plan, memory);
}

}  // namespace latchlab
