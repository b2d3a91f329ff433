// A corpus of small histories that must pass and that must fail. Each goes through a file first.
#include "src/history/check_history.h"

#include <sstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "src/base/rng.h"
#include "src/history/random_history_testing.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

/// Reads a history, a call a line: KEY CALLED-RETURNED KIND [VALUE] ANSWER [WAS]. The answer is +, - or ?.
std::vector<KeyedCall> history_of(const std::string& text) {
  std::vector<KeyedCall> history;
  std::istringstream lines(text);
  u32 caller = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    KeyedCall one{0, {CallKind::kFind, false, 0, 0, 0, caller++}};
    char dash = 0;
    std::string kind, answer, was;
    if (!(words >> one.key >> one.call.called >> dash >> one.call.returned >> kind)) continue;
    one.call.kind = value_of_word<CallKind>(kind).value();
    words >> answer;
    if (answer != "+" && answer != "-" && answer != "?") one.call.value = std::stoull(answer), words >> answer;
    one.call.yes = answer == "+";
    if (answer == "?") one.call.returned = kNeverReturned;
    if (words >> was) one.call.was = std::stoull(was);
    history.push_back(one);
  }
  return history;
}

HistoryVerdict verdict_of(const std::vector<KeyedCall>& history) {
  const TemporaryFile file("");
  HistoryWriter writer(file.path(), history.size());
  for (const auto& [key, call] : history) writer.add(key, call);
  writer.keep();
  std::vector<KeyedCall> read = read_history(file.path());
  return check_history(read);
}

struct Named {
  const char* name;
  const char* text;
};

constexpr Named kRight[] = {
    {"no call", ""},
    {"one call after the other", R"(
      1 1-2 insert 10 +
      1 3-4 find 10 +
      1 5-6 upsert 11 -
      1 7-8 find 11 +
      1 9-10 erase +
      1 11-12 find -)"},
    {"a find beside the insert finds it or not", R"(
      1 1-9 insert 10 +
      1 2-3 find -
      1 4-5 find 10 +)"},
    {"two inserts at once, of which one fails", R"(
      1 1-5 insert 10 +
      1 2-6 insert 11 -)"},
    {"two upserts at once; the later one to return came first", R"(
      1 1-5 upsert 10 +
      1 2-4 upsert 11 -
      1 7-8 find 11 +)"},
    {"two upserts at once in the other order", R"(
      1 1-5 upsert 10 -
      1 2-9 upsert 11 +
      1 6-7 find 10 +)"},
    {"calls that touch count as overlapping", R"(
      1 1-2 insert 10 +
      1 2-3 find -)"},
    {"keys do not constrain each other", R"(
      1 1-2 insert 10 +
      2 1-2 insert 10 +
      1 3-4 erase +
      2 5-6 find 10 +)"},
    {"a call that never returned was seen", R"(
      1 1-0 upsert 10 ?
      1 5-6 find 10 +)"},
    {"a call that never returned was not seen", R"(
      1 1-0 upsert 10 ?
      1 5-6 find -)"},
    {"compare-and-swaps in a row", R"(
      1 1-2 insert 10 +
      1 3-9 update 11 + 10
      1 3-9 update 12 + 11
      1 3-9 erase + 12
      1 10-11 find -)"},
    {"a batch of lookups is no snapshot", R"(
      1 1-2 insert 10 +
      2 1-2 insert 20 +
      1 3-4 update 11 +
      2 5-6 update 21 +
      1 1-9 find 10 +
      2 1-9 find 21 +)"},
    {"an erase and an insert beside a find of either value", R"(
      1 1-2 insert 10 +
      1 3-9 erase +
      1 4-8 insert 11 +
      1 5-6 find 10 +
      1 5-7 find 11 +)"},
};

constexpr Named kWrong[] = {
    {"a value that no call wrote", "1 1-2 find 10 +"},
    {"a value of another key", R"(
      1 1-2 insert 10 +
      2 1-2 insert 20 +
      1 3-4 find 20 +)"},
    {"a value from the future", R"(
      1 1-2 find 10 +
      1 3-4 insert 10 +)"},
    {"a lost insert", R"(
      1 1-2 insert 10 +
      1 3-4 find -)"},
    {"a lost update", R"(
      1 1-2 insert 10 +
      1 3-4 update 11 +
      1 5-6 find 10 +)"},
    {"a stale find beside no change", R"(
      1 1-2 insert 10 +
      1 3-4 upsert 11 -
      1 5-9 find 10 +)"},
    {"two inserts succeeded", R"(
      1 1-5 insert 10 +
      1 2-6 insert 11 +)"},
    {"two erases succeeded", R"(
      1 1-2 insert 10 +
      1 3-9 erase +
      1 4-8 erase +)"},
    {"an erased key came back", R"(
      1 1-2 insert 10 +
      1 3-4 erase +
      1 5-6 find 10 +)"},
    {"an insert failed on an absent key", R"(
      1 1-2 insert 10 +
      1 3-4 erase +
      1 5-6 insert 11 -)"},
    {"an update succeeded on an absent key", "1 1-2 update 10 +"},
    {"a value was seen and then not yet", R"(
      1 1-9 insert 10 +
      1 2-3 find 10 +
      1 4-5 find -)"},
    {"two finds saw two updates in different orders", R"(
      1 1-2 insert 10 +
      1 3-20 update 11 +
      1 3-20 update 12 +
      1 4-5 find 11 +
      1 6-7 find 12 +
      1 4-5 find 12 +
      1 6-7 find 11 +)"},
    {"two compare-and-swaps replaced one value", R"(
      1 1-2 insert 10 +
      1 3-9 update 11 + 10
      1 4-8 update 12 + 10)"},
    {"an erase says another value than was there", R"(
      1 1-2 insert 10 +
      1 3-4 update 11 +
      1 5-6 erase + 10)"},
    {"a batch that missed a key which was there all the time", R"(
      1 1-2 insert 10 +
      2 1-2 insert 20 +
      1 3-9 find 10 +
      2 3-9 find -)"},
    {"a resize that lost an update beside it", R"(
      1 1-2 insert 10 +
      1 3-6 update 11 +
      1 4-5 find 11 +
      1 7-8 find 10 +)"},
    {"a call that never returned was seen and undone", R"(
      1 1-2 insert 10 +
      1 3-0 upsert 11 ?
      1 5-6 find 11 +
      1 7-8 find 10 +)"},
};

TEST_CASE("History corpus: right histories pass") {
  for (const auto& [name, text] : kRight) {
    CAPTURE(name);
    const HistoryVerdict verdict = verdict_of(history_of(text));
    CHECK(verdict.answer == Linearizable::kYes);
    CHECK(verdict.wrong + verdict.undecided == 0);
    CHECK_FALSE(verdict.shown);
  }
}

TEST_CASE("History corpus: wrong histories fail, with a witness of few calls") {
  for (const auto& [name, text] : kWrong) {
    CAPTURE(name);
    const std::vector<KeyedCall> history = history_of(text);
    const HistoryVerdict verdict = verdict_of(history);
    CHECK(verdict.answer == Linearizable::kNo);
    CHECK(verdict.wrong == 1);
    REQUIRE(verdict.shown);
    CHECK(!verdict.shown->witness.calls.empty());
    CHECK(verdict.shown->witness.calls.size() <= history.size());
  }
}

TEST_CASE("History: calls, keys, and keys without an answer are counted") {
  Rng rng(test_seed());
  std::vector<KeyedCall> history;
  for (u64 key = 0; key < 10; ++key) {
    // The check of key 5 reaches its limit, since many calls at a time write four values.
    const Drawn drawn = draw_history(rng, {1000, 400, key == 5 ? u64{4} : 0, 5, false});
    if (drawn.before) history.push_back({key, {CallKind::kInsert, true, *drawn.before, 0, 0}});
    for (Call call : drawn.calls) {
      ++call.called, ++call.returned;
      history.push_back({key, call});
    }
  }
  history.push_back({11, {CallKind::kErase, false, 0, 1, kNeverReturned}});
  const u64 calls = history.size();
  const HistoryVerdict verdict = check_history(history, Effort{.in_all = 5000});
  CHECK(verdict.calls == calls);
  CHECK(verdict.keys == 11);
  CHECK(verdict.pending == 1);
  CHECK(verdict.undecided == 1);
  CHECK(verdict.wrong == 0);
  CHECK(verdict.answer == Linearizable::kUnknown);
}

TEST_CASE("History: a wrong key outweighs one without an answer, and of wrong keys the shortest is shown") {
  std::vector<KeyedCall> history = history_of(R"(
      7 1-2 insert 10 +
      7 3-9 update 11 + 10
      7 4-8 update 12 + 10
      8 1-2 find 10 +)");
  const HistoryVerdict verdict = check_history(history);
  CHECK(verdict.answer == Linearizable::kNo);
  CHECK(verdict.wrong == 2);
  REQUIRE(verdict.shown);
  CHECK(verdict.shown->key == 8);
  CHECK(verdict.shown->witness.calls.size() == 1);
}

}  // namespace
}  // namespace latchlab
