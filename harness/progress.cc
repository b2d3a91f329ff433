#include "harness/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace latchlab {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class NoProgress final : public Progress {
 public:
  void begin(std::string_view, u64, u64) override {}
  void advance(u64) override {}
  void end() override {}
  void title(std::string) override {}
};

/// What both visible forms keep about the current phase.
class VisibleProgress : public Progress {
 public:
  void begin(std::string_view phase, u64 total, u64 length_ns) override {
    end();
    phase_ = phase;
    total_ = total;
    length_s_ = static_cast<double>(length_ns) / 1e9;
    done_ = 0;
    start_ = Clock::now();
    begun();
  }

  void advance(u64 done) override {
    done_ = done;
    advanced();
  }

  void end() override {
    if (!phase_.empty()) ended();
    phase_.clear();
  }

  void title(std::string text) override { title_ = std::move(text); }

 protected:
  virtual void begun() = 0;
  virtual void advanced() = 0;
  virtual void ended() = 0;

  [[nodiscard]] std::string head() const { return title_.empty() ? phase_ : title_ + "  " + phase_; }

  std::string title_;
  std::string phase_;
  u64 total_ = 0;
  double length_s_ = 0;
  u64 done_ = 0;
  Clock::time_point start_;
};

/// One line that rewrites itself.
class TerminalProgress final : public VisibleProgress {
 public:
  ~TerminalProgress() override { clear(); }

 protected:
  void begun() override { draw(); }

  void advanced() override {
    if (seconds_since(last_draw_) >= 0.1) draw();
  }

  void ended() override { clear(); }

 private:
  void draw() {
    last_draw_ = Clock::now();
    const double elapsed = seconds_since(start_);
    double share = -1;
    if (total_ > 0) share = static_cast<double>(done_) / static_cast<double>(total_);
    if (total_ == 0 && length_s_ > 0) share = elapsed / length_s_;
    share = std::min(share, 1.0);
    std::string line = head();
    if (share >= 0) line += fmt::format("  {:3.0f} %", share * 100);
    if (done_ > 0 && elapsed > 0) {
      line += fmt::format("  {}/s", short_number(static_cast<double>(done_) / elapsed));
    }
    if (share > 0.01 && elapsed > 0.3) {
      line += fmt::format("  {} left", short_duration(elapsed * (1 - share) / share));
    }
    say("\r\033[K" + line);
    drawn_ = true;
  }

  void clear() {
    if (drawn_) say("\r\033[K");
    drawn_ = false;
  }

  Clock::time_point last_draw_;
  bool drawn_ = false;
};

/// A line when a phase is over.
class PlainProgress final : public VisibleProgress {
 protected:
  void begun() override {}
  void advanced() override {}

  void ended() override {
    const double elapsed = seconds_since(start_);
    std::string line = fmt::format("{}: {}", head(), short_duration(elapsed));
    if (done_ > 0 && elapsed > 0) {
      line += fmt::format(", {} at {}/s", short_number(static_cast<double>(done_)),
                          short_number(static_cast<double>(done_) / elapsed));
    }
    say(line + '\n');
  }
};

}  // namespace

void say(const std::string& text) {
  (void)std::fputs(text.c_str(), stderr);
  (void)std::fflush(stderr);
}

std::unique_ptr<Progress> make_progress(ProgressMode mode) {
  if (mode == ProgressMode::kPlain) return std::make_unique<PlainProgress>();
  if (mode == ProgressMode::kAuto && isatty(STDERR_FILENO) == 1) return std::make_unique<TerminalProgress>();
  return std::make_unique<NoProgress>();
}

std::string short_number(double value) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  if (!std::isfinite(value)) return "-";
  int unit = 0;
  // 999.5 would print as 1000: go on to the next unit as soon as rounding would.
  while (std::abs(value) >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  const int decimals = std::abs(value) >= 99.95 || (unit == 0 && value == std::floor(value)) ? 0
                       : std::abs(value) >= 9.995                                            ? 1
                                                                                             : 2;
  return fmt::format("{:.{}f}{}", value, decimals, kUnits[unit]);
}

std::string short_duration(double seconds) {
  if (seconds < 9.9995e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 0.99995e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 9.95e-3) return fmt::format("{:.1f} ms", seconds * 1000);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const u64 whole = static_cast<u64>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace latchlab
