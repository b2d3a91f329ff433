#include "harness/commands/check_command.h"

#include <vector>

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "harness/result/report.h"
#include "src/history/history_file.h"

namespace latchlab {
namespace {

std::string count_of(u64 count, std::string_view what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

}  // namespace

std::string verdict_text(const HistoryVerdict& verdict) {
  std::string text;
  switch (verdict.answer) {
    case Linearizable::kYes: text = "linearizable"; break;
    case Linearizable::kNo:
      text = fmt::format("not linearizable: {} with calls that no order explains", count_of(verdict.wrong, "key"));
      break;
    case Linearizable::kUnknown: text = "cannot tell"; break;
  }
  if (verdict.undecided > 0)
    text += fmt::format(": the checks of {} reached their limits", count_of(verdict.undecided, "key"));
  text += fmt::format("\n{} on {}", count_of(verdict.calls, "call"), count_of(verdict.keys, "key"));
  if (verdict.pending > 0) text += fmt::format("; {} never returned", grouped(verdict.pending));
  text += '\n';
  if (!verdict.shown) return text;
  const auto& [key, witness] = *verdict.shown;
  return text + fmt::format("\nkey {}: {}\n{}", key, witness.conflict, witness.drawing());
}

int exit_status(const HistoryVerdict& verdict) {
  switch (verdict.answer) {
    case Linearizable::kYes: return 0;
    case Linearizable::kNo: return 1;
    case Linearizable::kUnknown: break;
  }
  return 3;
}

int run_check(const CheckCommand& command) {
  std::vector<KeyedCall> history = read_history(command.history);
  const HistoryVerdict verdict = check_history(history);
  print(verdict_text(verdict));
  return exit_status(verdict);
}

}  // namespace latchlab
