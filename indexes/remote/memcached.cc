// The client of memcached's text commands, and of its meta commands.
//
//                text                       meta
//     find       get k1 k2 ...              mg k1 v q O0, mg k2 v q O1, ..., mn: misses are silent
//     insert     add                        ms with mode E
//     update     replace                    ms with mode R
//     erase      delete                     md
//     increment  incr                       ma with v
//     version    gets, cas                  mg v c, ms with C; md with C erases
//
// Text has no deletion of a version. A cas whose time is over when it comes does the same.
#include <charconv>
#include <string>
#include <utility>

#include "indexes/remote/client.h"
#include "indexes/remote/connection.h"
#include "src/wire/memcached_client.h"
#include "src/wire/numbers.h"

namespace latchlab::remote {

namespace {

constexpr std::size_t kMostValueBytes = std::size_t{16} << 20;

/// Appends a key as memcached's list of keys has it: %NN stands for a byte. One that is wrong stays as it is.
void append_decoded(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    u8 byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && text.size() - i > 2 && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
}

/// What both have in common.
class Memcached : public Client {
 public:
  Memcached(const Options& options, const Address& address)
      : options_(options), address_(address), connection_(connect_stream(options, address), address.text) {}

  bool upsert(std::string_view key, u64 value) final {
    // No command says whether the key was absent.
    for (;;) {
      for (const Put how : {Put::kUpdate, Put::kInsert}) {
        bool done = false;
        ask_put(how, {&key, 1}, {&value, 1});
        hear_done({&done, 1});
        if (done) return how == Put::kInsert;
      }
    }
  }

  [[nodiscard]] u64 count() final { return stat("curr_items"); }
  [[nodiscard]] u64 bytes() final { return stat("bytes"); }

  void flush() final {
    out() += "flush_all\r\n";
    send();
    hear();
    if (answer_.kind != MemcachedAnswerKind::kStatus || answer_.status != MemcachedStatus::kOk) unexpected();
  }

  void for_each_key(FunctionRef<void(std::string_view key)> visit) final {
    out() += "version\r\n";
    send();
    hear();
    // Our server shows its keys to redis' clients alone, memcached by a command of its own.
    if (answer_.text.find("latchlab") != answer_.text.npos) {
      return connect_resp(options_, address_)->for_each_key(visit);
    }
    out() += "lru_crawler metadump hash\r\n";
    send();
    // memcached locks items while it tells of them. So the whole list comes before the first visit, which looks one up.
    std::string keys;
    for (bool more = true; more;) {
      connection_.hear([&](std::string_view bytes) {
        const std::size_t end = bytes.find('\n');
        if (end == bytes.npos) return Parsed::needs(bytes.size() + 1);
        const std::string_view line = bytes.substr(0, end);
        if (line.starts_with("key=")) {
          append_decoded(keys, line.substr(4, line.find(' ') - 4));
          keys += '\n';
        } else {
          more = false;
          if (!line.starts_with("END")) return Parsed::fatal(line, bytes);
        }
        return Parsed::command(end + 1);
      });
    }
    for (std::string_view rest = keys; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
  }

 protected:
  std::string& out() { return connection_.out(); }
  void send() { connection_.send(); }
  /// Hears an answer, which is in answer_ until the next call.
  void hear() {
    connection_.hear([&](std::string_view bytes) { return parse_memcached_answer(bytes, kMostValueBytes, answer_); });
    if (answer_.kind == MemcachedAnswerKind::kError) connection_.refuse(answer_.text);
  }
  [[noreturn]] void unexpected() const { connection_.refuse("an answer to another command"); }
  [[nodiscard]] u64 heard_value() const {
    const std::optional<u64> value = Wording::value_in(answer_.value);
    if (!value) connection_.refuse("a value that is not a number");
    return *value;
  }
  std::string_view worded(u64 value) { return options_.wording.value(room_, value); }

  MemcachedAnswer answer_;

 private:
  [[nodiscard]] u64 stat(std::string_view name) {
    out() += "stats\r\n";
    send();
    u64 number = 0;
    for (hear(); answer_.kind == MemcachedAnswerKind::kStat; hear()) {
      if (answer_.key == name) number = number_in<u64>(answer_.text).value_or(0);
    }
    return number;
  }

  const Options& options_;
  const Address address_;
  Connection connection_;
  std::string room_;
};

class Text final : public Memcached {
 public:
  using Memcached::Memcached;

  void ask_find(std::span<const std::string_view> keys) override {
    append_get(out(), keys);
    send();
  }
  void hear_find(std::span<const std::string_view> keys, std::span<Found> found) override {
    // Hits come in the order of the keys. A key that occurs twice is answered twice, if at all.
    std::size_t at = 0;
    for (hear(); answer_.kind == MemcachedAnswerKind::kValue; hear(), ++at) {
      for (; at < keys.size() && keys[at] != answer_.key; ++at) found[at].reset();
      if (at == keys.size()) unexpected();
      found[at] = heard_value();
    }
    for (; at < keys.size(); ++at) found[at].reset();
    if (answer_.kind != MemcachedAnswerKind::kStatus || answer_.status != MemcachedStatus::kEnd) unexpected();
  }

  void ask_put(Put how, std::span<const std::string_view> keys, std::span<const u64> values) override {
    const MemcachedVerb verb = how == Put::kInsert ? MemcachedVerb::kAdd : MemcachedVerb::kReplace;
    for (std::size_t i = 0; i < keys.size(); ++i) append_set(out(), verb, keys[i], worded(values[i]));
    send();
  }
  void ask_increment(std::span<const std::string_view> keys) override {
    for (const std::string_view key : keys) append_add(out(), MemcachedVerb::kIncr, key, 1);
    send();
  }
  void hear_increment(std::span<Found> after) override {
    for (Found& one : after) {
      hear();
      if (answer_.kind == MemcachedAnswerKind::kNumber) {
        one = answer_.number;
      } else if (answer_.kind == MemcachedAnswerKind::kStatus && answer_.status == MemcachedStatus::kNotFound) {
        one.reset();
      } else {
        unexpected();
      }
    }
  }
  void ask_erase(std::span<const std::string_view> keys) override {
    for (const std::string_view key : keys) append_delete(out(), key);
    send();
  }
  void hear_done(std::span<bool> done) override {
    for (bool& one : done) one = heard_done();
  }

  std::optional<Versioned> find_version(std::string_view key) override {
    append_get(out(), {&key, 1}, true);
    send();
    hear();
    if (answer_.kind == MemcachedAnswerKind::kStatus) return std::nullopt;
    if (answer_.kind != MemcachedAnswerKind::kValue || !answer_.cas) unexpected();
    const Versioned there{heard_value(), *answer_.cas};
    hear();  // END
    return there;
  }
  bool change_version(std::string_view key, u64 version, Found value) override {
    append_cas(out(), key, worded(value.value_or(0)), version, {.exptime = value ? 0 : -1});
    send();
    return heard_done();
  }

 private:
  [[nodiscard]] bool heard_done() {
    hear();
    if (answer_.kind != MemcachedAnswerKind::kStatus) unexpected();
    switch (answer_.status) {
      case MemcachedStatus::kStored:
      case MemcachedStatus::kDeleted: return true;
      case MemcachedStatus::kNotStored:
      case MemcachedStatus::kNotFound:
      case MemcachedStatus::kExists: return false;
      default: unexpected();
    }
  }
};

class Meta final : public Memcached {
 public:
  using Memcached::Memcached;

  void ask_find(std::span<const std::string_view> keys) override {
    for (std::size_t i = 0; i < keys.size(); ++i) append_meta_get(out(), keys[i], "v q", i);
    append_meta_no_op(out());
    send();
  }
  void hear_find(std::span<const std::string_view> keys, std::span<Found> found) override {
    for (std::size_t i = 0; i < keys.size(); ++i) found[i].reset();
    for (hear_meta(); answer_.meta_status == MetaStatus::kValue; hear_meta())
      found[heard_place(keys.size())] = heard_value();
    if (answer_.meta_status != MetaStatus::kNoOp) unexpected();
  }

  void ask_put(Put how, std::span<const std::string_view> keys, std::span<const u64> values) override {
    const std::string_view mode = how == Put::kInsert ? "ME" : "MR";
    for (std::size_t i = 0; i < keys.size(); ++i) append_meta_set(out(), keys[i], worded(values[i]), mode, i);
    send();
  }
  void ask_increment(std::span<const std::string_view> keys) override {
    for (std::size_t i = 0; i < keys.size(); ++i) append_meta_arithmetic(out(), keys[i], "v", i);
    send();
  }
  void hear_increment(std::span<Found> after) override {
    for (std::size_t i = 0; i < after.size(); ++i) {
      hear_meta();
      Found& one = after[heard_place(after.size())];
      switch (answer_.meta_status) {
        case MetaStatus::kValue: one = heard_value(); break;
        case MetaStatus::kNotFound: one.reset(); break;
        default: unexpected();
      }
    }
  }
  void ask_erase(std::span<const std::string_view> keys) override {
    for (std::size_t i = 0; i < keys.size(); ++i) append_meta_delete(out(), keys[i], "", i);
    send();
  }
  void hear_done(std::span<bool> done) override {
    for (std::size_t i = 0; i < done.size(); ++i) {
      const bool changed = heard_done();
      done[heard_place(done.size())] = changed;
    }
  }

  std::optional<Versioned> find_version(std::string_view key) override {
    append_meta_get(out(), key, "v c", 0);
    send();
    hear_meta();
    if (answer_.meta_status == MetaStatus::kMiss) return std::nullopt;
    if (answer_.meta_status != MetaStatus::kValue) unexpected();
    const std::optional<std::string_view> version = answer_.flag('c');
    const std::optional<u64> number = version ? number_in<u64>(*version) : std::nullopt;
    if (!number) unexpected();
    return Versioned{heard_value(), *number};
  }
  bool change_version(std::string_view key, u64 version, Found value) override {
    std::string condition = "C";
    append_number(condition, version);
    if (value) {
      append_meta_set(out(), key, worded(*value), condition, 0);
    } else {
      append_meta_delete(out(), key, condition, 0);
    }
    send();
    return heard_done();
  }

 private:
  void hear_meta() {
    hear();
    if (answer_.kind != MemcachedAnswerKind::kMeta) unexpected();
  }
  /// Returns which of so many requests the answer belongs to.
  [[nodiscard]] std::size_t heard_place(std::size_t count) const {
    const std::optional<u64> place = answer_.opaque();
    if (!place || *place >= count) unexpected();
    return *place;
  }
  [[nodiscard]] bool heard_done() {
    hear_meta();
    switch (answer_.meta_status) {
      case MetaStatus::kDone: return true;
      case MetaStatus::kNotFound:
      case MetaStatus::kNotStored:
      case MetaStatus::kExists: return false;
      default: unexpected();
    }
  }
};

}  // namespace

std::unique_ptr<Client> connect_memcached(const Options& options, const Address& address) {
  if (options.dialect == Dialect::kMeta) return std::make_unique<Meta>(options, address);
  return std::make_unique<Text>(options, address);
}

}  // namespace latchlab::remote
