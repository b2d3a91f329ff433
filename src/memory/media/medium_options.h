#pragma once
// The words that name a medium, the memory on which far bytes lie:
//
//     node:1,size=4G                        a NUMA node: a remote socket, or a CXL expander in system-RAM mode
//     file:/dev/shm,size=4G                 a folder of a tmpfs or of a DAX file system, or a DAX device
//     model:optane,size=4G,lat=350,read=6   this machine's memory, to whose copies the time of a medium is added
//
// A modelled medium has the speed of a preset, of which each value can be overwritten. It is never called by the name
// of the medium alone: results say `modelled`.

#include <span>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

enum class MediumKind : u8 { kNode, kFile, kModel };
template <>
inline constexpr std::array kWords<MediumKind>{"node"sv, "file"sv, "model"sv};

/// The speed of a medium. A transfer of so many bytes takes latency + bytes / bandwidth, if no other transfer runs.
struct MediumSpeed {
  double latency_ns = 0;  ///< of a transfer
  double read_gbps = 0;   ///< GB/s of all readers together, 10^9 bytes each
  double write_gbps = 0;  ///< GB/s of all writers together
  u64 granule = 64;       ///< bytes; a transfer counts as whole granules

  friend bool operator==(const MediumSpeed&, const MediumSpeed&) = default;
};

/// A medium that was measured or specified by others.
struct MediumPreset {
  std::string_view name;
  MediumSpeed speed;
  std::string_view what;    ///< the medium, for people
  std::string_view source;  ///< of the speed
};

/// Returns all presets.
[[nodiscard]] std::span<const MediumPreset> medium_presets();

struct MediumOptions {
  MediumKind kind = MediumKind::kModel;
  u32 node = 0;        ///< the kernel's number of the node
  std::string path;    ///< of a folder or a device, for a file
  std::string preset;  ///< the name of a preset, for a model
  u64 size = 0;        ///< bytes that may lie on the medium
  MediumSpeed speed;   ///< of a model; the speed of other media is measured

  /// Parses the words of a medium. `what` names them in errors, as in "--far". Throws InputError for an unknown kind,
  /// preset or option, and for a missing or wrong number.
  [[nodiscard]] static MediumOptions parse(std::string_view text, std::string_view what);
  /// Returns words that parse to these options.
  [[nodiscard]] std::string str() const;

  friend bool operator==(const MediumOptions&, const MediumOptions&) = default;
};

}  // namespace latchlab
