// Two threads count the words of a text in one map.
//
// modify is one step for each word, so no count is lost. The threads need neither a lock nor a word to join the map.
#include <latchlab/map.h>

#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

using Counts = latchlab::Map<std::string, std::uint64_t>;

void count(Counts& counts, std::string_view text) {
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    counts.modify(word, [](std::optional<std::uint64_t> n) { return n.value_or(0) + 1; });
  }
}

int main() {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "the quick brown fox jumps over the lazy dog and the cat\n";

  Counts counts;
  const std::size_t middle = text.size() / 2;
  std::thread other([&] { count(counts, std::string_view(text).substr(middle)); });
  count(counts, std::string_view(text).substr(0, middle));
  other.join();

  counts.for_each([](std::string_view word, std::uint64_t n) {
    std::printf("%.*s %llu\n", static_cast<int>(word.size()), word.data(), static_cast<unsigned long long>(n));
  });
  return counts.find("the") == 3000u && counts.size() == 10 ? 0 : 1;
}
