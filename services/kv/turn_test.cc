#include "services/kv/turn.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/kv/server_testing.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/wire/base64.h"

namespace latchlab::kv {
namespace {

using testing::Conversation;
using testing::Played;

ServerOptions options_of(std::size_t gather, std::size_t most_output = std::size_t{1} << 20) {
  ServerOptions options;
  options.gather.keys = gather;
  options.limits.most_output_bytes = most_output;
  options.limits.most_value_bytes = 64 << 10;
  return options;
}

constexpr std::size_t kLargestValue = 3000;

/// Options for random commands, whose values grow no further than that.
ServerOptions scripted(ServerOptions options) {
  options.limits.most_value_bytes = kLargestValue;
  return options;
}

/// Random commands of one connection, over keys of its own.
class Script {
 public:
  Script(Rng& rng, u64 id, bool is_resp) : rng_(rng), prefix_(is_resp ? "r" : "m"), is_resp_(is_resp) {
    prefix_ += std::to_string(id) + "-";
  }

  std::string next() { return is_resp_ ? next_resp() : next_memcached(); }

 private:
  std::string key() { return prefix_ + std::to_string(rng_.below(12)); }
  std::string keys(u64 most) {
    std::string all = key();
    for (u64 more = rng_.below(most); more > 0; --more) all += " " + key();
    return all;
  }
  std::string value() {
    const u64 kind = rng_.below(10);
    if (kind < 3) return std::to_string(rng_.below(1000));
    const u64 bytes = kind < 8 ? rng_.below(60) : rng_.below(kLargestValue);
    return std::string(bytes, static_cast<char>('a' + rng_.below(26)));
  }
  std::string next_memcached() {
    const auto store = [&](std::string_view verb) {
      const std::string text = value();
      const std::string noreply = rng_.below(4) == 0 ? " noreply" : "";
      return std::string(verb) + " " + key() + " 3 0 " + std::to_string(text.size()) + noreply + "\r\n" + text + "\r\n";
    };
    switch (rng_.below(20)) {
      case 0:
      case 1:
      case 2: return store("set");
      case 3: return store(rng_.below(2) == 0 ? "add" : "replace");
      case 4: return store(rng_.below(2) == 0 ? "set" : "prepend");
      case 5: return "delete " + key() + "\r\n";
      case 6: return "incr " + key() + " 7\r\n";
      case 7: return "touch " + key() + " 100\r\n";
      case 8: return "mg " + key() + " v k t\r\n";
      case 9: return "mg " + key() + " q v\r\n";
      case 10: {
        std::string encoded;
        append_base64(encoded, key());
        return "mg " + encoded + " b k v\r\n";
      }
      case 11: return "mn\r\n";
      case 12: return "mg " + key() + " N30 v\r\n";
      case 13: return "nonsense\r\n";
      case 14: return "get " + std::string(300, 'k') + "\r\n";
      case 15: return "get " + keys(90) + "\r\n";
      default: return "get " + keys(4) + "\r\n";
    }
  }
  static std::string array(const std::vector<std::string>& words) {
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& one : words) text += "$" + std::to_string(one.size()) + "\r\n" + one + "\r\n";
    return text;
  }
  std::string next_resp() {
    switch (rng_.below(18)) {
      case 0:
      case 1:
      case 2: return array({"SET", key(), value()});
      case 3: return array({"MSET", key(), value(), key(), value()});
      case 4: return array({"INCR", key()});
      case 5: return array({"DEL", key(), key()});
      case 6: return array({"APPEND", key(), value()});
      case 7: return "GET \"" + key() + "\"\r\n";
      case 8: return "MGET " + keys(3) + "\r\n";
      case 9: return "MGET \"" + key() + "\" " + keys(40) + "\r\n";
      case 10: return "\r\n";
      case 11: return "HELLO " + std::to_string(2 + rng_.below(2)) + "\r\n";
      case 12: return array({"GET"});
      case 13: return array({"GETDEL", key()});
      case 14: {
        std::vector<std::string> words{"MGET"};
        for (u64 left = rng_.below(150) + 1; left > 0; --left) words.push_back(key());
        return array(words);
      }
      default: return array({"GET", key()});
    }
  }

  Rng& rng_;
  std::string prefix_;
  bool is_resp_;
};

/// Returns what a connection hears that waits for each answer, without a limit on it.
std::vector<std::string> one_by_one(const std::vector<std::vector<std::string>>& scripts) {
  Played served(scripted(options_of(1)));
  std::vector<std::string> answers;
  for (const auto& script : scripts) {
    Conversation client(served);
    std::string& answer = answers.emplace_back();
    for (const std::string& command : script) answer += client.say(command);
  }
  return answers;
}

/// Plays the scripts at once, in random pieces, and takes the answers in random pieces. Returns what was answered.
std::vector<std::string> all_at_once(const std::vector<std::vector<std::string>>& scripts, const ServerOptions& options,
                                     Rng& rng) {
  Played served(options);
  std::vector<std::unique_ptr<Conversation>> clients;
  std::vector<std::string> inputs, answers(scripts.size());
  for (const auto& script : scripts) {
    clients.push_back(std::make_unique<Conversation>(served));
    std::string& input = inputs.emplace_back();
    for (const std::string& command : script) input += command;
  }
  const std::size_t most = options.limits.most_output_bytes + kLargestValue + 500;
  const u64 piece = 1 + rng.below(2) * 4000;
  std::vector<std::size_t> fed(scripts.size());
  for (bool more = true; more;) {
    more = false;
    std::vector<Dialogue*> ready;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      Dialogue& dialogue = clients[i]->dialogue();
      if (rng.below(3) == 0) {
        more = true;
        continue;
      }
      if (dialogue.wants_input()) {
        const std::string_view next = std::string_view(inputs[i]).substr(fed[i], 1 + rng.below(piece + 300));
        dialogue.receive(next);
        fed[i] += next.size();
      }
      if (fed[i] == inputs[i].size()) dialogue.end_input();
      ready.push_back(&dialogue);
    }
    served.answer(ready);
    for (std::size_t i = 0; i < clients.size(); ++i) {
      Dialogue& dialogue = clients[i]->dialogue();
      REQUIRE(dialogue.unsent() <= most);
      answers[i] += clients[i]->way().send(rng.below(options.limits.most_output_bytes * 2 + 200));
      more |= !dialogue.over();
    }
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (clients[i]->dialogue().closing) continue;  // a command of the script has ended it
    CHECK(fed[i] == inputs[i].size());
    CHECK(clients[i]->dialogue().input().empty());
  }
  return answers;
}

TEST_CASE("Pipelines of many connections have the answers of commands one by one") {
  Rng rng(test_seed());
  for (u32 round = 0; round < 12; ++round) {
    std::vector<std::vector<std::string>> scripts;
    for (u64 id = 0; id < 5; ++id) {
      Script script(rng, id, id % 2 == 1);
      auto& commands = scripts.emplace_back();
      for (u32 i = 0; i < 120; ++i) commands.push_back(script.next());
    }
    const std::vector<std::string> expected = one_by_one(scripts);
    for (const std::size_t gather : {std::size_t{1}, std::size_t{2}, std::size_t{7}, Gather::kTurn}) {
      for (const std::size_t most_output : {100, 5000, 1 << 20}) {
        CAPTURE(round, gather, most_output);
        const std::vector<std::string> answers = all_at_once(scripts, scripted(options_of(gather, most_output)), rng);
        for (std::size_t i = 0; i < scripts.size(); ++i) {
          const auto at =
              static_cast<std::size_t>(std::ranges::mismatch(answers[i], expected[i]).in1 - answers[i].begin());
          CAPTURE(i, at, answers[i].size(), expected[i].size());
          CAPTURE(answers[i].substr(at - std::min<std::size_t>(at, 60), 120));
          CAPTURE(expected[i].substr(at - std::min<std::size_t>(at, 60), 120));
          REQUIRE((answers[i] == expected[i]));
        }
      }
    }
  }
}

TEST_CASE("A lookup of many keys goes on where the output was full, and answers each key once") {
  for (const std::size_t gather : {std::size_t{1}, std::size_t{7}, Gather::kTurn}) {
    CAPTURE(gather);
    Played served(options_of(gather, 100));
    Conversation memcached(served), resp(served);
    std::string get = "get", mget = "MGET", values, array = "*1000\r\n";
    for (u32 i = 0; i < 1000; ++i) {
      const std::string key = "k" + std::to_string(i);
      (get += " ") += key;
      (mget += " ") += key;
      if (i % 3 == 0) {
        array += "$-1\r\n";
        continue;
      }
      REQUIRE(memcached.say("set " + key + " 0 0 " + std::to_string(key.size()) + "\r\n" + key + "\r\n") ==
              "STORED\r\n");
      values += "VALUE " + key + " 0 " + std::to_string(key.size()) + "\r\n" + key + "\r\n";
      array += "$" + std::to_string(key.size()) + "\r\n" + key + "\r\n";
    }
    CHECK((memcached.say(get + "\r\nget k1\r\n") == values + "END\r\nVALUE k1 0 2\r\nk1\r\nEND\r\n"));
    CHECK((resp.say(mget + "\r\nGET k1\r\n") == array + "$2\r\nk1\r\n"));
    CHECK(served.counters().cmd_get == 2002);
    CHECK(served.counters().get_misses == 2 * 334);
  }
}

TEST_CASE("Each turn adds to the output of a full dialogue nothing, and to a free one at most a value too much") {
  Played served(options_of(Gather::kTurn, 1000));
  Conversation client(served);
  const std::string value(600, 'v');
  for (const std::string key : {"a", "b", "c", "d"})
    REQUIRE(client.say("set " + key + " 0 0 600\r\n" + value + "\r\n") == "STORED\r\n");
  Dialogue& dialogue = client.dialogue();
  Dialogue* const all[] = {&dialogue};
  dialogue.receive("get a b c d\r\n");
  served.answer(all);
  CHECK(dialogue.waits);
  CHECK_FALSE(dialogue.wants_input());
  CHECK(dialogue.answered_keys == 2);
  const std::size_t size = dialogue.unsent();
  served.answer(all);
  CHECK(dialogue.unsent() == size);
  CHECK(dialogue.waits);
  CHECK(client.way().send(size - 999).size() == size - 999);
  served.answer(all);
  CHECK(dialogue.unsent() > 999);
  CHECK(dialogue.answered_keys == 3);
}

TEST_CASE("A get whose answers take many turns looks its keys up about once") {
  for (const bool resp : {false, true}) {
    Played served(options_of(Gather::kTurn, 1000));
    Conversation client(served);
    REQUIRE(client.say("set a 0 0 300\r\n" + std::string(300, 'v') + "\r\n") == "STORED\r\n");
    constexpr u64 kKeys = 2000;
    std::string get = resp ? "MGET" : "get";
    for (u64 i = 0; i < kKeys; ++i) get += " a";
    Conversation other(served);
    CHECK(other.say(get + "\r\n").size() > 300 * kKeys);
    CHECK(served.counters().get_hits == kKeys);
    // The first turn looks all up, and each later one sixteen more than it answers, or twice as many.
    CHECK(served.counters().batched_keys < 12 * kKeys);
  }
}

TEST_CASE("A client that never takes all of its answers does not make the output grow") {
  Played served(options_of(Gather::kTurn, 1000));
  Conversation client(served);
  Dialogue& dialogue = client.dialogue();
  Dialogue* const all[] = {&dialogue};
  REQUIRE(client.say("set a 0 0 100\r\n" + std::string(100, 'v') + "\r\n") == "STORED\r\n");
  for (u32 i = 0; i < 1000; ++i) {
    if (dialogue.wants_input()) dialogue.receive("get a\r\nget a\r\nget a\r\n");
    served.answer(all);
    client.way().send(dialogue.unsent() - 1);
    REQUIRE(dialogue.out.size() < 3000);
  }
}

TEST_CASE("A client whose short commands move long values has a part of a turn, and another one its answer") {
  Played served;
  Conversation busy(served), other(served);
  const std::string value(400'000, 'v');
  REQUIRE(busy.say("set a 0 0 400000\r\n" + value + "\r\n") == "STORED\r\n");
  REQUIRE(other.say("set b 0 0 1\r\nx\r\n") == "STORED\r\n");
  std::string absent;
  for (u32 i = 0; i < 1000; ++i) absent += " absent";
  const std::vector<std::string> commands{
      "touch a 60", "gat 60 a", "gat 60" + absent, "mg a T60", "EXPIRE a 60", "mv a 4 xor u32\r\nabcd", "mr a sum u32"};
  for (const std::string& command : commands) {
    INFO(command);
    Conversation client(served);
    Dialogue* const all[] = {&client.dialogue(), &other.dialogue()};
    std::string pipeline;
    for (u32 i = 0; i < 20; ++i) pipeline += command + "\r\n";
    client.dialogue().receive(pipeline);
    other.dialogue().receive("get b\r\n");
    served.answer(all);
    CHECK(client.dialogue().waits);
    CHECK_FALSE(client.dialogue().wants_input());
    CHECK(client.dialogue().input().size() > pipeline.size() / 2);
    CHECK(other.hear() == "VALUE b 0 1\r\nx\r\nEND\r\n");
    (void)client.hear();
    CHECK(client.dialogue().input().empty());
  }
}

TEST_CASE("A lookup of many keys is answered in parts, and its keys are held meanwhile") {
  constexpr u32 kKeys = 9000;
  Played served(options_of(Gather::kTurn));
  Conversation setter(served);
  std::string keys, hits, values;
  for (u32 i = 0; i < kKeys; ++i) {
    const std::string key = "k" + std::to_string(i);
    keys += " " + key;
    if (i % 3000 == 0) {
      REQUIRE(setter.say("set " + key + " 0 0 1\r\nx\r\n") == "STORED\r\n");
      hits += "VALUE " + key + " 0 1\r\nx\r\n";
    }
    values += i % 3000 == 0 ? "$1\r\nx\r\n" : "$-1\r\n";
  }
  const std::string all = "*9000\r\n" + values;
  const std::vector<std::array<std::string, 3>> commands{
      {"get" + keys, hits + "END\r\n", "mn"}, {"gat 60" + keys, hits + "END\r\n", "mn"}, {"MGET" + keys, all, "PING"}};
  for (const auto& [command, wanted, next] : commands) {
    INFO(command.substr(0, 4));
    Conversation client(served);
    Dialogue* const one[] = {&client.dialogue()};
    const std::string last = next == "mn" ? "MN\r\n" : "+PONG\r\n";
    client.dialogue().receive(next + "\r\n" + command + "\r\n" + next + "\r\n");
    served.answer(one);
    CHECK(client.dialogue().waits);
    REQUIRE(client.dialogue().held != nullptr);
    CHECK(client.dialogue().answered_keys >= 4095);  // gat counts the command before, too
    // What comes meanwhile may move the input.
    client.dialogue().receive(next + "\r\n");
    CHECK(client.hear() == last + wanted + last + last);
    CHECK(client.dialogue().held == nullptr);
    CHECK(client.dialogue().answered_keys == 0);
  }
}

TEST_CASE("Lookups of one turn are one batch, and a change of another connection waits for none") {
  Played served(options_of(Gather::kTurn));
  Conversation one(served), two(served);
  Dialogue* const all[] = {&one.dialogue(), &two.dialogue()};
  one.dialogue().receive("get a b\r\nget c\r\n");
  two.dialogue().receive("GET a\r\nSET a x\r\nGET a\r\n");
  served.answer(all);
  CHECK(one.dialogue().out == "END\r\nEND\r\n");
  CHECK(two.dialogue().out == "$-1\r\n+OK\r\n$1\r\nx\r\n");
  // The other batch is the lookup after the change.
  CHECK(served.counters().batches == 2);
  CHECK(served.counters().batches_from_4 == 1);
  CHECK(served.counters().batched_keys == 5);
}

TEST_CASE("Batches are counted by their sizes, and those of one key, too") {
  Played served(options_of(Gather::kTurn));
  Conversation client(served);
  const auto get = [&](u32 keys) {
    std::string line = "get";
    for (u32 i = 0; i < keys; ++i) line += " a";
    CHECK(client.say(line + "\r\n") == "END\r\n");
  };
  for (const u32 keys : {1, 1, 2, 3, 4, 1023, 1024}) get(keys);
  CHECK(served.counters().batches == 7);
  CHECK(served.counters().batched_keys == 1 + 1 + 2 + 3 + 4 + 1023 + 1024);
  CHECK(served.counters().batches_from_1 == 2);
  CHECK(served.counters().batches_from_2 == 2);
  CHECK(served.counters().batches_from_4 == 1);
  CHECK(served.counters().batches_from_512 == 1);
  CHECK(served.counters().batches_from_1024 == 1);
}

TEST_CASE("Keys that are looked up by themselves are batches of one") {
  Played served(options_of(1));
  Conversation client(served);
  CHECK(client.say("get a b c\r\n") == "END\r\n");
  CHECK(served.counters().batches == 3);
  CHECK(served.counters().batches_from_1 == 3);
}

TEST_CASE("Keys are found in whichever way they are looked up") {
  for (const std::optional<Batching>& batch :
       {std::optional<Batching>(), std::optional(kAlone), std::optional(kTogether),
        std::optional(Batching{.keys = 3, .order = BatchOrder::kInTurn})}) {
    ServerOptions options = options_of(Gather::kTurn);
    options.batch = batch;
    Played served(options);
    Conversation client(served);
    CHECK(client.say("set a 0 0 1\r\nx\r\nset b 0 0 1\r\ny\r\n") == "STORED\r\nSTORED\r\n");
    // Often enough for the faster way to try both.
    for (u32 i = 0; i < 20; ++i) {
      CHECK(client.say("get a c b a\r\n") == "VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\ny\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    }
  }
}

TEST_CASE("One turn in some is timed, and its time has parts") {
  Played served;
  Conversation client(served);
  CHECK(client.say("set a 0 0 1\r\nx\r\n") == "STORED\r\n");
  for (u32 i = 0; i < 3 * kTimedTurns; ++i) {
    served.turn().stopwatch().begin();
    (void)client.say("get a b\r\n");
  }
  CHECK(served.counters().timed_turns == 3);
  CHECK(served.counters().timed_keys == 6);
  CHECK(served.counters().parse_ns > 0);
  CHECK(served.counters().lookup_ns > 0);
  CHECK(served.counters().render_ns > 0);
}

TEST_CASE("An error of the protocol of redis closes the connection after the answers before it") {
  Played served;
  Conversation client(served);
  CHECK(client.say("SET a 1\r\nGET a\r\n*1\r\n!\r\nGET a\r\n") ==
        "+OK\r\n$1\r\n1\r\n-ERR Protocol error: expected '$', got '!'\r\n");
  CHECK(client.closed());
  CHECK(client.say("GET a\r\n").empty());
}

TEST_CASE("The binary protocol is refused, and the connection closes") {
  Played served;
  Conversation client(served);
  CHECK(client.say("\x80") == kBinaryRefused);
  CHECK(client.closed());
}

TEST_CASE("A browser gets nothing") {
  Played served;
  Conversation client(served), other(served);
  CHECK(client.say("GET / HTTP/1.1\r\nHost: a\r\n").empty());
  CHECK(client.closed());
  CHECK(other.say("get / HTTP/1.1\r\n") == "END\r\n");  // two keys
}

TEST_CASE("quit in the middle of a pipeline ends it behind the answers before") {
  Played served;
  Conversation memcached(served), resp(served);
  CHECK(memcached.say("set a 0 0 1\r\n1\r\nget a\r\nquit\r\ndelete a\r\n") == "STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
  CHECK(memcached.closed());
  CHECK(resp.say("GET a\r\nQUIT\r\nDEL a\r\n") == "$1\r\n1\r\n+OK\r\n");
  CHECK(resp.closed());
  CHECK(Conversation(served).say("get a\r\n") == "VALUE a 0 1\r\n1\r\nEND\r\n");
}

TEST_CASE("A client that has ended its input still gets all answers") {
  Played served(options_of(Gather::kTurn, 100));
  Conversation client(served);
  std::string expected;
  for (u32 i = 0; i < 100; ++i) {
    client.dialogue().receive("get a\r\nmn\r\n");
    expected += "END\r\nMN\r\n";
  }
  client.dialogue().receive("set a 0 0 10\r\nabc");  // never comes whole
  client.dialogue().end_input();
  CHECK_FALSE(client.dialogue().wants_input());
  Dialogue* const all[] = {&client.dialogue()};
  served.answer(all);
  CHECK_FALSE(client.closed());
  CHECK((client.hear() == expected));
  CHECK(client.closed());
}

TEST_CASE("A client that is gone is answered nothing more") {
  Played served;
  Conversation client(served);
  client.dialogue().receive("mn\r\n");
  client.dialogue().abandon();
  CHECK(client.hear().empty());
  CHECK(client.closed());
}

}  // namespace
}  // namespace latchlab::kv
