// Traces of other formats, plain or compressed. The first byte chooses the format, the rest is the file.
#include "workloads/trace_formats.h"

#include "src/testing/fuzzing.h"
#include "workloads/trace.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  if (size == 0) return 0;
  const FileInMemory file(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  const auto formats = trace_formats();
  read_or_refuse([&] {
    TraceWriter writer(u64{1} << 28);
    (void)read_trace(formats[static_cast<std::size_t>(data[0] - '0') % formats.size()].name, file.path(), writer);
  });
  return 0;
}
