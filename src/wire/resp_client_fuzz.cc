// The client side of redis' protocol: answers in RESP2 and RESP3.
#include "src/wire/resp_client.h"

#include "src/wire/fuzz_testing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const RespAnswerLimits limits{.most_bulk_bytes = 256, .most_values = 64, .most_line_bytes = 256};
  testing::fuzz_codec(data, size, testing::RespClientSide{limits, {}});
  return 0;
}
