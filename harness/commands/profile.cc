#include "harness/commands/profile.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include <link.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/commands/child_process.h"
#include "harness/commands/perf_text.h"
#include "harness/config/config.h"
#include "harness/host/interrupt.h"
#include "harness/text/flame_graph.h"
#include "src/base/error.h"
#include "src/base/new_file.h"
#include "src/base/types.h"

namespace latchlab {

namespace {

/// Returns how many samples a second perf takes of each thread. At most 20,000 in all draw every box that is wide
/// enough to be read, and perf script reads their stacks within seconds. The numbers are prime, so that samples do not
/// keep step with anything.
u64 frequency_of(const Plan& plan) {
  constexpr double kSamples = 20'000, kUnknown = 10;  // a run that ends after some operations may take long
  const Config& config = plan.config;
  const std::set<u32> processors(plan.seats.cpus.begin(), plan.seats.cpus.end());
  const double threads = static_cast<double>(std::max<std::size_t>(processors.size(), 1));
  const double seconds = config.time_ns > 0 ? static_cast<double>(config.time_ns) / 1e9 : kUnknown;
  for (const u64 frequency : {997, 499, 251, 127, 61, 31}) {
    if (static_cast<double>(frequency) * threads * seconds <= kSamples) return frequency;
  }
  return 17;
}

/// Returns where this program's code is. dl_iterate_phdr begins with the program.
CodeSegment own_code() {
  CodeSegment code;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          *static_cast<CodeSegment*>(out) = {.loaded = info->dlpi_addr + part.p_vaddr,
                                             .address = part.p_vaddr,
                                             .offset = part.p_offset,
                                             .size = part.p_filesz};
        }
        return 1;
      },
      &code);
  return code;
}

/// Returns the functions that were inlined at the program's addresses in these samples. There are none if addr2line is
/// missing, or the build has no line numbers.
InlinedAt inlined_in(const std::vector<PerfSample>& samples, const std::string& program, const CodeSegment& code) {
  std::set<u64> addresses;
  for (const PerfSample& sample : samples) {
    for (const PerfFrame& frame : sample.frames) {
      if (frame.file == program) addresses.insert(code.in_file(frame.address));
    }
  }
  std::vector<std::string> words{"-a", "-f", "-i", "-C", "-e", program};
  for (const u64 address : addresses) words.push_back(fmt::format("{:#x}", address));
  try {
    return read_addr2line(run_program("addr2line", words).out);
  } catch (const OutputError&) {
    return {};
  }
}

/// Runs perf script on the samples. Throws OutputError if it fails.
std::string script_of(const PerfRecord& perf) {
  Output output = run_program("perf", {"script", "--no-inline", "-F", "event,ip,sym,dso", "-i", perf.path()});
  if (output.wait_status == 0) return std::move(output.out);
  const std::string said = complaint_of_perf(output.err);
  throw OutputError(fmt::format("perf script failed{}{}", said.empty() ? "" : ": ", said));
}

}  // namespace

void Profile::prepare() noexcept {
  try {
    perf_ = std::make_unique<PerfRecord>(frequency_of(plan_));
  } catch (const std::exception& error) {
    why_ = error.what();
  }
}

void Profile::begin() noexcept {
  if (perf_ == nullptr) return;
  if (perf_->enable()) {
    why_.clear();
    return;
  }
  why_ = perf_->end();
  if (why_.empty()) why_ = "perf ended before the run";
  perf_.reset();
}

void Profile::end() noexcept {
  // A perf that has ended already may have sampled as much as it is allowed to; its end tells.
  if (perf_ != nullptr) (void)perf_->disable();
}

std::string Profile::draw(const std::string& command, bool elides) {
  const auto none = [&](std::string_view why) {
    std::error_code unknown;
    const bool old = std::filesystem::exists(file_, unknown);
    return fmt::format("there is no profile: {}{}", why, old ? fmt::format("; {} is of an earlier run", file_) : "");
  };
  if (why_.empty()) why_ = perf_->end();
  if (!why_.empty()) return none(why_);
  if (stop_requested()) return none("the run was interrupted");
  try {
    const std::string text = script_of(*perf_);
    const std::vector<PerfSample> samples = read_perf_script(text);
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const CodeSegment code = own_code();
    const InlinedAt inlined = inlined_in(samples, program, code);
    std::vector<SampledStack> stacks;
    std::set<std::string> events;
    u64 cut = 0;
    for (const PerfSample& sample : samples) {
      std::vector<StackFrame> stack = stack_of_operation(sample, program, code, inlined);
      if (stack.empty()) {
        cut += is_cut(sample) ? 1 : 0;
        continue;
      }
      stacks.push_back({.frames = std::move(stack), .samples = 1});
      events.insert(event_name(sample.event));
    }
    if (stacks.empty()) return none(fmt::format("none of {} samples is of an operation", samples.size()));
    const std::string counts =
        fmt::format("{} sample{} of {}", stacks.size(), stacks.size() == 1 ? "" : "s", fmt::join(events, " and "));
    std::vector<std::string> lines{
        command,
        fmt::format("{}, in operations; {} more outside are not drawn (making requests, waiting for other threads)",
                    counts, samples.size() - stacks.size() - cut),
        "orange: the harness, the index and the policy; green: libraries; blue: the kernel"};
    if (cut != 0) lines.push_back(fmt::format("{} more are not drawn, since perf copied too little of the stack", cut));
    if (inlined.empty())
      lines.emplace_back("addr2line (package binutils) found no inlined functions: a box may hold others");
    if (elides) {
      lines.emplace_back(
          "A sample inside a hardware transaction aborts it, so its time shows where the transaction begins.");
    }
    NewFile file("profile", file_);
    file.write(flame_graph(stacks, lines));
    file.keep();
    return fmt::format("{}: {}; taking them may have slowed the run", file_, counts);
  } catch (const std::exception& error) {  // InputError and OutputError, if a program or the file fails
    return none(error.what());
  }
}

}  // namespace latchlab
