#include "harness/commands/perf_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace latchlab {

namespace {

/// The function that runs operations on a thread: its callees are the measured code (trial/phases.h).
constexpr std::string_view kCaller = "latchlab::Phases::run_until_full";
constexpr std::string_view kThread = "latchlab::NativeTeam::work";

/// Takes the first line off `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

/// Takes a hexadecimal number off the beginning of `text`.
std::optional<u64> take_hexadecimal(std::string_view& text) {
  u64 number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Reads a line "ADDRESS SYMBOL (FILE)".
std::optional<PerfFrame> frame_of(std::string_view line) {
  std::string_view rest = trimmed(line);
  const std::optional<u64> address = take_hexadecimal(rest);
  if (!address || !rest.starts_with(' ') || !rest.ends_with(')')) return std::nullopt;
  constexpr std::string_view kDeleted = " (deleted))";  // a file that was replaced since it was loaded
  rest.remove_suffix(rest.ends_with(kDeleted) ? kDeleted.size() : 1);
  const std::size_t file = rest.rfind(" (");
  if (file == std::string_view::npos) return std::nullopt;
  PerfFrame frame{.address = *address, .symbol = trimmed(rest.substr(0, file)), .file = rest.substr(file + 2)};
  if (frame.symbol == "[unknown]") frame.symbol = {};
  return frame;
}

/// Returns the name of a frame: its symbol, or its file's name in brackets.
std::string name_of(const PerfFrame& frame) {
  if (!frame.symbol.empty()) return std::string(frame.symbol);
  if (frame.file.starts_with('[')) return std::string(frame.file);
  return "[" + std::string(frame.file.substr(frame.file.rfind('/') + 1)) + "]";
}

}  // namespace

std::vector<PerfSample> read_perf_script(std::string_view output) {
  std::vector<PerfSample> samples;
  while (!output.empty()) {
    const std::string_view line = take_line(output);
    if (const std::string_view event = trimmed(line); !line.starts_with('\t') && event.ends_with(':')) {
      samples.push_back({.event = event.substr(0, event.size() - 1), .frames = {}});
    } else if (const auto frame = frame_of(line); frame && !samples.empty()) {
      samples.back().frames.push_back(*frame);
    }
  }
  return samples;
}

InlinedAt read_addr2line(std::string_view output) {
  InlinedAt inlined;
  std::optional<u64> address;
  while (!output.empty()) {
    std::string_view line = trimmed(take_line(output));
    if (line.starts_with("0x")) {
      line.remove_prefix(2);
      address = take_hexadecimal(line);
    } else if (address) {
      if (!line.empty() && line != "??") inlined[*address].emplace_back(line);
      (void)take_line(output);  // its file and line
    }
  }
  return inlined;
}

std::string event_name(std::string_view event) {
  const std::size_t colon = event.rfind(':');
  if (colon == std::string_view::npos || event.find('/', colon) != std::string_view::npos) return std::string(event);
  // Modifiers: u and k limit the event to user code and the kernel.
  const std::string_view modifiers = event.substr(colon + 1);
  const bool user_only = modifiers.find('u') != std::string_view::npos && modifiers.find('k') == std::string_view::npos;
  return std::string(event.substr(0, colon)) + (user_only ? " (without the kernel)" : "");
}

u64 CodeSegment::in_file(u64 printed) const {
  if (printed - loaded < size) return printed - loaded + address;
  if (printed - offset < size) return printed - offset + address;
  return printed;
}

bool is_cut(const PerfSample& sample) {
  return std::ranges::none_of(sample.frames, [](const PerfFrame& frame) {
    return frame.symbol.starts_with(kCaller) || frame.symbol.starts_with(kThread) || frame.symbol == "main";
  });
}

std::vector<StackFrame> stack_of_operation(const PerfSample& sample, std::string_view program, const CodeSegment& code,
                                           const InlinedAt& inlined) {
  std::vector<StackFrame> stack;
  bool found = false;
  for (const PerfFrame& frame : sample.frames) {
    found = frame.symbol.starts_with(kCaller);
    if (found) break;
    if (frame.in_kernel()) {
      stack.push_back({.function = name_of(frame), .where = StackFrame::Where::kKernel});
      continue;
    }
    if (frame.file != program) {
      stack.push_back({.function = name_of(frame), .where = StackFrame::Where::kLibrary});
      continue;
    }
    const auto at = inlined.find(code.in_file(frame.address));
    if (at == inlined.end()) {
      stack.push_back({.function = name_of(frame), .where = StackFrame::Where::kProgram});
      continue;
    }
    for (const std::string& function : at->second) {
      // perf's name of the function that contains the others is the more complete one.
      const bool last = &function == &at->second.back();
      stack.push_back({.function = last && !frame.symbol.empty() ? std::string(frame.symbol) : function,
                       .where = StackFrame::Where::kProgram});
    }
  }
  if (!found) return {};
  std::ranges::reverse(stack);
  return stack;
}

std::string complaint_of_perf(std::string_view err) {
  std::string said;
  while (!err.empty()) {
    const std::string_view line = trimmed(take_line(err));
    if (line.empty() && !said.empty()) break;
    if (line.empty() || line == "Error:" || line.starts_with("Events ") || line.starts_with("[ perf")) continue;
    if (!said.empty()) said += ' ';
    said += line;
  }
  return said;
}

}  // namespace latchlab
