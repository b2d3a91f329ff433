#include "src/wire/memcached_answers.h"

#include <string>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("answers of text commands") {
  std::string out;
  append_value_line(out, "k", 4294967295u, 2);
  append_value(out, "ab");
  append_value_line(out, "key", 0, 0, 18446744073709551615u);
  append_value(out, "");
  append_status(out, MemcachedStatus::kEnd);
  CHECK(out == "VALUE k 4294967295 2\r\nab\r\nVALUE key 0 0 18446744073709551615\r\n\r\nEND\r\n");

  const std::pair<MemcachedStatus, const char*> kStatuses[] = {
      {MemcachedStatus::kStored, "STORED\r\n"},   {MemcachedStatus::kNotStored, "NOT_STORED\r\n"},
      {MemcachedStatus::kExists, "EXISTS\r\n"},   {MemcachedStatus::kNotFound, "NOT_FOUND\r\n"},
      {MemcachedStatus::kDeleted, "DELETED\r\n"}, {MemcachedStatus::kTouched, "TOUCHED\r\n"},
      {MemcachedStatus::kOk, "OK\r\n"},           {MemcachedStatus::kReset, "RESET\r\n"}};
  for (const auto& [status, text] : kStatuses) {
    out.clear();
    append_status(out, status);
    CHECK(out == text);
  }

  out.clear();
  append_number_line(out, 18446744073709551615u);
  append_stat(out, "pid", 7);
  append_stat(out, "version", "1 2");
  append_version(out, "0.2");
  append_client_error(out, kNotANumber);
  append_server_error(out, kNoMemoryToStore);
  CHECK(out ==
        "18446744073709551615\r\nSTAT pid 7\r\nSTAT version 1 2\r\nVERSION 0.2\r\n"
        "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
        "SERVER_ERROR out of memory storing object\r\n");
}

/// Returns the answer's line to a meta command.
std::string meta(std::string_view request, MetaStatus status, const MetaItem& item = {}) {
  MemcachedCommand command;
  REQUIRE(MemcachedParser().parse(request, command).status == ParseStatus::kCommand);
  std::string out;
  append_meta_line(out, command, status, item);
  return out;
}

// The requests and answers are those of memcached 1.6.18.
TEST_CASE("answers of meta commands bring back what was asked, in its order") {
  const MetaItem item{.cas = 23, .bytes = 2, .flags = 7, .ttl = -1, .idle = 1, .hit = true};
  CHECK(meta("mg k s v t c f k h l O123 q u\r\n", MetaStatus::kValue, item) == "VA 2 s2 t-1 c23 f7 kk h1 l1 O123\r\n");
  CHECK(meta("mg k\r\n", MetaStatus::kDone, item) == "HD\r\n");
  CHECK(meta("mg k f s\r\n", MetaStatus::kDone, item) == "HD f7 s2\r\n");
  CHECK(meta("mg k O v\r\n", MetaStatus::kValue, item) == "VA 2 O\r\n");
  CHECK(meta("mg miss O1 k v s t c f h l\r\n", MetaStatus::kMiss) == "EN O1 kmiss\r\n");
  CHECK(meta("mg a2V5 k b v O9\r\n", MetaStatus::kValue, item) == "VA 2 ka2V5 b O9\r\n");
  CHECK(meta("mg a2V5 b k v\r\n", MetaStatus::kMiss) == "EN ka2V5 b\r\n");
  CHECK(meta("mg k t T30\r\n", MetaStatus::kDone, {.ttl = 30}) == "HD t30\r\n");
  CHECK(meta("mg k v N30\r\n", MetaStatus::kValue, {.won = true}) == "VA 0 W\r\n");
  CHECK(meta("mg k\r\n", MetaStatus::kDone, {.won = true, .stale = true, .sent = true}) == "HD Z X W\r\n");
  CHECK(meta("mg k h\r\n", MetaStatus::kDone) == "HD h0\r\n");

  CHECK(meta("ms k 2 k c O7 s\r\nhi\r\n", MetaStatus::kDone, {.cas = 29, .bytes = 2}) == "HD kk c29 O7\r\n");
  CHECK(meta("ms k 2 k O1 c q\r\nhi\r\n", MetaStatus::kNotStored) == "NS kk O1 c0\r\n");
  CHECK(meta("ms a2V5 2 b k O9\r\nxx\r\n", MetaStatus::kDone) == "HD ka2V5 b O9\r\n");
  CHECK(meta("ms k 2 t f\r\nhi\r\n", MetaStatus::kExists, item) == "EX\r\n");

  CHECK(meta("md k k O1 c t\r\n", MetaStatus::kNotFound) == "NF kk O1\r\n");
  CHECK(meta("md k q\r\n", MetaStatus::kDone, item) == "HD\r\n");

  CHECK(meta("ma n N0 J13 v k O1 t c\r\n", MetaStatus::kValue, {.cas = 39, .bytes = 2}) == "VA 2 kn O1 t-1 c39\r\n");
  CHECK(meta("ma n s f h l v\r\n", MetaStatus::kValue, {.bytes = 1}) == "VA 1\r\n");
  CHECK(meta("ma n k O1 t c\r\n", MetaStatus::kNotFound) == "NF kn O1\r\n");
  CHECK(meta("mn\r\n", MetaStatus::kNoOp) == "MN\r\n");

  MemcachedCommand command;
  REQUIRE(MemcachedParser().parse("me a2V5 b\r\n", command).status == ParseStatus::kCommand);
  std::string out;
  append_meta_debug(out, command, {.exptime = -1, .idle = 2, .cas = 25, .fetched = true, .size_class = 1, .bytes = 64});
  CHECK(out == "ME a2V5 exp=-1 la=2 cas=25 fetch=yes cls=1 size=64\r\n");
}

TEST_CASE("a quiet command leaves out the usual answer, and no other") {
  const auto quiet = [](std::string_view request) {
    MemcachedCommand command;
    REQUIRE(MemcachedParser().parse(request, command).status == ParseStatus::kCommand);
    std::string statuses;
    for (const MetaStatus status : {MetaStatus::kDone, MetaStatus::kValue, MetaStatus::kMiss, MetaStatus::kNotFound,
                                    MetaStatus::kNotStored, MetaStatus::kExists}) {
      if (is_quiet(command, status)) statuses.append(word(status)) += ' ';
    }
    return statuses;
  };
  CHECK(quiet("mg k q\r\n") == "EN ");
  CHECK(quiet("ms k 1 q\r\nx\r\n") == "HD VA ");
  CHECK(quiet("md k q\r\n") == "HD VA ");
  CHECK(quiet("ma k q\r\n") == "HD VA ");
  CHECK(quiet("mn q\r\n").empty());
  for (const char* request : {"mg k\r\n", "ms k 1\r\nx\r\n", "md k\r\n", "ma k\r\n", "set k 0 0 1\r\nx\r\n"})
    CHECK(quiet(request).empty());
  CHECK(quiet("set k 0 0 1 noreply\r\nx\r\n") == "HD VA EN NF NS EX ");
}

}  // namespace
}  // namespace latchlab
