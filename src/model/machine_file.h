#pragma once
// The file of a modelled machine: TOML, in which every value says where it comes from and how far to trust it.
//
//     name = "haswell-ep"
//     [l1]
//     kb = {v = 32, unit = "KiB", source = "Intel's optimization manual", tag = "recalled"}
//
// A file without a source, a unit or a known tag for each value is refused, and so is one with unknown or missing
// values. All values are required, but for the table [htm], which a machine without transactions lacks.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/spec.h"
#include "src/base/words.h"
#include "src/model/parameters.h"

namespace latchlab::model {

/// How far to trust a value, from most to least.
enum class Tag : u8 { kMeasured, kPublished, kRecalled, kFitted, kAssumed };

class MachineFile {
 public:
  struct Value {
    std::string key;  ///< as in "l1.kb"
    std::string text, unit, source;
    Tag tag;
  };

  /// Returns the machine that a spec names, with its options as changes: haswell-ep, haswell-ep:qpi.gbps=2x,htm.read=l1
  /// (a shipped one), or file:PATH. Throws InputError for an unknown name, an unreadable file or a wrong value.
  [[nodiscard]] static MachineFile of(const Spec& spec);
  /// Parses the text of a file. Errors name `path`. Throws InputError.
  [[nodiscard]] static MachineFile parse(std::string_view text, std::string_view path);

  /// Changes values: each key to a number or a word, or to a multiple of what it is ("2x"). A number stands for all of
  /// a list, and a multiple is taken of each. The values are then assumed. Throws InputError for an unknown key, a
  /// value out of range, and values that contradict each other; then nothing has changed.
  void change(std::span<const std::pair<std::string, std::string>> changes);
  /// Divides the sizes of L3 and of the second TLB, kernel.mark_period_ms and kernel.marks_after_ms, for a data set
  /// that is as much smaller. Throws InputError unless `by` is at least 1 and leaves each a line or an entry a way.
  void scale_down(double by);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  /// Returns all values, in the order of the tables.
  [[nodiscard]] std::span<const Value> values() const { return values_; }
  /// Returns the changes since the file was read, one line each.
  [[nodiscard]] const std::vector<std::string>& changes() const { return changes_; }
  /// Returns 16 hex digits: equal for machines with equal names, values and provenance. O(values).
  [[nodiscard]] std::string digest() const;

 private:
  MachineFile() = default;
  void change(std::span<const std::pair<std::string, std::string>> changes, std::string_view why);
  void set(std::string_view key, std::string_view text, std::string_view why);

  std::string name_, path_;
  Parameters parameters_{};
  std::vector<Value> values_;
  std::vector<std::string> changes_;
};

/// A file of src/model/machines/, which is compiled into the library (cmake/shipped.cmake).
struct ShippedMachine {
  std::string_view name;  ///< the file's name, without folder and .toml
  std::string_view text;
};
[[nodiscard]] const std::vector<ShippedMachine>& shipped_machines();

}  // namespace latchlab::model

namespace latchlab {
template <>
inline constexpr std::array kWords<model::Tag>{"measured"sv, "published"sv, "recalled"sv, "fitted"sv, "assumed"sv};
}  // namespace latchlab
