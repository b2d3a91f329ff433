// Topologies from descriptions. XML files are left out: hwloc 2.9 reads them, and crashes or leaks on malformed ones.
#include "harness/host/topology.h"

#include <filesystem>

#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::error_code error;
  if (std::filesystem::exists(text, error)) return 0;  // it would be read as a file
  read_or_refuse([&] { expect(Topology::read(text).allowed_count() > 0, "a machine has a processor"); });
  return 0;
}
