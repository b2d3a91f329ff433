#include "harness/commands/check_command.h"

#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>

#include <fmt/format.h>

#include "harness/commands/child_process.h"
#include "src/history/history_file.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

HistoryVerdict verdict_of(std::vector<KeyedCall> history) { return check_history(history); }

const std::vector<KeyedCall> kFine{{7, {CallKind::kInsert, true, 1, 1, 2, 0}},
                                   {8, {CallKind::kErase, false, 0, 1, 2, 1}}};
const std::vector<KeyedCall> kStale{{7, {CallKind::kInsert, true, 1, 1, 2, 0}},
                                    {7, {CallKind::kUpsert, false, 2, 3, 4, 1}},
                                    {7, {CallKind::kFind, true, 1, 5, 9, 0}},
                                    {8, {CallKind::kFind, false, 0, 1, 2, 1}}};

TEST_CASE("a verdict says how much was checked, and shows calls that conflict", "[check]") {
  CHECK(verdict_text(verdict_of(kFine)) == "linearizable\n2 calls on 2 keys\n");
  CHECK(verdict_text(verdict_of({{7, {CallKind::kUpsert, false, 1, 1, kNeverReturned, 0}}})) ==
        "linearizable\n1 call on 1 key; 1 never returned\n");
  CHECK(verdict_text(verdict_of(kStale)) ==
        "not linearizable: 1 key with calls that no order explains\n"
        "4 calls on 2 keys\n"
        "\n"
        "key 7: [3-4 1: upsert 2 -> no] ends the value 1, and [5-9 0: find 1 -> yes] meets it later\n"
        "  before these calls the key is absent\n"
        "  |-------|                                   1-2 0: insert 1 -> yes\n"
        "                  |-------|                   3-4 1: upsert 2 -> no\n"
        "                                  |-------|   5-9 0: find 1 -> yes\n");
  CHECK(verdict_text({.answer = Linearizable::kUnknown, .calls = 5000, .keys = 3, .undecided = 2}) ==
        "cannot tell: the checks of 2 keys reached their limits\n5,000 calls on 3 keys\n");
}

TEST_CASE("a check that cannot tell is no success", "[check]") {
  CHECK(exit_status({.answer = Linearizable::kYes}) == 0);
  CHECK(exit_status({.answer = Linearizable::kNo, .undecided = 1}) == 1);
  CHECK(exit_status({.answer = Linearizable::kUnknown}) == 3);
}

TEST_CASE("harness check exits with the verdict's status", "[check]") {
  const auto run = [](const std::vector<KeyedCall>& history) {
    const TemporaryFile file("");
    HistoryWriter writer(file.path(), history.size());
    for (const auto& [key, call] : history) writer.add(key, call);
    writer.keep();
    const Output output = run_process(harness_binary(), {"check", file.path()});
    CHECK(output.err == "");
    return std::pair(WEXITSTATUS(output.wait_status), output.out);
  };
  CHECK(run(kFine) == std::pair(0, std::string("linearizable\n2 calls on 2 keys\n")));
  const auto [status, text] = run(kStale);
  CHECK(status == 1);
  CHECK_THAT(text, Catch::StartsWith("not linearizable: 1 key"));
  const TemporaryFile damaged("latchhis");
  const Output refusal = run_process(harness_binary(), {"check", damaged.path()});
  CHECK(WEXITSTATUS(refusal.wait_status) == 2);
  CHECK(refusal.err == fmt::format("harness: history file '{}': is no history: it has 8 bytes\n", damaged.path()));
}

}  // namespace
}  // namespace latchlab
