#include "indexes/simdht/options.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/arch/features.h"
#include "src/base/error.h"

namespace latchlab::simdht {
namespace {

std::string name_of(u32 functions, u32 slots) { return fmt::format("{}x{}", functions, slots); }

}  // namespace

Isa best_isa() {
  const CpuFlags flags = cpu_flags();
  if (flags.avx512) return Isa::kAvx512;
  return flags.avx2 ? Isa::kAvx2 : Isa::kSse42;  // the whole program is compiled for SSE4.2
}

Options Options::parse(const Spec& spec) {
  SpecReader reader(spec, "index simdht");
  Options options;
  std::vector<std::string> shapes;
  for (const auto& [functions, slots] : kShapes) shapes.push_back(name_of(functions, slots));
  const auto standard = std::find(shapes.begin(), shapes.end(), name_of(options.shape.functions, options.shape.slots));
  const auto& [functions, slots] =
      kShapes[reader.one_of("shape", static_cast<std::size_t>(standard - shapes.begin()), shapes)];
  const u32 key_bits = u32{16} << reader.one_of("key", 2, {"16", "32", "64"});
  const u32 value_bits = u32{32} << reader.one_of("value", 1, {"32", "64"});
  options.shape = {functions, slots, key_bits, value_bits};
  options.isa = reader.word("isa", options.isa);
  options.kernel = reader.word("kernel", options.kernel);
  options.slots = reader.number("slots", 0, 0, u64{1} << 40);
  reader.finish();

  if (std::ranges::find(kWidths, std::array{key_bits, value_bits}) == kWidths.end()) {
    throw Contradiction(
        fmt::format("index simdht: the grid has no key={} with value={}; it has 16 with 32, 32 with 32, "
                    "32 with 64 and 64 with 64",
                    key_bits, value_bits));
  }
  if (options.kernel != Kernel::kHorizontal && slots != 1) {
    throw Contradiction(fmt::format("index simdht: kernel={} needs a shape with one slot (2x1, 3x1 or 4x1), not {}",
                                    word(options.kernel), name_of(functions, slots)));
  }
  if (options.kernel != Kernel::kHorizontal && key_bits == 16) {
    throw Contradiction(
        fmt::format("index simdht: kernel={} does not run with key=16, since no instruction gathers 16 bits; "
                    "write kernel=horizontal",
                    word(options.kernel)));
  }
  // Nobody chooses the default of `isa`, the widest set of the processor. If it lacks the kernel, the result is
  // degraded.
  const bool chosen = std::ranges::any_of(spec.options, [](const auto& option) { return option.first == "isa"; });
  if (options.kernel != Kernel::kHorizontal && chosen && options.isa < Isa::kAvx2) {
    throw Contradiction(fmt::format("index simdht: kernel={} needs isa=avx2 or isa=avx512, not {}",
                                    word(options.kernel), word(options.isa)));
  }
  return options;
}

std::pair<Isa, Kernel> Options::in_effect(Isa best) const {
  const Isa here = std::min(isa, best);
  return {here, here < Isa::kAvx2 ? Kernel::kHorizontal : kernel};
}

std::optional<std::string> Options::degraded(Isa best) const {
  const auto [here, there] = in_effect(best);
  if (here == isa && there == kernel) return std::nullopt;
  const std::string why = here != isa ? fmt::format("the processor has no {}", word(isa))
                                      : fmt::format("{} kernels need AVX2 or AVX-512", word(kernel));
  return fmt::format("simdht runs {} {} kernels: {}", word(here), word(there), why);
}

std::vector<std::pair<std::string, std::string>> Options::resolved() const {
  return {{"shape", name_of(shape.functions, shape.slots)},
          {"key", std::to_string(shape.key_bits)},
          {"value", std::to_string(shape.value_bits)},
          {"isa", std::string(word(isa))},
          {"kernel", std::string(word(kernel))},
          {"slots", std::to_string(slots)}};
}

std::vector<std::string> Options::variants() {
  std::vector<std::string> out;
  for (const auto& [functions, slots] : kShapes) out.push_back("simdht:shape=" + name_of(functions, slots));
  return out;
}

std::string_view Options::about(std::string_view key) {
  if (key == "shape") return "hash functions x slots of a bucket: 2x1 3x1 4x1 2x2 2x4 2x7 2x8 3x2 3x4";
  if (key == "key") return "bits of a key, 16, 32 or 64; --keys=u16 or u32 makes keys that fit";
  if (key == "value") return "bits of a value, 32 or 64; always 32 with key=16, always 64 with key=64";
  if (key == "isa") return "scalar, sse4.2, avx2 or avx512; the default is the widest set of the processor";
  if (key == "kernel") {
    return "horizontal (slots side by side); vertical or selective (keys side by side): one slot, not key=16, avx2 or "
           "avx512";
  }
  return "least number of slots at the start; the table doubles when they are too few";
}

}  // namespace latchlab::simdht
