#include "services/kv/store_kinds.h"

#include <algorithm>
#include <set>

#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab::kv {

const StoreKind& StoreKinds::find(const StoreOptions& options) const {
  const std::string& index = options.index.name;
  const std::string& policy = options.sync.name;
  for (const StoreKind& kind : kinds_) {
    if (kind.index == index && kind.policy == policy) return kind;
  }
  for (const Unfit& unfit : unfit_) {
    if (unfit.index == index && unfit.policy == policy)
      throw InputError("--index=" + index + " under --sync=" + policy + " cannot be a store: " + unfit.why);
  }
  if (lacks(options)) throw InputError("this build lacks " + index + ":" + policy + "; ./bench serve builds it");
  std::set<std::string> indexes, policies;
  const auto note = [&](const std::string& one_index, const std::string& one_policy) {
    indexes.insert(one_index);
    if (one_index == index) policies.insert(one_policy);
  };
  for (const StoreKind& kind : kinds_) note(kind.index, kind.policy);
  for (const auto& [one_index, one_policy] : lacking_) note(one_index, one_policy);
  const auto words = [](const std::set<std::string>& all) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
    return text;
  };
  if (!indexes.contains(index))
    throw InputError("--index: there is no store over '" + index + "'; there are " + words(indexes) +
                     suggestion(index, {indexes.begin(), indexes.end()}));
  throw InputError("--sync: " + index + " has no store under '" + policy + "'; " +
                   (policies.size() == 1 ? "write --sync=" : "there are ") + words(policies) +
                   (policies.size() == 1 ? "" : suggestion(policy, {policies.begin(), policies.end()})));
}

bool StoreKinds::lacks(const StoreOptions& options) const {
  return std::ranges::find(lacking_, std::pair(options.index.name, options.sync.name)) != lacking_.end();
}

}  // namespace latchlab::kv
