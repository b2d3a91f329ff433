#pragma once
// The values of a machine file: their keys, units and ranges, each beside the number that it sets.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/model/parameters.h"

namespace latchlab::model {

struct Field {
  using At = std::variant<u32*, double*, bool*, std::vector<double>*, L3Kind*, ReadSet*>;

  std::string_view key;   ///< table and name: "l1.kb"
  std::string_view unit;  ///< the only right one
  At at;
  double min = 0, max = 0;  ///< of a number, and of each number of a list

  [[nodiscard]] std::string_view table() const { return key.substr(0, key.find('.')); }
  [[nodiscard]] bool is_word() const {
    return std::holds_alternative<L3Kind*>(at) || std::holds_alternative<ReadSet*>(at);
  }
  /// Returns the value as a machine file has it.
  [[nodiscard]] std::string text() const;
  /// Sets the value. Returns "", or what would be right.
  [[nodiscard]] std::string set(std::string_view text) const;
  /// Multiplies the value, or each number of a list. Returns "", or what would be right.
  [[nodiscard]] std::string multiply(double factor) const;
};

/// Returns all fields of these parameters, table by table.
[[nodiscard]] std::vector<Field> fields_of(Parameters& parameters);

}  // namespace latchlab::model
