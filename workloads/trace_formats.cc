#include "workloads/trace_formats.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab {

namespace {

using Word = std::pair<std::string_view, OpKind>;

constexpr Word kTwitterWords[] = {
    {"get", OpKind::kRead},      {"gets", OpKind::kRead},    {"set", OpKind::kUpsert}, {"cas", OpKind::kUpsert},
    {"add", OpKind::kInsert},    {"replace", OpKind::kUpdate}, {"delete", OpKind::kErase}, {"append", OpKind::kRmw},
    {"prepend", OpKind::kRmw},   {"incr", OpKind::kRmw},     {"decr", OpKind::kRmw}};
constexpr Word kMetaWords[] = {{"GET", OpKind::kRead},
                               {"GET_LEASE", OpKind::kRead},
                               {"SET", OpKind::kUpsert},
                               {"SET_LEASE", OpKind::kUpsert},
                               {"DELETE", OpKind::kErase}};
constexpr std::size_t kLongestLine = 1 << 20;
constexpr u64 kMostRepeats = 1'000'000;
constexpr u64 kMostSeconds = 10'000'000'000;   // in nanoseconds it fits into 64 bits

OpKind kind_of(std::string_view word, std::span<const Word> words) {
  const auto found = std::ranges::find(words, word, &Word::first);
  if (found != words.end()) return found->second;
  std::string known;
  for (const Word& one : words) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.first);
  throw InputError(fmt::format("there is no operation '{}'; there are {}", word, known));
}

u64 number_of(std::string_view text, std::string_view what, u64 most) {
  const std::optional<u64> number = parse_u64(text);
  if (!number || *number > most) throw InputError(fmt::format("{} '{}' is no whole number up to {}", what, text, most));
  return *number;
}

u64 nanoseconds(std::string_view seconds) { return number_of(seconds, "the time", kMostSeconds) * 1'000'000'000; }

/// The fields between commas.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// Five fields follow the key, which may have commas itself.
void add_twitter(std::string_view line, TraceWriter& writer) {
  constexpr std::size_t kBehindKey = 5;
  const std::size_t time_end = line.find(',');
  std::size_t key_end = line.size();
  std::array<std::string_view, kBehindKey> behind;
  for (std::size_t field = kBehindKey; field-- > 0;) {
    const std::size_t comma = key_end == 0 ? std::string_view::npos : line.rfind(',', key_end - 1);
    if (comma == std::string_view::npos || comma <= time_end) {
      throw InputError("needs seven fields: time, key, key size, value size, client, operation, time to live");
    }
    behind[field] = line.substr(comma + 1, key_end - comma - 1);
    key_end = comma;
  }
  writer.add(nanoseconds(line.substr(0, time_end)), line.substr(time_end + 1, key_end - time_end - 1),
             kind_of(behind[3], kTwitterWords), number_of(behind[1], "the value size", ~u64{0}));
}

class MetaColumns {
 public:
  explicit MetaColumns(std::string_view line) {
    const std::vector<std::string_view> names = fields_of(line);
    count_ = names.size();
    for (std::size_t at = 0; at < names.size(); ++at) {
      for (auto& [name, column] : columns_) {
        if (names[at] == name) *column = at;
      }
    }
    if (!key_ || !op_) throw InputError("names no columns key and op, as in key,op,size,op_count,key_size");
  }
  [[nodiscard]] bool has_times() const { return time_.has_value(); }

  void add(std::string_view line, TraceWriter& writer) const {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != count_) throw InputError(fmt::format("has {} fields; the first line names {}", fields.size(), count_));
    const u64 times = repeats_ ? number_of(fields[*repeats_], "op_count", kMostRepeats) : 1;
    const u64 time = time_ ? nanoseconds(fields[*time_]) : 0;
    const u64 size = size_ ? number_of(fields[*size_], "size", ~u64{0}) : 0;
    const OpKind kind = kind_of(fields[*op_], kMetaWords);
    for (u64 i = 0; i < times; ++i) writer.add(time, fields[*key_], kind, size);
  }

 private:
  using Column = std::optional<std::size_t>;
  std::size_t count_ = 0;
  Column key_, op_, size_, repeats_, time_;
  const std::pair<std::string_view, Column*> columns_[5] = {
      {"key", &key_}, {"op", &op_}, {"size", &size_}, {"op_count", &repeats_}, {"op_time", &time_}};
};

}  // namespace

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> formats{
      {"twitter", "Twitter's cache traces: time, key, key size, value size, client, operation, time to live"},
      {"meta-kv", "Meta's key-value traces: columns as the first line names them, key and op among them"},
  };
  return formats;
}

bool read_trace(std::string_view format, const std::string& path, TraceWriter& writer) {
  const bool twitter = format == "twitter";
  if (!twitter && format != "meta-kv") {
    throw InputError(fmt::format("there is no trace format '{}'; there are twitter and meta-kv{}", format,
                                 suggestion(format, {"twitter", "meta-kv"})));
  }
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) throw InputError(fmt::format("trace '{}': is a directory, not a file", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("trace '{}': {}", path, std::strerror(errno)));
  std::optional<MetaColumns> columns;
  u64 number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    try {
      if (line.size() > kLongestLine) throw InputError(fmt::format("has {} bytes; none has more than {}", line.size(), kLongestLine));
      if (twitter) {
        add_twitter(line, writer);
      } else if (!columns) {
        columns.emplace(line);
      } else {
        columns->add(line, writer);
      }
    } catch (const InputError& error) {
      throw InputError(fmt::format("trace '{}': line {}: {}", path, number, error.what()));
    }
  }
  if (file.bad()) throw InputError(fmt::format("trace '{}': cannot be read beyond line {}", path, number));
  if (writer.operations() == 0) throw InputError(fmt::format("trace '{}': has no operation on its {} lines", path, number));
  return twitter || columns->has_times();
}

}  // namespace latchlab
