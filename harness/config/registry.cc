#include "harness/config/registry.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"

namespace latchlab {

namespace {

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

}  // namespace

void Registry::add(Pair pair) { pairs_.push_back(std::move(pair)); }

std::vector<std::string> Registry::indexes() const {
  std::vector<std::string> words;
  for (const Pair& pair : pairs_) add_once(words, pair.index);
  return words;
}

std::vector<std::string> Registry::policies() const {
  std::vector<std::string> words;
  for (const std::string& policy : order_) {
    if (std::ranges::any_of(pairs_, [&](const Pair& pair) { return pair.policy == policy; })) words.push_back(policy);
  }
  for (const Pair& pair : pairs_) add_once(words, pair.policy);
  return words;
}

std::vector<std::string> Registry::policies_of(std::string_view index) const {
  std::vector<std::string> words;
  for (const Pair& pair : pairs_) {
    if (pair.index == index) add_once(words, pair.policy);
  }
  return words;
}

void Registry::add_lacking(Lacking lacking) { lacking_.push_back(std::move(lacking)); }

void Registry::order_policies(std::vector<std::string> words) { order_ = std::move(words); }

void Registry::add_unseen(std::string index) { unseen_.push_back(std::move(index)); }

bool Registry::lacks(std::string_view index, std::string_view policy) const {
  return std::ranges::any_of(lacking_, [&](const Lacking& lacking) {
    return lacking.index == index && std::ranges::find(lacking.policies, policy) != lacking.policies.end();
  });
}

std::string Registry::index_meant(const Spec& index) const {
  for (const Lacking& lacking : lacking_) {
    if (lacking.meant_by.selects(index)) return lacking.index;
  }
  for (const Pair& pair : pairs_) {
    if (pair.meant_by.selects(index)) return pair.index;
  }
  return index.name;
}

std::vector<std::string> Registry::existing_indexes() const {
  std::vector<std::string> words = indexes();
  for (const Lacking& lacking : lacking_) add_once(words, lacking.index);
  return words;
}

std::vector<std::string> Registry::existing_policies() const {
  std::vector<std::string> words = policies();
  for (const Lacking& lacking : lacking_) {
    for (const std::string& policy : lacking.policies) add_once(words, policy);
  }
  return words;
}

void Registry::check_existence(std::string_view index, std::string_view policy) const {
  const auto check = [&](std::string_view option, std::string_view word, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), word) != known.end()) return;
    throw InputError(fmt::format("--{}: there is no '{}'; {} {}{}", option, word,
                                 lacking_.empty() ? "this build has" : "there are", fmt::join(known, ", "),
                                 suggestion(word, known)));
  };
  if (std::ranges::find(unseen_, index) != unseen_.end()) {
    throw InputError(
        fmt::format("--index: a modelled machine does not see the memory of {}, whose fields are no cells", index));
  }
  check("index", index, existing_indexes());
  check("sync", policy, existing_policies());
}

void Registry::check_words(std::string_view index, std::string_view policy) const {
  check_existence(index, policy);
  if (!lacks(index, policy)) return;
  throw InputError(fmt::format(
      "--sync: {} under {} is not in this build, which has a part of all pairs; ./bench builds what it is asked for",
      index, policy));
}

const Pair& Registry::find(std::string_view index, std::string_view policy, KeyKind keys, std::string_view from) const {
  check_words(index, policy);
  bool other_keys = false;
  for (const Pair& pair : pairs_) {
    if (pair.index != index || pair.policy != policy) continue;
    if (pair.keys == keys) return pair;
    other_keys = true;
  }
  if (other_keys) {
    throw InputError(fmt::format("{}: {} under {} has no {} keys", from, index, policy,
                                 keys == KeyKind::kU64 ? "integer" : "byte-string"));
  }
  std::vector<std::string> others = policies_of(index);
  for (const Lacking& lacking : lacking_) {
    if (lacking.index != index) continue;
    for (const std::string& other : lacking.policies) add_once(others, other);
  }
  throw InputError(
      fmt::format("--sync: {} does not run under {}; it runs under {}", index, policy, fmt::join(others, ", ")));
}

}  // namespace latchlab
