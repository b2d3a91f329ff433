#pragma once

// What the fuzz targets of the codecs ask of every parser. The first byte of an input says where the rest is cut in
// two.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/testing/fuzzing.h"
#include "src/wire/connection_testing.h"

namespace latchlab::testing {

/// Aborts unless both ways to read the input find the same, within the promises of Parsed, and what stands at its front
/// is rendered as a text that parses to the same.
template <class Side>
void fuzz_codec(const std::uint8_t* data, std::size_t size, const Side& side) {
  if (size == 0) return;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = bytes.size() * data[0] / 255;
  expect(heard_in_two(bytes, cut, side) == heard(bytes, side), "two pieces are the same as the whole");
  expect(renders_again(bytes, side), "what was parsed is rendered as a text that parses to the same");
}

}  // namespace latchlab::testing
