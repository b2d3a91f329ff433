#include "indexes/remote/session.h"

#include <cstddef>
#include <memory>

namespace latchlab::remote {

Session::Session(const Options& options, const Ring& ring) : ring_(ring), parts_(options.addresses.size()) {
  for (const Address& address : options.addresses) clients_.push_back(connect(options, address));
}

void Session::deal(std::span<const std::string_view> keys, std::span<const u64> values) {
  for (Part& part : parts_) {
    part.places.clear();
    part.keys.clear();
    part.values.clear();
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Part& part = parts_[ring_.server_of(keys[i])];
    part.places.push_back(i);
    part.keys.push_back(keys[i]);
    if (!values.empty()) part.values.push_back(values[i]);
  }
}

template <class Answer>
void Session::in_parts(std::span<const std::string_view> keys, std::span<const u64> values, std::span<Answer> answers,
                       const auto& ask, const auto& hear) {
  if (keys.empty()) return;
  if (clients_.size() == 1) {
    ask(*clients_[0], keys, values);
    hear(*clients_[0], keys, answers);
    return;
  }
  deal(keys, values);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].keys.empty()) ask(*clients_[i], parts_[i].keys, parts_[i].values);
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.keys.empty()) continue;
    const auto heard = std::make_unique<Answer[]>(part.keys.size());
    hear(*clients_[i], part.keys, std::span(heard.get(), part.keys.size()));
    for (std::size_t at = 0; at < part.keys.size(); ++at) answers[part.places[at]] = heard[at];
  }
}

void Session::find(std::span<const std::string_view> keys, std::span<Found> found) {
  using Keys = std::span<const std::string_view>;
  in_parts(
      keys, {}, found, [](Client& client, Keys some, std::span<const u64>) { client.ask_find(some); },
      [](Client& client, Keys some, std::span<Found> answers) { client.hear_find(some, answers); });
}

void Session::put(Put how, std::span<const std::string_view> keys, std::span<const u64> values, std::span<bool> done) {
  using Keys = std::span<const std::string_view>;
  if (how == Put::kUpsert) {
    for (std::size_t i = 0; i < keys.size(); ++i) done[i] = client_of(keys[i]).upsert(keys[i], values[i]);
    return;
  }
  in_parts(
      keys, values, done,
      [how](Client& client, Keys some, std::span<const u64> new_values) { client.ask_put(how, some, new_values); },
      [](Client& client, Keys, std::span<bool> answers) { client.hear_done(answers); });
}

void Session::erase(std::span<const std::string_view> keys, std::span<bool> done) {
  using Keys = std::span<const std::string_view>;
  in_parts(
      keys, {}, done, [](Client& client, Keys some, std::span<const u64>) { client.ask_erase(some); },
      [](Client& client, Keys, std::span<bool> answers) { client.hear_done(answers); });
}

void Session::increment(std::span<const std::string_view> keys, std::span<Found> after) {
  using Keys = std::span<const std::string_view>;
  in_parts(
      keys, {}, after, [](Client& client, Keys some, std::span<const u64>) { client.ask_increment(some); },
      [](Client& client, Keys, std::span<Found> answers) { client.hear_increment(answers); });
}

Modified Session::modify(std::string_view key, FunctionRef<Found(Found before)> change) {
  Client& client = client_of(key);
  for (;;) {
    const std::optional<Versioned> there = client.find_version(key);
    const Found before = there ? Found(there->value) : Found();
    const Found after = change(before);
    if (there) {
      if (client.change_version(key, there->version, after)) return {before, after};
    } else {
      if (!after) return {before, after};
      bool done = false;
      put(Put::kInsert, {&key, 1}, {&*after, 1}, {&done, 1});
      if (done) return {before, after};
    }
  }
}

}  // namespace latchlab::remote
