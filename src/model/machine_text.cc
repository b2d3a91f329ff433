#include "src/model/machine_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace latchlab::model {
namespace {

/// Returns a text as TOML quotes it.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string machine_text(std::string_view comment, std::string_view name, std::span<const MachineFile::Value> values) {
  std::string out;
  while (!comment.empty()) {
    const std::size_t end = std::min(comment.find('\n'), comment.size());
    out += fmt::format("# {}\n", comment.substr(0, end));
    comment.remove_prefix(std::min(end + 1, comment.size()));
  }
  out += fmt::format("\nname = {}\n", quoted(name));
  std::string_view open;
  for (const MachineFile::Value& value : values) {
    const std::size_t dot = value.key.find('.');
    const std::string_view table = std::string_view(value.key).substr(0, dot);
    if (table != open) out += fmt::format("\n[{}]\n", table);
    open = table;
    out += fmt::format("{} = {{v = {}, unit = {}, tag = {}, source = {}}}\n", value.key.substr(dot + 1),
                       value.unit == "word" ? quoted(value.text) : value.text, quoted(value.unit),
                       quoted(word(value.tag)), quoted(value.source));
  }
  return out;
}

}  // namespace latchlab::model
