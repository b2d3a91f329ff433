// Fuzzes the reader of histories, and the check of what it reads.
#include "src/history/check_history.h"
#include "src/history/history_file.h"
#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const FileInMemory file(std::string_view(reinterpret_cast<const char*>(data), size));
  read_or_refuse([&] {
    std::vector<KeyedCall> history = read_history(file.path());
    const HistoryVerdict verdict = check_history(history, Effort{.in_all = 10'000});
    expect(verdict.shown.has_value() == (verdict.wrong > 0), "a wrong key is shown");
  });
  return 0;
}
