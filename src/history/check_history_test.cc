// The corpus of small histories that must pass and that must fail (corpus.txt). Each goes through a file first.
#include "src/history/check_history.h"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

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
  std::string name;
  std::vector<KeyedCall> calls;
};

/// Returns the histories of the corpus that have this word, `right` or `wrong`.
std::vector<Named> corpus(const std::string& word) {
  std::ifstream file(source_folder() + "/src/history/corpus.txt");
  REQUIRE(file);
  std::vector<Named> out;
  std::string name, text;
  const auto end_history = [&] {
    if (name.starts_with(word)) out.push_back({name, history_of(text)});
    text.clear();
  };
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (line.starts_with(' ')) {
      text += line + '\n';
      continue;
    }
    end_history();
    name = line;
  }
  end_history();
  return out;
}

TEST_CASE("A key whose check reaches its limit is wrong if a value by itself is") {
  // Forty upserts and forty erases overlap, so the order of the values takes longer than the limit allows.
  std::vector<KeyedCall> calls;
  const auto add = [&](CallKind kind, bool yes, u64 value, u64 called, u64 returned) {
    calls.push_back({1, {kind, yes, value, called, returned, static_cast<u32>(calls.size())}});
  };
  for (u32 i = 0; i < 40; ++i) {
    add(CallKind::kUpsert, i == 0, 5, 1, 1000);
    add(CallKind::kErase, i % 2 == 0, 0, 2, 1900);
    add(CallKind::kFind, true, 5, 500, 2000);
  }
  const Effort least{.in_all = 100, .at_once = 100};
  std::vector<KeyedCall> undecided = calls;
  CHECK(check_history(undecided, least).answer == Linearizable::kUnknown);
  add(CallKind::kFind, true, 6, 600, 700);
  const HistoryVerdict verdict = check_history(calls, least);
  CHECK(verdict.answer == Linearizable::kNo);
  CHECK(verdict.wrong == 1);
  CHECK(verdict.undecided == 0);
  REQUIRE(verdict.shown);
  CHECK(verdict.shown->witness.calls.size() == 1);
}

TEST_CASE("History corpus: right histories pass") {
  const std::vector<Named> histories = corpus("right");
  CHECK(histories.size() == 13);
  for (const auto& [name, calls] : histories) {
    CAPTURE(name);
    const HistoryVerdict verdict = verdict_of(calls);
    CHECK(verdict.answer == Linearizable::kYes);
    CHECK(verdict.wrong + verdict.undecided == 0);
    CHECK_FALSE(verdict.shown);
  }
}

TEST_CASE("History corpus: wrong histories fail, with a witness of few calls") {
  const std::vector<Named> histories = corpus("wrong");
  CHECK(histories.size() == 21);
  for (const auto& [name, calls] : histories) {
    CAPTURE(name);
    const HistoryVerdict verdict = verdict_of(calls);
    CHECK(verdict.answer == Linearizable::kNo);
    CHECK(verdict.wrong == 1);
    REQUIRE(verdict.shown);
    CHECK(!verdict.shown->witness.calls.empty());
    CHECK(verdict.shown->witness.calls.size() <= calls.size());
  }
}

TEST_CASE("History corpus: some fail only because a call says which value it removed") {
  u64 only_so = 0;
  for (auto& [name, calls] : corpus("wrong")) {
    CAPTURE(name);
    if (name.find("removed") == std::string::npos && name.find("replaced a value that") == std::string::npos) continue;
    for (KeyedCall& one : calls) one.call.was.reset();
    CHECK(verdict_of(calls).answer == Linearizable::kYes);
    ++only_so;
  }
  CHECK(only_so == 3);
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
