#include "harness/commands/perf_text.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

// The output of perf 6.1, with names made shorter.
constexpr std::string_view kScript =
    "cpu-clock:pppH: \n"
    "\tffffffff815e36cd unmap_page_range+0x4dd ([kernel.kallsyms])\n"
    "\t          16db75 __memmove_avx512 (/usr/lib/libc.so.6)\n"
    "\t          204e3d latchlab::RunnerOf<latchlab::Art<X (*)(int)> >::look_up<T> (/bin/harness)\n"
    "\t          827b9b latchlab::Phases::run_until_full (/bin/harness)\n"
    "\t          7b20e1 latchlab::NativeTeam::work (/bin/harness)\n"
    "\t           d44a2 [unknown] (/usr/lib/libstdc++.so.6.0.30)\n"
    "\n"
    "cycles:uhpppH: \n"
    "\t          85a987 latchlab::MixStream::fill_block (/bin/harness (deleted))\n"
    "\tffffffffffffffff [unknown] ([unknown])\n"
    "\n";

std::vector<std::string> names(const std::vector<StackFrame>& stack) {
  std::vector<std::string> out;
  for (const StackFrame& frame : stack) out.push_back(frame.function);
  return out;
}

TEST_CASE("perf's samples are read with event, addresses, symbols and files", "[profile]") {
  const std::vector<PerfSample> samples = read_perf_script(kScript);
  REQUIRE(samples.size() == 2);
  CHECK(samples[0].event == "cpu-clock:pppH");
  REQUIRE(samples[0].frames.size() == 6);
  CHECK(samples[0].frames[0].in_kernel());
  const PerfFrame& looks_up = samples[0].frames[2];
  CHECK(!looks_up.in_kernel());
  CHECK(looks_up.address == 0x204e3d);
  CHECK(looks_up.symbol == "latchlab::RunnerOf<latchlab::Art<X (*)(int)> >::look_up<T>");
  CHECK(looks_up.file == "/bin/harness");
  CHECK(samples[0].frames[5].symbol.empty());
  CHECK(samples[1].frames[0].file == "/bin/harness");
}

TEST_CASE("lines that perf may mix in are skipped", "[profile]") {
  const std::vector<PerfSample> samples = read_perf_script(
      "\t  1 before_any_sample (/x)\n# a comment\ncycles: \n\tno address here\n\t  zz f (/x)\n\t  12 f\n\t  12 f (/x)");
  REQUIRE(samples.size() == 1);
  REQUIRE(samples[0].frames.size() == 1);
  CHECK(samples[0].frames[0].symbol == "f");
  CHECK(read_perf_script("").empty());
}

TEST_CASE("addr2line's functions are read by address, and unknown ones are left out", "[profile]") {
  const InlinedAt inlined = read_addr2line(
      "0x0000000000204e3d\nlatchlab::key_byte(unsigned long)\n/a/key.h:12 (discriminator 2)\n"
      "latchlab::Art::find()\n/a/art.h:100\n0x0000000000000010\n??\n??:0\n");
  REQUIRE(inlined.size() == 1);
  CHECK(inlined.at(0x204e3d) == std::vector<std::string>{"latchlab::key_byte(unsigned long)", "latchlab::Art::find()"});
  CHECK(read_addr2line("").empty());
}

TEST_CASE("the stack of an operation begins below the harness's call, and inlined functions are expanded",
          "[profile]") {
  const std::vector<PerfSample> samples = read_perf_script(kScript);
  const std::string loop = "latchlab::RunnerOf<latchlab::Art<X (*)(int)> >::look_up<T>";
  const std::vector<StackFrame> plain = stack_of_operation(samples[0], "/bin/harness", {}, {});
  REQUIRE(names(plain) == std::vector<std::string>{loop, "__memmove_avx512", "unmap_page_range+0x4dd"});
  CHECK(plain[0].where == StackFrame::Where::kProgram);
  CHECK(plain[1].where == StackFrame::Where::kLibrary);
  CHECK(plain[2].where == StackFrame::Where::kKernel);

  const CodeSegment code{.loaded = 0x7000'0000, .address = 0x201000, .offset = 0x200000, .size = 0x10000};
  const InlinedAt inlined{{0x205e3d, {"find_child", "find_in", "look_up"}}};
  CHECK(names(stack_of_operation(samples[0], "/bin/harness", code, inlined)) ==
        std::vector<std::string>{loop, "find_in", "find_child", "__memmove_avx512", "unmap_page_range+0x4dd"});
}

TEST_CASE("a sample outside the operations has no stack", "[profile]") {
  CHECK(stack_of_operation(read_perf_script(kScript)[1], "/bin/harness", {}, {}).empty());
}

TEST_CASE("a stack is cut if it reaches neither the operation's call nor the beginning of its thread", "[profile]") {
  const auto samples = read_perf_script(kScript);
  CHECK_FALSE(is_cut(samples[0]));
  CHECK(is_cut(samples[1]));
  CHECK_FALSE(is_cut(read_perf_script("e:\n\t 1 wait (/h)\n\t 2 latchlab::NativeTeam::work (/h)\n").at(0)));
  CHECK_FALSE(is_cut(read_perf_script("e:\n\t 1 wait (/h)\n\t 2 main (/h)\n").at(0)));
}

TEST_CASE("a function without a symbol has its file's name", "[profile]") {
  const auto samples = read_perf_script(
      "e:\n\t 1 [unknown] ([vdso])\n\t 2 [unknown] (/usr/lib/libx.so.1)\n\t 3 latchlab::Phases::run_until_full (/h)\n");
  CHECK(names(stack_of_operation(samples.at(0), "/h", {}, {})) == std::vector<std::string>{"[libx.so.1]", "[vdso]"});
}

TEST_CASE("addresses in memory and positions in the file are those of addr2line", "[profile]") {
  const CodeSegment code{.loaded = 0x5555'0020'1000, .address = 0x201000, .offset = 0x200000, .size = 0x1000};
  CHECK(code.in_file(0x5555'0020'1abc) == 0x201abc);
  CHECK(code.in_file(0x200abc) == 0x201abc);
  CHECK(code.in_file(0x300abc) == 0x300abc);
}

TEST_CASE("an event is named without perf's modifiers", "[profile]") {
  CHECK(event_name("cpu-clock:pppH") == "cpu-clock");
  CHECK(event_name("cpu-clock") == "cpu-clock");
  CHECK(event_name("cycles:uhpppH") == "cycles (without the kernel)");
  CHECK(event_name("cycles:ukhpppH") == "cycles");
  CHECK(event_name("cpu_core/cycles/") == "cpu_core/cycles/");
}

TEST_CASE("perf's complaint is the first paragraph that says something", "[profile]") {
  CHECK(complaint_of_perf("Events disabled\nError:\nNo permission to enable cycles event.\n\nThe setting is 2\n") ==
        "No permission to enable cycles event.");
  CHECK(
      complaint_of_perf("\nPermission error mapping pages.\nConsider increasing /proc/sys/kernel/perf_event_mlock_kb,\n"
                        "or try again with a smaller value of -m/--mmap_pages.\n(current value: 4294967295,0)\n") ==
      "Permission error mapping pages. Consider increasing /proc/sys/kernel/perf_event_mlock_kb, or try again with a "
      "smaller value of -m/--mmap_pages. (current value: 4294967295,0)");
  CHECK(complaint_of_perf("Couldn't create thread/CPU maps: No such process\n") ==
        "Couldn't create thread/CPU maps: No such process");
  CHECK(complaint_of_perf("Events enabled\n[ perf record: Woken up 1 times to write data ]\n").empty());
  CHECK(complaint_of_perf("").empty());
}

}  // namespace
}  // namespace latchlab
