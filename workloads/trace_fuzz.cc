// Trace files of this project's own format, which are mapped and read in place.
#include "workloads/trace.h"

#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const FileInMemory file(std::string_view(reinterpret_cast<const char*>(data), size));
  read_or_refuse([&] {
    const Trace trace(file.path());
    expect(trace.loaded() <= trace.keys(), "a trace loads no more keys than it has");
    for (const TraceOp& op : trace.ops()) expect(op.key < trace.keys(), "an operation's key is one of the trace");
  });
  return 0;
}
