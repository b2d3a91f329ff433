// The server side of memcached's protocol: text and meta commands.
#include "src/wire/memcached.h"

#include "src/wire/fuzz_testing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  // Small limits, so that inputs reach them.
  const MemcachedParser parser({.most_value_bytes = 64, .most_get_line_bytes = 3000});
  testing::fuzz_codec(data, size, testing::MemcachedServerSide{parser, {}});
  return 0;
}
