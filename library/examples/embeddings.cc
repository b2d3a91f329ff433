// Rows of an embedding table, which two threads train: a row is a vector of floats, and a step subtracts its gradients.
//
// update_vector changes a row where it lies, in one step, so no step is lost and no thread sees half of one. The row is
// neither sent to the thread nor back.
#include <latchlab/map.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

using latchlab::Reduction;
using latchlab::UpdateFunction;
using latchlab::VectorComparison;
using latchlab::VectorStatus;

using Rows = latchlab::Map<std::uint64_t, std::vector<float>>;
constexpr std::uint64_t kRows = 100;
constexpr std::size_t kWidth = 64;
constexpr int kSteps = 1000;

/// Takes a step on a row, and keeps its weights within [-8, 8].
bool step(Rows& rows, std::uint64_t row, std::span<const float> gradients) {
  return rows.update_vector(row, {UpdateFunction::kSub, gradients}) == VectorStatus::kDone &&
         rows.update_vector(row, {UpdateFunction::kClip, -8.f, 8.f}) == VectorStatus::kDone;
}

int main() {
  Rows rows;
  for (std::uint64_t row = 0; row < kRows; ++row) rows.insert(row, std::vector<float>(kWidth));

  std::vector<std::thread> threads;
  std::vector<int> wrong(2, 0);
  for (int& mine : wrong) {
    threads.emplace_back([&rows, &mine] {
      const std::vector<float> gradients(kWidth, -1.f / 256);
      for (int i = 0; i < kSteps; ++i) mine += !step(rows, static_cast<std::uint64_t>(i) % kRows, gradients);
    });
  }
  for (std::thread& thread : threads) thread.join();

  // Every row has had 20 steps of 1/256, all of which are exact in floats.
  const auto sum = rows.reduce_vector<float>(7, Reduction::kSum);
  const auto large = rows.filter_vector<float>(7, VectorComparison::kGt, 1);
  std::printf("the weights of row 7 add up to %g, and %zu of them are large\n", sum.number.as<double>(), large.count);
  const bool right = sum.number.as<double>() == kWidth * 20 / 256. && large.count == 0;
  return right && wrong[0] == 0 && wrong[1] == 0 ? 0 : 1;
}
