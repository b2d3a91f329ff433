#include "src/memory/media/medium_options.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/quantity.h"
#include "src/base/spec.h"
#include "src/memory/numa.h"

namespace latchlab {
namespace {

constexpr std::array kPresets{
    MediumPreset{"optane",
                 {.latency_ns = 305, .read_gbps = 6.6, .write_gbps = 2.3, .granule = 256},
                 "one module of Optane PMem 100",
                 "J. Izraelevitz et al., arXiv 1903.05714: random reads, one module"},
    MediumPreset{"optane-6",
                 {.latency_ns = 305, .read_gbps = 39.4, .write_gbps = 13.9, .granule = 256},
                 "six interleaved modules of Optane PMem 100",
                 "J. Izraelevitz et al., arXiv 1903.05714: six modules of one socket"},
    MediumPreset{
        "cxl",
        {.latency_ns = 200, .read_gbps = 31.5, .write_gbps = 31.5},
        "DRAM behind CXL on eight lanes of PCIe 5.0",
        "twice the latency of 100 ns of local DRAM, the lower end of arXiv 2405.14209; the link's 8 x 32 GT/s"},
    MediumPreset{"remote",
                 {.latency_ns = 146, .read_gbps = 38.4, .write_gbps = 38.4},
                 "the other socket of a Xeon E5 v3",
                 "D. Molka et al., ICPP 2015: source snoop; two QPI links of 9.6 GT/s"},
    MediumPreset{"ssd",
                 {.latency_ns = 100'000, .read_gbps = 1.3, .write_gbps = .8, .granule = 4096},
                 "an SSD of TLC flash",
                 "A. Eisenman et al., MyNVM, EuroSys 2018, table 1; its reads' latency for writes, too"},
};

// ns, GB/s. A disk takes 10 ms to seek; the measurement of a slower medium would take minutes.
constexpr double kMostLatency = 1e7, kLeastRate = .001, kMostRate = 10'000;
constexpr u64 kLeastSize = u64{1} << 20, kMostSize = u64{1} << 46;

std::string names_of_presets() {
  std::string names;
  for (const MediumPreset& preset : kPresets) names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

}  // namespace

std::span<const MediumPreset> medium_presets() { return kPresets; }

MediumOptions MediumOptions::parse(std::string_view text, std::string_view what) {
  const auto fail = [&](std::string_view why) { return InputError(fmt::format("{} {}: {}", what, text, why)); };
  MediumOptions options;
  const std::string_view name = text.substr(0, text.find_first_of(":,"));
  const std::optional<MediumKind> kind = value_of_word<MediumKind>(name);
  if (!kind) {
    throw fail(
        fmt::format("there is no medium '{}'; there are node:N, file:PATH and model:PRESET, each with "
                    ",size=BYTES",
                    name));
  }
  options.kind = *kind;

  // A path may contain commas, so its size is what follows the last ",size=".
  Spec spec;
  if (options.kind == MediumKind::kFile) {
    const std::size_t end = text.rfind(",size=");
    if (end == std::string_view::npos || end <= name.size() + 1) throw fail("a file is file:PATH,size=BYTES");
    options.path = std::string(text.substr(name.size() + 1, end - name.size() - 1));
    spec = {.name = std::string(name), .arg = {}, .options = {{"size", std::string(text.substr(end + 6))}}};
  } else {
    spec = Spec::parse(text);
  }
  SpecReader reader(spec, fmt::format("{} {}", what, text));
  if (options.kind == MediumKind::kNode) {
    if (!spec.arg) throw fail("a node is node:NUMBER,size=BYTES");
    options.node = static_cast<u32>(reader.arg_u64(0, 0, kMostNodes - 1));
  }
  if (options.kind == MediumKind::kModel) {
    options.preset = reader.arg_text().value_or("");
    const auto preset = std::ranges::find(kPresets, options.preset, &MediumPreset::name);
    if (preset == kPresets.end()) {
      std::vector<std::string> names;
      for (const MediumPreset& one : kPresets) names.emplace_back(one.name);
      throw fail(fmt::format("there is no preset '{}'; there are {}{}", options.preset, names_of_presets(),
                             suggestion(options.preset, names)));
    }
    options.speed = preset->speed;
    options.speed.latency_ns = reader.real("lat", options.speed.latency_ns, 0, kMostLatency);
    options.speed.read_gbps = reader.real("read", options.speed.read_gbps, kLeastRate, kMostRate);
    options.speed.write_gbps = reader.real("write", options.speed.write_gbps, kLeastRate, kMostRate);
  }
  options.size = reader.number("size", 0, kLeastSize, kMostSize);
  if (options.size == 0) throw fail("the size is missing: add ,size=BYTES, as in size=4G");
  reader.finish();
  return options;
}

std::string MediumOptions::str() const {
  switch (kind) {
    case MediumKind::kNode: return fmt::format("node:{},size={}", node, count_text(size));
    case MediumKind::kFile: return fmt::format("file:{},size={}", path, count_text(size));
    case MediumKind::kModel: break;
  }
  return fmt::format("model:{},size={},lat={},read={},write={}", preset, count_text(size), speed.latency_ns,
                     speed.read_gbps, speed.write_gbps);
}

}  // namespace latchlab
