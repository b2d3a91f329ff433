#pragma once

namespace latchlab {

/// Records the measured operations of a run, for --profile. The thread that coordinates the trial calls it. No function
/// throws, since a run does not fail because of its record.
class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  virtual ~Recorder() = default;

  /// Makes ready to record: called once, when the index is loaded, before the warm-up. It may take long.
  virtual void prepare() noexcept = 0;
  /// Begins to record, just before the measured phase. Returns when it records.
  virtual void begin() noexcept = 0;
  /// Ends what begin() began, just after the measured phase.
  virtual void end() noexcept = 0;
};

}  // namespace latchlab
