// Topologies: hwloc's synthetic descriptions, and files that lstopo writes. hwloc reads both; the target is about what
// is made of its answer.
#include "harness/host/topology.h"

#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    const Topology topology = Topology::synthetic(text);
    expect(topology.allowed_count() > 0, "a machine has a processor");
  });
  const FileInMemory file(text);
  read_or_refuse([&] { expect(Topology::read(file.path()).allowed_count() > 0, "a machine has a processor"); });
  return 0;
}
