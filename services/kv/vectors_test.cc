// The commands of vectors, by both protocols.
#include "services/kv/vectors.h"

#include <span>
#include <string>
#include <vector>

#include "services/kv/memcached_exchanges_testing.h"
#include "services/kv/server_testing.h"
#include "src/base/types.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::check;
using testing::Conversation;
using testing::Played;

/// Returns the bytes of the numbers.
template <class T>
std::string packed(const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string words(const std::vector<u32>& numbers) { return packed(numbers); }

/// Returns a request in redis' protocol.
std::string array(const std::vector<std::string>& parts) {
  std::string text = "*" + std::to_string(parts.size()) + "\r\n";
  for (const std::string& part : parts) text += "$" + std::to_string(part.size()) + "\r\n" + part + "\r\n";
  return text;
}
std::string bulk(const std::string& value) { return "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n"; }

TEST_CASE("mv changes every element, and shows the value before or after") {
  check({
      {"mv a 4 add u32\r\n" + words({1}), "NF"},
      {"mv a 4 add u32 q O7\r\n" + words({1}), "NF O7"},
      {"set a 5 0 12\r\n" + words({1, 2, 3}), "STORED"},
      {"mv a 4 add u32 c t\r\n" + words({10}), "HD c2 t-1"},
      {"get a", "VALUE a 5 12\r\n" + words({11, 12, 13}) + "\r\nEND"},
      {"mv a 12 sub u32 v\r\n" + words({1, 2, 13}), "VA 12\r\n" + words({10, 10, 0})},
      {"mv a 4 max u32 v MO\r\n" + words({5}), "VA 12\r\n" + words({10, 10, 0})},
      {"mg a v", "VA 12\r\n" + words({10, 10, 5})},
      {"mv a 8 clip u32 v k\r\n" + words({6, 8}), "VA 12 ka\r\n" + words({8, 8, 6})},
      {"mv a 4 set u32 q\r\n" + words({4}), ""},
      {"mv a 4 set u32 C1\r\n" + words({9}), "EX"},
      {"mv a 4 set u32 C6 v\r\n" + words({9}), "VA 12\r\n" + words({9, 9, 9})},
      {"gets a", "VALUE a 5 12 7\r\n" + words({9, 9, 9}) + "\r\nEND"},
  });
}

TEST_CASE("what mv cannot do is one line, and nothing is changed") {
  check({
      {"set a 0 0 6\r\nabcdef", "STORED"},
      {"mv a 4 add u33\r\n" + words({1}),
       "CLIENT_ERROR no type of elements has that name; there are i32, u32, i64, u64, f32, f64"},
      {"mv a 4 plus u32\r\n" + words({1}),
       "CLIENT_ERROR no function has that name; there are add, sub, min, max, and, or, xor, cas-if-less, clip, set"},
      {"mv a 4 xor f32\r\nabcd", "CLIENT_ERROR xor is not for f32"},
      {"mf a 4 in u32\r\nabcd", "CLIENT_ERROR no comparison has that name; there are lt, le, eq, ne, ge, gt"},
      {"mf a 3 lt u32\r\nabc", "CLIENT_ERROR the operand is not one element of u32"},
      {"mr a mean u32", "CLIENT_ERROR no function has that name; there are sum, min, max, and, or, count"},
      {"mr a and f64", "CLIENT_ERROR and is not for f64"},
      {"mr a sum u32", "CLIENT_ERROR the value is no whole number of u32, of 4 bytes each"},
      {"mf a 4 lt u32\r\nabcd", "CLIENT_ERROR the value is no whole number of u32, of 4 bytes each"},
      {"get a", "VALUE a 0 6\r\nabcdef\r\nEND"},
  });
  Played served;
  Conversation client(served);
  CHECK(client.say("set a 0 0 8\r\n" + words({1, 2}) + "\r\n") == "STORED\r\n");
  // Three operands are neither one for all nor one for each of two.
  CHECK(client.say("mv a 12 add u32\r\n" + words({1, 2, 3}) + "\r\n").starts_with("CLIENT_ERROR "));
  CHECK(client.say("mg a c\r\n") == "HD c1\r\n");
}

TEST_CASE("mr reduces a vector to a number, and mf finds the elements that compare") {
  check({
      {"mr a sum u32", "EN"},
      {"mr a sum u32 q", ""},
      {"set a 0 0 16\r\n" + words({3, 9, 1, 7}), "STORED"},
      {"mr a sum u32", "VA 2\r\n20"},
      {"mr a min u32 k O5", "VA 1 ka O5\r\n1"},
      {"mr a count i32", "VA 1\r\n4"},
      {"mf a 4 gt u32\r\n" + words({2}), "VA 12\r\n" + words({3, 9, 7})},
      {"mf a 4 gt u32 MB\r\n" + words({2}), "VA 1\r\n\x0b"},
      {"mf a 4 gt u32\r\n" + words({90}), "VA 0\r\n"},
      {"mf b 4 gt u32 q\r\n" + words({2}), ""},
  });
}

TEST_CASE("redis' protocol has the same operations under names of their own") {
  Played served;
  Conversation client(served);
  const auto say = [&](const std::vector<std::string>& parts) { return client.say(array(parts)); };
  const std::vector<float> before{1, 2, 3}, after{1.5, 2.5, 3.5};
  CHECK(say({"VEC.UPDATE", "a", "add", "f32", packed<float>({.5})}) == "$-1\r\n");
  CHECK(say({"SET", "a", packed(before), "EX", "100"}) == "+OK\r\n");
  CHECK(say({"vec.update", "a", "add", "f32", packed<float>({.5})}) == "+OK\r\n");
  CHECK(say({"GET", "a"}) == bulk(packed(after)));
  CHECK(say({"TTL", "a"}) == ":100\r\n");
  CHECK(say({"VEC.UPDATE", "a", "sub", "f32", packed<float>({.5, .5, .5}), "old"}) == bulk(packed(after)));
  CHECK(say({"VEC.UPDATE", "a", "min", "f32", packed<float>({2}), "NEW"}) == bulk(packed<float>({1, 2, 2})));
  CHECK(say({"VEC.REDUCE", "a", "sum", "f32"}) == bulk("5"));
  CHECK(say({"VEC.REDUCE", "b", "sum", "f32"}) == "$-1\r\n");
  CHECK(say({"VEC.FILTER", "a", "lt", "f32", packed<float>({2})}) == bulk(packed<float>({1})));
  CHECK(say({"VEC.FILTER", "a", "lt", "f32", packed<float>({2}), "BITMAP"}) == bulk("\x01"));
  CHECK(say({"VEC.FILTER", "b", "lt", "f32", packed<float>({2})}) == "$-1\r\n");
  CHECK(say({"VEC.FILTER", "a", "lt", "f32", "abcd", "x"}) == "-ERR syntax error\r\n");
  CHECK(say({"VEC.UPDATE", "a", "xor", "f32", "abcd"}) == "-ERR xor is not for f32\r\n");
  CHECK(say({"VEC.UPDATE", "a", "add", "f32", "abcd", "x"}) == "-ERR syntax error\r\n");
  CHECK(say({"VEC.REDUCE", "a", "sum"}) == "-ERR wrong number of arguments for 'vec.reduce' command\r\n");
}

}  // namespace
}  // namespace latchlab::kv
