#include "src/vector/update.h"

#include <fmt/format.h>

#include "src/vector/update_table.h"

namespace latchlab::vectors {
namespace {

const UpdateEntry& entry_of(UpdateFunction function) { return update_table()[static_cast<std::size_t>(function)]; }

}  // namespace

Status check(const UpdateEntry& entry, Element element, Operands shape, std::size_t operand_bytes) {
  if (!entry.takes(element)) return Status::kUnsuited;
  const bool fits = shape == Operands::kForEach || operand_bytes == entry.operands * size_of(element);
  return fits ? Status::kDone : Status::kMismatched;
}

Status check(const UpdateEntry& entry, Element element, Operands shape, std::size_t operand_bytes, std::size_t bytes) {
  const Status status = check(entry, element, shape, operand_bytes);
  if (status != Status::kDone) return status;
  if (bytes % size_of(element) != 0) return Status::kRagged;
  const bool fits = shape == Operands::kForAll || operand_bytes == entry.operands * bytes;
  return fits ? Status::kDone : Status::kMismatched;
}

Status apply(const UpdateEntry& entry, Element element, Operands shape, Bytes operands, Bytes old, MutableBytes out,
             Kernel kernel) {
  const Status status = check(entry, element, shape, operands.size(), old.size());
  if (status != Status::kDone) return status;
  if (out.size() != old.size()) return Status::kTooLittleRoom;
  const auto& loops = entry.loops[static_cast<std::size_t>(shape)][static_cast<std::size_t>(kernel)];
  loops[static_cast<std::size_t>(element)](
      {.in = old.data(), .out = out.data(), .count = old.size() / size_of(element), .operands = operands.data()});
  return Status::kDone;
}

Status Update::check() const { return vectors::check(entry_of(function_), element_, shape_, size_); }
Status Update::check(std::size_t bytes) const {
  return vectors::check(entry_of(function_), element_, shape_, size_, bytes);
}

Status apply(const Update& update, Bytes old, MutableBytes out, Kernel kernel) {
  const Status status = update.check();  // before operands(): so many lie there
  if (status != Status::kDone) return status;
  return apply(entry_of(update.function()), update.element(), update.shape(), update.operands(), old, out, kernel);
}

std::optional<UpdateFunction> update_of_name(std::string_view name) {
  const std::span<const UpdateEntry> table = update_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return static_cast<UpdateFunction>(i);
  }
  return std::nullopt;
}

std::string_view name_of(UpdateFunction function) { return entry_of(function).name; }

std::vector<std::string> update_names() {
  std::vector<std::string> names;
  for (const UpdateEntry& entry : update_table()) names.emplace_back(entry.name);
  return names;
}

std::size_t operands_of(UpdateFunction function) { return entry_of(function).operands; }

std::string why(Status status, const Update& update) {
  const std::string_view name = name_of(update.function());
  if (status != Status::kMismatched) return why(status, name, update.element());
  const std::string_view operands = operands_of(update.function()) == 1 ? "one operand" : "two operands";
  if (update.shape() == Operands::kForEach)
    return fmt::format("{} takes {} for each element of the value", name, operands);
  return fmt::format("{} takes {} of {} bytes for all elements", name, operands, size_of(update.element()));
}

}  // namespace latchlab::vectors
