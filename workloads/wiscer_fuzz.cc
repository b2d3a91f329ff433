// Wiscer's workload files.
#include "workloads/wiscer.h"

#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const FileInMemory file(std::string_view(reinterpret_cast<const char*>(data), size));
  read_or_refuse([&] { (void)WiscerFile::read(file.path()); });
  return 0;
}
