#pragma once

// --profile: samples the measured operations of a run by Linux perf, and draws them as a flame graph.
//
// perf copies 8 KiB of stack with each sample, and unwinds it after the run by the tables that exceptions use. A pair
// has no frame pointers, and its functions are inlined into its loop. So one addr2line over all sampled addresses then
// names the functions that were inlined there.
//
// The stacks also tell which samples count. Between its rounds a run makes requests, and threads wait for each other.
// Only a sample below the function that runs operations is drawn.
//
// A run does not fail because of its profile: why there is none is a note of the result.

#include <memory>
#include <string>

#include "harness/commands/perf_record.h"
#include "harness/config/plan.h"
#include "harness/host/recorder.h"

namespace latchlab {

class Profile final : public Recorder {
 public:
  /// `file` is the picture's path. `plan` must outlive this.
  Profile(std::string file, const Plan& plan) : file_(std::move(file)), plan_(plan) {}

  void prepare() noexcept override;
  void begin() noexcept override;
  void end() noexcept override;

  /// Draws the picture. Returns a note for the result: what was drawn, or why nothing was. `command` is the command
  /// line, and `elides` tells that operations run in hardware transactions.
  [[nodiscard]] std::string draw(const std::string& command, bool elides);

 private:
  const std::string file_;
  const Plan& plan_;
  std::unique_ptr<PerfRecord> perf_;
  std::string why_ = "the run measured nothing";  // there is no picture; empty if there may be one
};

}  // namespace latchlab
