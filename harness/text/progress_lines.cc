#include "harness/text/progress_lines.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "harness/host/clock.h"

namespace latchlab {

namespace {

class NoProgress final : public Progress {
 public:
  void begin(std::string_view, u64, u64) override {}
  void advance(u64) override {}
  void end() override {}
  void title(std::string) override {}
};

/// The state of the current phase, for both visible forms.
class VisibleProgress : public Progress {
 public:
  void begin(std::string_view phase, u64 total, u64 length_ns) override {
    end();
    phase_ = phase;
    total_ = total;
    length_s_ = static_cast<double>(length_ns) / 1e9;
    done_ = 0;
    start_ = wall_clock().now();
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
  u64 start_ = 0;
};

/// Progress as one line that rewrites itself.
class TerminalProgress final : public VisibleProgress {
 public:
  ~TerminalProgress() override { clear(); }

 protected:
  void begun() override { draw(); }

  void advanced() override {
    if (wall_clock().seconds_since(last_draw_) >= 0.1) draw();
  }

  void ended() override { clear(); }

 private:
  void draw() {
    last_draw_ = wall_clock().now();
    const double elapsed = wall_clock().seconds_since(start_);
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

  u64 last_draw_ = 0;
  bool drawn_ = false;
};

/// Progress as a line at the end of each phase.
class PlainProgress final : public VisibleProgress {
 protected:
  void begun() override {}
  void advanced() override {}

  void ended() override {
    const double elapsed = wall_clock().seconds_since(start_);
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

}  // namespace latchlab
