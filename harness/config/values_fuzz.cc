// Values of options. The first byte chooses the option, the rest is its value.
#include "harness/config/values.h"

#include <array>

#include "harness/config/arrivals.h"
#include "harness/config/slo.h"
#include "src/testing/fuzzing.h"

namespace latchlab {
namespace {

void parse_axis(std::string_view text) {
  const auto points = expand_axis("--fuzz", {std::string(text)});
  expect(!points.empty() && points.size() <= 100'000, "an axis has from one to 100,000 points");
}

using Parse = void (*)(std::string_view);
constexpr std::array<Parse, 10> kParsers{
    parse_axis,
    [](std::string_view text) { (void)parse_count("--fuzz", text, 1, 1'000'000); },
    [](std::string_view text) { (void)parse_duration("--fuzz", text, 0, 3'600'000'000'000); },
    [](std::string_view text) { (void)parse_share("--fuzz", text); },
    [](std::string_view text) { (void)parse_batch(text); },
    [](std::string_view text) { (void)parse_latency(text); },
    [](std::string_view text) { (void)parse_pin(text); },
    [](std::string_view text) { (void)parse_mem(text); },
    [](std::string_view text) { (void)Rate::parse(text); },
    [](std::string_view text) { expect(Slo::parse(Slo::parse(text).str()).bound_ns > 0, "a bound is a time"); },
};

}  // namespace
}  // namespace latchlab

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  read_or_refuse([&] { kParsers[static_cast<std::size_t>(data[0] - '0') % kParsers.size()](text); });
  return 0;
}
