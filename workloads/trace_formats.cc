#include "workloads/trace_formats.h"

#include <algorithm>
#include <array>
#include <istream>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"
#include "src/base/spec.h"
#include "workloads/compressed_input.h"
#include "workloads/text_file.h"

namespace latchlab {

namespace {

using Word = std::pair<std::string_view, OpKind>;

constexpr Word kTwitterWords[] = {{"get", OpKind::kRead},     {"gets", OpKind::kRead},     {"set", OpKind::kUpsert},
                                  {"cas", OpKind::kUpsert},   {"add", OpKind::kInsert},    {"replace", OpKind::kUpdate},
                                  {"delete", OpKind::kErase}, {"append", OpKind::kModify}, {"prepend", OpKind::kModify},
                                  {"incr", OpKind::kModify},  {"decr", OpKind::kModify}};
constexpr Word kMetaWords[] = {{"GET", OpKind::kRead},
                               {"GET_LEASE", OpKind::kRead},
                               {"SET", OpKind::kUpsert},
                               {"SET_LEASE", OpKind::kUpsert},
                               {"DELETE", OpKind::kErase}};
constexpr std::size_t kLongestLine = 1 << 20;
constexpr u64 kMostRepeats = 1'000'000;
constexpr u64 kMostSeconds = 10'000'000'000;  // fits into 64 bits in nanoseconds

OpKind kind_of(std::string_view word, std::span<const Word> words) {
  const auto found = std::ranges::find(words, word, &Word::first);
  if (found != words.end()) return found->second;
  std::string known;
  for (const Word& one : words) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.first);
  throw InputError(fmt::format("there is no operation '{}'; there are {}", cut_short(word), known));
}

u64 number_of(std::string_view text, std::string_view what, u64 most) {
  const std::optional<u64> number = parse_u64(text);
  if (!number || *number > most)
    throw InputError(fmt::format("{} '{}' is not a whole number up to {}", what, cut_short(text), most));
  return *number;
}

u64 nanoseconds(std::string_view seconds) { return number_of(seconds, "the time", kMostSeconds) * 1'000'000'000; }

}  // namespace

/// A parser for the lines of one file.
class TraceLines {
 public:
  virtual ~TraceLines() = default;
  /// Adds the operations of a line. Throws InputError.
  virtual void take(std::string_view line, TraceWriter& writer) = 0;
  [[nodiscard]] virtual bool has_times() const = 0;
};

namespace {

/// Returns the fields between commas.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

class TwitterLines final : public TraceLines {
 public:
  /// Adds one operation. Five fields follow the key, which may contain commas itself.
  void take(std::string_view line, TraceWriter& writer) override {
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
  [[nodiscard]] bool has_times() const override { return true; }
};

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
    if (fields.size() != count_)
      throw InputError(fmt::format("has {} fields; the first line names {}", fields.size(), count_));
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

class MetaLines final : public TraceLines {
 public:
  void take(std::string_view line, TraceWriter& writer) override {
    columns_ ? columns_->add(line, writer) : void(columns_.emplace(line));
  }
  [[nodiscard]] bool has_times() const override { return columns_ && columns_->has_times(); }

 private:
  std::optional<MetaColumns> columns_;
};

template <class Lines>
std::unique_ptr<TraceLines> make() {
  return std::make_unique<Lines>();
}

constexpr TraceFormat kFormats[] = {
    {"twitter", "Twitter's cache traces: time, key, key size, value size, client, operation, time to live",
     make<TwitterLines>},
    {"meta-kv", "Meta's key-value traces: columns as the first line names them, key and op among them",
     make<MetaLines>},
};

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

namespace {

/// Returns true if a format would accept the line as its first.
bool takes(const TraceFormat& format, std::string_view line) {
  try {
    TraceWriter nowhere(kLongestLine);
    format.make()->take(line, nowhere);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Returns a hint about a file with a first line that does not fit the format; empty if there is none.
std::string hint(const TraceFormat& format, std::string_view first) {
  const bool digits = std::ranges::any_of(first, [](char c) { return c >= '0' && c <= '9'; });
  // True if the line looks like names of columns, with which some formats begin.
  const bool names = first.find(',') != std::string_view::npos && !digits;
  const auto other =
      std::ranges::find_if(kFormats, [&](const TraceFormat& one) { return &one != &format && takes(one, first); });
  if (other == std::end(kFormats)) return names ? "; if it names the columns, remove it (sed 1d)" : "";
  return names ? fmt::format("; it names columns, as {0} does: convert it as {0}, or remove the line (sed 1d)",
                             other->name)
               : fmt::format("; {0} reads it: harness trace convert {0} FROM TO", other->name);
}

}  // namespace

bool read_trace(std::string_view format, const std::string& path, TraceWriter& writer) {
  const auto known = std::ranges::find(kFormats, format, &TraceFormat::name);
  if (known == std::end(kFormats)) {
    std::vector<std::string> names;
    for (const TraceFormat& one : kFormats) names.emplace_back(one.name);
    throw InputError(fmt::format("there is no trace format '{}'; there are {}{}", format, fmt::join(names, " and "),
                                 suggestion(format, names)));
  }
  const auto fail = [&](std::string_view why) { return InputError(fmt::format("trace '{}': {}", path, why)); };
  CompressedInput bytes(path);
  std::istream file(&bytes);
  file.exceptions(std::ios::badbit);  // otherwise the stream would swallow the error
  const std::unique_ptr<TraceLines> lines = known->make();
  u64 number = 0;
  // A fixed buffer, since a line without an end would fill the memory.
  std::vector<char> buffer(kLongestLine + 1);
  while (file.getline(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    ++number;
    std::string_view line;
    try {
      if (!file && !file.eof()) {
        throw InputError(fmt::format("has more than {} bytes, the longest that a line may have", kLongestLine));
      }
      line = std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount()) - (file.eof() ? 0 : 1));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) lines->take(line, writer);
    } catch (const InputError& error) {
      throw fail(fmt::format("line {}: {}{}", number, error.what(), number == 1 ? hint(*known, line) : ""));
    }
  }
  if (writer.operations() == 0) throw fail(fmt::format("has no operation on its {} lines", number));
  return lines->has_times();
}

}  // namespace latchlab
