// The client side of memcached's protocol: answers to text and meta commands.
#include "src/wire/memcached_client.h"

#include "src/wire/fuzz_testing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  testing::fuzz_codec(data, size, testing::MemcachedClientSide{.most_value_bytes = 64, .answer = {}});
  return 0;
}
