#include "indexes/any_index.h"

namespace latchlab {
namespace {

template <class Raw>
Raw raw(std::string_view key) {
  if constexpr (std::is_same_v<Raw, u64>) {
    return key_number(key);
  } else {
    return key;
  }
}

template <class Raw>
std::vector<Raw> raws(const std::vector<std::string>& keys) {
  std::vector<Raw> out;
  for (const std::string& key : keys) out.push_back(raw<Raw>(key));
  return out;
}

template <class Raw>
auto shows(const AnyIndex::Visit& visit) {
  return [&visit](Raw key, u64 value) {
    if constexpr (std::is_same_v<Raw, u64>) {
      visit(number_key(key), value);
    } else {
      visit(key, value);
    }
  };
}

/// What `change(done)` leaves in `done`.
template <class Change>
std::vector<bool> changed(std::size_t count, const Change& change) {
  const auto done = std::make_unique<bool[]>(count);
  change(std::span(done.get(), count));
  return std::vector<bool>(done.get(), done.get() + count);
}

}  // namespace

std::string number_key(u64 number) {
  std::string out(8, '\0');
  for (u32 i = 0; i < 8; ++i) out[i] = static_cast<char>(number >> (56 - 8 * i));
  return out;
}

u64 key_number(std::string_view key) {
  u64 out = 0;
  for (const char c : key) out = out << 8 | static_cast<u8>(c);
  return out;
}

template <class Raw>
std::optional<u64> KeyedSession<Raw>::find(std::string_view key) {
  return find_raw(raw<Raw>(key));
}
template <class Raw>
std::vector<std::optional<u64>> KeyedSession<Raw>::find_batch(const std::vector<std::string>& keys, BatchOrder order) {
  std::vector<std::optional<u64>> found(keys.size(), ~u64{0});   // to be overwritten
  find_raws(raws<Raw>(keys), found, order);
  return found;
}
template <class Raw>
std::vector<bool> KeyedSession<Raw>::insert_batch(const std::vector<std::string>& keys, const std::vector<u64>& values,
                                                  BatchOrder order) {
  return changed(keys.size(), [&](std::span<bool> done) { insert_raws(raws<Raw>(keys), values, done, order); });
}
template <class Raw>
std::vector<bool> KeyedSession<Raw>::update_batch(const std::vector<std::string>& keys, const std::vector<u64>& values,
                                                  BatchOrder order) {
  return changed(keys.size(), [&](std::span<bool> done) { update_raws(raws<Raw>(keys), values, done, order); });
}
template <class Raw>
std::vector<bool> KeyedSession<Raw>::erase_batch(const std::vector<std::string>& keys, BatchOrder order) {
  return changed(keys.size(), [&](std::span<bool> done) { erase_raws(raws<Raw>(keys), done, order); });
}
template <class Raw>
bool KeyedSession<Raw>::insert(std::string_view key, u64 value) {
  return insert_raw(raw<Raw>(key), value);
}
template <class Raw>
bool KeyedSession<Raw>::update(std::string_view key, u64 value) {
  return update_raw(raw<Raw>(key), value);
}
template <class Raw>
bool KeyedSession<Raw>::upsert(std::string_view key, u64 value) {
  return upsert_raw(raw<Raw>(key), value);
}
template <class Raw>
bool KeyedSession<Raw>::erase(std::string_view key) {
  return erase_raw(raw<Raw>(key));
}
template <class Raw>
std::size_t KeyedSession<Raw>::scan(std::string_view from, std::size_t limit, const AnyIndex::Visit& visit) {
  return scan_raws(raw<Raw>(from), limit, shows<Raw>(visit));
}
template <class Raw>
void KeyedSession<Raw>::for_each(const AnyIndex::Visit& visit) {
  for_each_raw(shows<Raw>(visit));
}

template class KeyedSession<u64>;
template class KeyedSession<std::string_view>;

}  // namespace latchlab
