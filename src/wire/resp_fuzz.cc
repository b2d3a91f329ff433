// The server side of redis' protocol.
#include "src/wire/resp.h"

#include "src/wire/fuzz_testing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  // Small limits, so that inputs reach them. That of a whole command is left out: which limit is met first may then
  // depend on the cut. Rendered lengths need up to 20 bytes more than an inline command. An inline command of 256 bytes
  // has up to 128 words, which no limit bounds, and they must fit into an array.
  const RespParser parser({.most_arguments = 128, .most_bulk_bytes = 256, .most_inline_bytes = 256});
  testing::fuzz_codec(data, size, testing::RespServerSide{parser, {}});
  return 0;
}
