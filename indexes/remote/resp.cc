// The client of redis' commands.
//
//     find    GET, MGET            insert  SET NX          upsert  SET GET, which answers what was there
//     erase   DEL                  update  SET XX          walk    SCAN
//
// Its commands cannot change a value that still is what it was, short of a transaction or a script. So there is no
// modify. INCR adds to signed numbers without blanks alone, which values are not (wording.h). So there is no increment.
#include <string>
#include <vector>

#include "indexes/remote/client.h"
#include "indexes/remote/connection.h"
#include "src/wire/numbers.h"
#include "src/wire/resp_client.h"

namespace latchlab::remote {

namespace {

class Resp final : public Client {
 public:
  Resp(const Options& options, const Address& address)
      : options_(options), connection_(connect_stream(options, address), address.text) {}

  void ask_find(std::span<const std::string_view> keys) override {
    std::string& out = connection_.out();
    append_resp_head(out, keys.size() + 1);
    append_resp_word(out, keys.size() == 1 ? "GET" : "MGET");
    for (const std::string_view key : keys) append_resp_word(out, key);
    connection_.send();
  }
  void hear_find(std::span<const std::string_view> keys, std::span<Found> found) override {
    hear();
    if (keys.size() == 1) {
      found[0] = value_in(values_[0]);
      return;
    }
    if (values_[0].kind != RespKind::kArray || values_.size() != keys.size() + 1) unexpected();
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = value_in(values_[i + 1]);
  }

  void ask_put(Put how, std::span<const std::string_view> keys, std::span<const u64> values) override {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ask({"SET", keys[i], options_.wording.value(room_, values[i]), how == Put::kInsert ? "NX" : "XX"});
    }
    connection_.send();
  }
  void ask_increment(std::span<const std::string_view>) override {
    connection_.refuse("protocol=resp has no increment; protocol=memcached and protocol=meta have");
  }
  void hear_increment(std::span<Found>) override { unexpected(); }
  void ask_erase(std::span<const std::string_view> keys) override {
    for (const std::string_view key : keys) ask({"DEL", key});
    connection_.send();
  }
  void hear_done(std::span<bool> done) override {
    for (bool& one : done) {
      hear();
      switch (values_[0].kind) {
        case RespKind::kSimple: one = true; break;
        case RespKind::kNull: one = false; break;
        case RespKind::kInteger: one = values_[0].integer != 0; break;
        default: unexpected();
      }
    }
  }

  bool upsert(std::string_view key, u64 value) override {
    say({"SET", key, options_.wording.value(room_, value), "GET"});
    return !value_in(values_[0]);
  }

  std::optional<Versioned> find_version(std::string_view) override { refuse_versions(); }
  bool change_version(std::string_view, u64, Found) override { refuse_versions(); }

  [[nodiscard]] u64 count() override {
    say({"DBSIZE"});
    return static_cast<u64>(values_[0].integer);
  }
  [[nodiscard]] u64 bytes() override {
    say({"INFO", "memory"});
    constexpr std::string_view kLine = "used_memory_dataset:";
    const std::size_t line = values_[0].text.find(kLine);
    if (line == std::string_view::npos) return 0;
    const std::string_view rest = values_[0].text.substr(line + kLine.size());
    return number_in<u64>(rest.substr(0, rest.find('\r'))).value_or(0);
  }
  void flush() override { say({"FLUSHALL"}); }

  void for_each_key(FunctionRef<void(std::string_view key)> visit) override {
    std::string cursor = "0";
    do {
      say({"SCAN", cursor, "COUNT", "4000"});
      if (values_.size() < 3 || values_[1].kind != RespKind::kBulk || values_[2].kind != RespKind::kArray) unexpected();
      cursor = values_[1].text;
      for (std::size_t i = 3; i < values_.size(); ++i) visit(values_[i].text);
    } while (cursor != "0");
  }

 private:
  void ask(std::initializer_list<std::string_view> words) {
    append_resp_request(connection_.out(), {words.begin(), words.size()});
  }
  void hear() {
    connection_.hear([&](std::string_view bytes) { return parse_resp_answer(bytes, {}, values_); });
    if (values_[0].kind == RespKind::kError) connection_.refuse(values_[0].text);
  }
  void say(std::initializer_list<std::string_view> words) {
    ask(words);
    connection_.send();
    hear();
  }
  [[noreturn]] void unexpected() const { connection_.refuse("an answer to another command"); }
  [[noreturn]] void refuse_versions() const {
    connection_.refuse("protocol=resp has no modify; protocol=memcached and protocol=meta have");
  }
  [[nodiscard]] Found value_in(const RespValue& answer) const {
    if (answer.kind == RespKind::kNull) return std::nullopt;
    const std::optional<u64> value = Wording::value_in(answer.text);
    if (!value) connection_.refuse("a value that is not a number");
    return value;
  }

  const Options& options_;
  Connection connection_;
  std::vector<RespValue> values_;
  std::string room_;
};

}  // namespace

std::unique_ptr<Client> connect_resp(const Options& options, const Address& address) {
  return std::make_unique<Resp>(options, address);
}

}  // namespace latchlab::remote
