#include "src/model/machine_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "src/base/file_error.h"
#include "src/base/hash.h"
#include "src/base/printable.h"
#include "src/model/fields.h"

namespace latchlab::model {
namespace {

constexpr std::string_view kParts = "{v = ..., unit = \"...\", source = \"...\", tag = \"...\"}";

/// Reads the values of one file, and says where an error is.
class Reader {
 public:
  Reader(std::string_view path, const toml::table& top) : path_(path), top_(top) {}

  [[noreturn]] void refuse(const toml::node& at, std::string_view why) const {
    throw file_error("machine", path_, fmt::format("line {}: {}", at.source().begin.line, printable(why)));
  }

  std::string name() const {
    const toml::node* const node = top_.get("name");
    if (node == nullptr) throw file_error("machine", path_, "has no name; begin with name = \"...\"");
    const std::optional<std::string> name = node->value_exact<std::string>();
    if (!name || name->find_first_not_of(' ') == std::string::npos || printable(*name) != *name) {
      refuse(*node, "name must be a text that is not empty, in letters that a terminal shows");
    }
    return *name;
  }

  /// Refuses tables and values that no machine has.
  void check_names(const std::vector<Field>& fields) const {
    std::vector<std::string> tables{"name"};
    std::vector<std::string> keys;
    for (const Field& field : fields) {
      keys.emplace_back(field.key);
      if (tables.back() != field.table()) tables.emplace_back(field.table());
    }
    for (const auto& [table_name, node] : top_) {
      const std::string table(table_name.str());
      if (table == "name") continue;
      if (std::ranges::find(tables, table) == tables.end()) {
        refuse(node, fmt::format("there is no table [{}]{}; there are {}", table, suggestion(table, tables),
                                 fmt::join(tables.begin() + 1, tables.end(), ", ")));
      }
      const toml::table* const values = node.as_table();
      if (values == nullptr) refuse(node, fmt::format("{} must be a table: [{}]", table, table));
      for (const auto& [value_name, value] : *values) {
        const std::string key = fmt::format("{}.{}", table, value_name.str());
        if (std::ranges::find(keys, key) != keys.end()) continue;
        std::vector<std::string> there;
        std::ranges::copy_if(keys, std::back_inserter(there),
                             [&](const auto& k) { return k.starts_with(table + "."); });
        refuse(value,
               fmt::format("there is no {}{}; there are {}", key, suggestion(key, there), fmt::join(there, ", ")));
      }
    }
  }

  /// Sets the field, and returns the value with its provenance.
  MachineFile::Value read(const Field& field) const {
    const std::string_view name = field.key.substr(field.table().size() + 1);
    const toml::table* const table = top_[field.table()].as_table();
    const toml::node* const node = table == nullptr ? nullptr : table->get(name);
    if (node == nullptr) {
      throw file_error("machine", path_,
                       fmt::format("has no {}; write {} = {} in [{}]", field.key, name, kParts, field.table()));
    }
    const toml::table* const parts = node->as_table();
    if (parts == nullptr) refuse(*node, fmt::format("{} must be {}", field.key, kParts));
    for (const auto& [part, value] : *parts) {
      if (part != "v" && part != "unit" && part != "source" && part != "tag") {
        refuse(value, fmt::format("{} has an unknown part '{}'; it must be {}", field.key, part.str(), kParts));
      }
    }
    const auto text = [&](std::string_view part) {
      const toml::node* const found = parts->get(part);
      if (found == nullptr) refuse(*node, fmt::format("{} has no {}; it must be {}", field.key, part, kParts));
      const std::optional<std::string> words = found->value_exact<std::string>();
      if (!words || words->find_first_not_of(' ') == std::string::npos) {
        refuse(*node, fmt::format("the {} of {} must be a text that is not empty", part, field.key));
      }
      return *words;
    };
    MachineFile::Value value{
        .key = std::string(field.key), .text = {}, .unit = text("unit"), .source = text("source"), .tag = {}};
    if (value.unit != field.unit) {
      refuse(*node, fmt::format("the unit of {} must be '{}', not '{}'", field.key, field.unit, value.unit));
    }
    const std::string tag = text("tag");
    const std::optional<Tag> known = value_of_word<Tag>(tag);
    if (!known) {
      refuse(*node,
             fmt::format("the tag of {} must be one of {}, not '{}'", field.key, fmt::join(kWords<Tag>, ", "), tag));
    }
    value.tag = *known;
    const toml::node* const v = parts->get("v");
    if (v == nullptr) refuse(*node, fmt::format("{} has no v; it must be {}", field.key, kParts));
    // A number in quotes is refused like any other word.
    const std::string given = text_of(*v);
    const std::string right =
        v->is_string() && !field.is_word() ? field.set("") + ", without quotes" : field.set(given);
    if (!right.empty()) refuse(*node, fmt::format("{} is {}; {}", field.key, given, right));
    value.text = field.text();
    return value;
  }

 private:
  static std::string text_of(const toml::node& node) {
    if (const auto number = node.value_exact<i64>()) return fmt::format("{}", *number);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    if (const auto yes = node.value_exact<bool>()) return *yes ? "true" : "false";
    if (const auto text = node.value_exact<std::string>()) return *text;
    const toml::array* const list = node.as_array();
    if (list == nullptr) return "neither a number nor a word";
    std::vector<std::string> texts;
    for (const toml::node& element : *list) texts.push_back(element.is_number() ? text_of(element) : "no number");
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }

  const std::string_view path_;
  const toml::table& top_;
};

/// Returns why no model can have these parameters, although each value is in its range; "" if one can.
std::string contradiction(const Parameters& p) {
  const auto sets = [](double bytes, u32 ways) { return bytes / (ways * static_cast<double>(kLineBytes)); };
  const double of_l1 = sets(p.l1.kb * 1024, p.l1.ways);
  const double of_l2 = sets(p.l2.kb * 1024, p.l2.ways);
  if (p.all_cores() > kMostCores) {
    return fmt::format("the machine has {} cores; the model has at most {}", p.all_cores(), kMostCores);
  }
  if (p.all_clusters() > kMostClusters) {
    return fmt::format("the machine has {} clusters; the model has at most {}", p.all_clusters(), kMostClusters);
  }
  if (p.clock.ghz_by_active.empty()) return "clock.ghz_by_active is empty; it must have a number at least";
  if (of_l1 < 1 || of_l1 != std::floor(of_l1)) return "l1.kb must be a multiple of 64 bytes a way";
  if (of_l2 < 1 || of_l2 != std::floor(of_l2)) return "l2.kb must be a multiple of 64 bytes a way";
  if (sets(p.l3.mb_per_cluster * 1048576, p.l3.ways) < 1) return "l3.mb_per_cluster must be at least 64 bytes a way";
  if (p.tlb.l2 % p.tlb.ways != 0) return "tlb.l2 must be a multiple of tlb.ways";
  return "";
}

}  // namespace

MachineFile MachineFile::of(const Spec& spec) {
  if (spec.name == "file") {
    const std::string path = spec.arg.value_or("");
    std::ifstream in(path, std::ios::binary);
    std::string text;
    try {
      text.assign(std::istreambuf_iterator<char>(in), {});
    } catch (const std::ios_base::failure&) {
      in.setstate(std::ios_base::badbit);  // a folder
    }
    if (!in) throw file_error("machine", path, "cannot be read");
    MachineFile file = parse(text, path);
    file.change(spec.options);
    return file;
  }
  std::vector<std::string> names;
  for (const ShippedMachine& shipped : shipped_machines()) {
    names.emplace_back(shipped.name);
    if (shipped.name != spec.name) continue;
    if (spec.arg) throw InputError(fmt::format("machine {}: '{}' is no change; write key=value", spec.name, *spec.arg));
    MachineFile file = parse(shipped.text, fmt::format("{}.toml", shipped.name));
    file.change(spec.options);
    return file;
  }
  throw InputError(fmt::format("machine '{}' is unknown{}; there are {}, and file:PATH", spec.name,
                               suggestion(spec.name, names), fmt::join(names, ", ")));
}

MachineFile MachineFile::parse(std::string_view text, std::string_view path) {
  toml::table top;
  try {
    top = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw file_error("machine", path,
                     fmt::format("line {}: {}", error.source().begin.line, printable(error.description())));
  }
  const Reader reader(path, top);
  MachineFile file;
  file.name_ = reader.name();
  file.path_ = path;
  const std::vector<Field> fields = fields_of(file.parameters_);
  reader.check_names(fields);
  file.parameters_.htm.present = top.contains("htm");
  for (const Field& field : fields) {
    if (field.table() != "htm" || file.parameters_.htm.present) file.values_.push_back(reader.read(field));
  }
  if (const std::string why = contradiction(file.parameters_); !why.empty()) throw file_error("machine", path, why);
  return file;
}

void MachineFile::change(std::span<const std::pair<std::string, std::string>> changes) {
  change(changes, "a change on the command line");
}

void MachineFile::change(std::span<const std::pair<std::string, std::string>> changes, std::string_view why) {
  MachineFile changed = *this;
  for (const auto& [key, text] : changes) changed.set(key, text, why);
  if (const std::string right = contradiction(changed.parameters_); !right.empty()) {
    throw InputError(fmt::format("machine {}: {}", name_, right));
  }
  *this = std::move(changed);
}

void MachineFile::set(std::string_view key, std::string_view text, std::string_view why) {
  const auto fail = [this](std::string_view what) { return InputError(fmt::format("machine {}: {}", name_, what)); };
  const auto value = std::ranges::find(values_, key, &Value::key);
  if (value == values_.end()) {
    std::vector<std::string> keys;
    for (const Value& known : values_) keys.push_back(known.key);
    const std::string meant = suggestion(key, keys);
    throw fail(fmt::format("there is no {}{}", printable(key), meant.empty() ? "; its file has all keys" : meant));
  }
  const std::vector<Field> fields = fields_of(parameters_);
  const Field& field = *std::ranges::find(fields, key, &Field::key);
  const std::optional<double> factor =
      text.ends_with('x') ? parse_double(text.substr(0, text.size() - 1)) : std::nullopt;
  const std::string right = factor ? field.multiply(*factor) : field.set(text);
  if (!right.empty()) throw fail(fmt::format("{} cannot be '{}'; {}", key, printable(text), right));
  changes_.push_back(fmt::format("{}: {} {} instead of {} ({})", key, field.text(), value->unit, value->text, why));
  *value = {
      .key = value->key, .text = field.text(), .unit = value->unit, .source = std::string(why), .tag = Tag::kAssumed};
}

void MachineFile::scale_down(double by) {
  if (!(by >= 1)) throw InputError(fmt::format("machine {}: a scale of {} must be at least 1", name_, by));
  const double all_sets = static_cast<double>(parameters_.tlb.l2) / parameters_.tlb.ways;
  const double sets = std::round(all_sets / by);
  if (sets < 1) {
    throw InputError(
        fmt::format("machine {}: scale={} leaves nothing of tlb.l2; it must be at most {}", name_, by, all_sets * 2));
  }
  const auto divided = [by](double value) { return fmt::format("{}", value / by); };
  const std::pair<std::string, std::string> changes[] = {
      {"tlb.l2", fmt::format("{}", sets * parameters_.tlb.ways)},
      {"l3.mb_per_cluster", divided(parameters_.l3.mb_per_cluster)},
      {"kernel.mark_period_ms", divided(parameters_.kernel.mark_period_ms)},
      {"kernel.marks_after_ms", divided(parameters_.kernel.marks_after_ms)}};
  change(changes, fmt::format("scaled down by {}", by));
}

std::string MachineFile::digest() const {
  std::string all = name_;
  for (const Value& value : values_) {
    all += fmt::format("\n{}={} {} [{}] {}", value.key, value.text, value.unit, word(value.tag), value.source);
  }
  return fmt::format("{:016x}", hash_bytes(all));
}

}  // namespace latchlab::model
