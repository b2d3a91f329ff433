// Tests that a history survives its file, and that a damaged file is refused.
#include "src/history/history_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using testing::refusal;

std::vector<KeyedCall> calls_of_every_form(u64 count) {
  const Call forms[] = {
      {CallKind::kFind, true, 7, 1, 2, 3},         {CallKind::kFind, false, 0, 5, 5, 0},
      {CallKind::kInsert, true, ~u64{0}, 0, 9, 0}, {CallKind::kInsert, false, 8, 1, 9, 0, 77},
      {CallKind::kUpdate, true, 9, 1, 9, 0, 0},    {CallKind::kUpsert, false, 9, 1, 9, ~u32{0}},
      {CallKind::kErase, true, 0, 1, 9, 0, 5},     {CallKind::kUpsert, false, 9, 8, kNeverReturned, 1}};
  std::vector<KeyedCall> calls;
  for (u64 i = 0; i < count; ++i) calls.push_back({i * i, forms[i % std::size(forms)]});
  return calls;
}

void write(const std::string& path, const std::vector<KeyedCall>& calls) {
  HistoryWriter writer(path, calls.size());
  for (const auto& [key, call] : calls) writer.add(key, call);
  writer.keep();
}

std::string bytes_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

/// Returns why a history with these bytes is refused, without the file's name.
std::string why_refused(std::string_view bytes) {
  const TemporaryFile file(bytes);
  const std::string text = refusal([&] { (void)read_history(file.path()); });
  const std::string name = fmt::format("history file '{}': ", file.path());
  return text.starts_with(name) ? text.substr(name.size()) : text;
}

TEST_CASE("History file: every form of call is read as it was written") {
  for (const u64 count : {0, 1, 8, 4096, 4097, 10'000}) {
    const std::vector<KeyedCall> calls = calls_of_every_form(count);
    const TemporaryFile file("");
    write(file.path(), calls);
    const std::vector<KeyedCall> read = read_history(file.path());
    REQUIRE(read.size() == count);
    for (u64 i = 0; i < count; ++i) {
      CHECK(read[i].key == calls[i].key);
      CHECK(read[i].call.str() == calls[i].call.str());
    }
  }
}

TEST_CASE("History file: a file that is cut off anywhere is refused") {
  const TemporaryFile file("");
  write(file.path(), calls_of_every_form(20));
  const std::string bytes = bytes_of(file.path());
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK(why_refused(bytes.substr(0, size)) != "");
  CHECK(why_refused(bytes) == "");
  CHECK(why_refused("") == "is no history: it has 0 bytes");
  CHECK(why_refused(bytes.substr(0, 900)) == "is damaged: its 20 calls do not make 900 bytes");
  CHECK(why_refused(bytes + "x") == "is damaged: its 20 calls do not make 1001 bytes");
}

TEST_CASE("History file: a file with any other bit is refused") {
  const TemporaryFile file("");
  write(file.path(), calls_of_every_form(20));
  const std::string bytes = bytes_of(file.path());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 3) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    CAPTURE(bit);
    CHECK(why_refused(other) != "");
  }
  std::string other = bytes;
  other[8] = 2;
  CHECK(why_refused(other) == "has version 2; this program reads 1");
  other = bytes;
  other.back() = 1;
  CHECK(why_refused(other) == "is damaged: the sum of calls 1 to 20 is wrong");
  CHECK_THAT(why_refused(std::string(64, 'x')), Catch::StartsWith("is no history: it does not begin with"));
}

TEST_CASE("History file: what is no file is refused") {
  CHECK(refusal([] { (void)read_history("/nowhere/h"); }) ==
        "history file '/nowhere/h': cannot be read: No such file or directory");
  CHECK(refusal([] { (void)read_history("/tmp"); }) == "history file '/tmp': is not a regular file");
  const TemporaryFile pipe("");
  std::filesystem::remove(pipe.path());
  REQUIRE(mkfifo(pipe.path().c_str(), 0600) == 0);
  CHECK(refusal([&] { (void)read_history(pipe.path()); }) ==
        "history file '" + pipe.path() + "': is not a regular file");
  CHECK(refusal([] { HistoryWriter("/nowhere/h", 0); }) ==
        "history file '/nowhere/h': cannot be written: No such file or directory");
}

TEST_CASE("History file: it replaces a history or an empty file, and nothing else") {
  const TemporaryFile file("");
  write(file.path(), calls_of_every_form(20));
  const std::string bytes = bytes_of(file.path());
  write(file.path(), calls_of_every_form(3));
  CHECK(read_history(file.path()).size() == 3);
  const TemporaryFile damaged(bytes.substr(0, 60));
  write(damaged.path(), {});
  CHECK(read_history(damaged.path()).empty());
  for (const char* text : {"x", "latchhi.", "latchlab", "\nlatchhis", "results of a month"}) {
    const TemporaryFile other(text);
    CHECK(refusal([&] { write(other.path(), {}); }) ==
          fmt::format("history file '{}': exists and is no history; remove it, or name another", other.path()));
    CHECK(bytes_of(other.path()) == text);
  }
}

TEST_CASE("History file: a call that cannot be is neither written nor read") {
  const TemporaryFile file("");
  HistoryWriter writer(file.path(), 10);
  CHECK_THROWS_AS(writer.add(1, {CallKind::kFind, true, 7, 2, 1}), std::invalid_argument);
  CHECK_THROWS_AS(writer.add(1, {CallKind::kErase, false, 0, 1, 2, 0, 5}), std::invalid_argument);
  CHECK_THROWS_AS(writer.add(1, {CallKind::kFind, true, 7, 1, 2, 0, 5}), std::invalid_argument);
  CHECK_THROWS_AS(writer.keep(), std::invalid_argument);
  CHECK(bytes_of(file.path()).empty());
}

}  // namespace
}  // namespace latchlab
