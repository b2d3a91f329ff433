#include "src/testing/history.h"

#include "src/history/check.h"

namespace latchlab::testing {

std::string History::complaint() const {
  std::vector<std::vector<Call>> calls(before_.size());
  for (const auto& one : calls_of_) {
    for (const auto& [key, call] : one) calls[key].push_back(call);
  }
  for (std::size_t key = 0; key < calls.size(); ++key) {
    const std::string conflict = check_calls(before_[key], calls[key]).conflict;
    if (conflict.empty()) continue;
    return "key " + std::to_string(key) + ", at first " +
           (before_[key] ? std::to_string(*before_[key]) : std::string("absent")) + ": " + conflict;
  }
  return {};
}

std::size_t History::size() const {
  std::size_t calls = 0;
  for (const auto& one : calls_of_) calls += one.size();
  return calls;
}

}  // namespace latchlab::testing
