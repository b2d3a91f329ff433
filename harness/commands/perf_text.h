#pragma once

// Reads the output of the programs that make a profile: perf and addr2line. Pure functions.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/text/flame_graph.h"
#include "src/base/types.h"

namespace latchlab {

/// A frame as perf prints it. The views refer to perf's output.
struct PerfFrame {
  u64 address = 0;          ///< in the kernel or in its file, as perf prints it
  std::string_view symbol;  ///< empty if perf does not know it
  std::string_view file;    ///< path of the program or library, or a name in brackets

  [[nodiscard]] bool in_kernel() const { return address >> 63 != 0; }
};

/// A sample: its event and its stack, the innermost function first.
struct PerfSample {
  std::string_view event;  ///< with perf's modifiers, as in "cycles:uhpppH"
  std::vector<PerfFrame> frames;
};

/// Returns the samples in the output of `perf script --no-inline -F event,ip,sym,dso`. It skips lines of another form.
[[nodiscard]] std::vector<PerfSample> read_perf_script(std::string_view output);

/// The functions that the compiler put at each address, the innermost first. The last contains the others.
using InlinedAt = std::map<u64, std::vector<std::string>>;

/// Returns the functions in the output of `addr2line -a -f -i -C`. Addresses that it does not know are left out.
[[nodiscard]] InlinedAt read_addr2line(std::string_view output);

/// Returns an event's name for people: "cycles:uhpppH" is "cycles (without the kernel)".
[[nodiscard]] std::string event_name(std::string_view event);

/// The part of a program file that is executed, and where it stands in memory.
struct CodeSegment {
  u64 loaded = 0;   ///< its first address in memory
  u64 address = 0;  ///< its first address in the terms of the file, which are those of addr2line
  u64 offset = 0;   ///< its position in the file
  u64 size = 0;

  /// Returns an address in the terms of the file. Versions of perf print addresses in memory or positions in the file.
  [[nodiscard]] u64 in_file(u64 printed) const;
};

/// Returns the stack of an operation of the run: its functions from the harness's call on, the outermost first. Returns
/// an empty stack for a sample outside all operations. `program` is the path of this program; the functions that
/// `inlined` has at its addresses take the place of its symbols.
[[nodiscard]] std::vector<StackFrame> stack_of_operation(const PerfSample& sample, std::string_view program,
                                                         const CodeSegment& code, const InlinedAt& inlined);

/// Returns true if a sample's stack does not reach the function with which its thread began: perf copied too little of
/// it. Then the sample may be of an operation although stack_of_operation returns nothing.
[[nodiscard]] bool is_cut(const PerfSample& sample);

/// Returns perf's reason for failing, which is the first paragraph of its stderr, in one line; empty if it has none.
[[nodiscard]] std::string complaint_of_perf(std::string_view err);

}  // namespace latchlab
