#include "harness/trial/request_maker.h"

#include <algorithm>
#include <initializer_list>
#include <new>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/trial/trial_testing.h"
#include "src/base/spec.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/phased_stream.h"
#include "workloads/wiscer.h"
#include "workloads/wiscer_stream.h"

namespace latchlab {
namespace {

TEST_CASE("a request has the required result of its operation") {
  const KeySet keys(Spec::parse("u64"), 1);
  const Mix mix(Spec::parse("mix:read=40,insert=20,update=20,upsert=10,rmw=5,modify=5"), .5);
  const Distribution uniform(Spec::parse("uniform"));
  const MixStream stream(1, 1, keys, uniform, mix, 100);
  RequestQueue made;
  std::vector<Op> ops(512), gets;
  stream.fill(0, ops, gets);
  for (const bool may_be_gone : {false, true}) {
    const Slice slice = made.only(RequestMaker(stream, may_be_gone, 64), 0, 512);
    CHECK(slice.count == 512);
    CHECK_FALSE(slice.only);
    for (u32 i = 0; i < 512; ++i) {
      const Request& request = slice.requests[i];
      CHECK(tag_matches(request.number, request.value));
      if (request.kind == OpKind::kInsert) CHECK(request.expect == (may_be_gone ? Expect::kEither : Expect::kMiss));
      if (about(request.kind).updates) CHECK(request.expect == (may_be_gone ? Expect::kEither : Expect::kHit));
      if (request.kind == OpKind::kRead && ops[i].absent) CHECK(request.expect == Expect::kMiss);
      if (request.kind == OpKind::kRead && !ops[i].absent) {
        CHECK(request.expect == (may_be_gone ? Expect::kEither : Expect::kHit));
      }
    }
  }
}

TEST_CASE("requests of operations that are alike equal those made one by one") {
  const testing::Lines lines(2000);
  std::string numbers;  // a file of SOSD: a count, and that many sorted numbers
  const auto append = [&](u64 number) { numbers.append(reinterpret_cast<const char*>(&number), sizeof number); };
  append(2000);
  for (u64 n = 0; n < 2000; ++n) append(n * n);
  const TemporaryFile sosd(numbers);
  constexpr u64 kFirst = 300, kCount = 700;  // incomplete blocks at both ends
  for (const std::string& kind :
       {std::string("u64"), std::string("u32"), std::string("u16"), std::string("stride:4096"),
        std::string("clustered:64"), std::string("dense:in_order=1"), "sosd:" + sosd.path(), "file:" + lines.path()}) {
    const KeySet keys(Spec::parse(kind), test_seed());
    const auto check = [&](const MixStream& stream) {
      REQUIRE(stream.alike().has_value() == !keys.bytes());
      constexpr u64 kBefore = 100;
      std::vector<Op> all(kBefore + kCount), gets;
      stream.fill(kFirst - kBefore, all, gets);
      const auto ops = std::span<const Op>(all).subspan(kBefore);
      RequestQueue requests;
      constexpr u64 kFirstStamp = 5'000'000;
      const RequestMaker maker(stream, false, 64, kFirstStamp);
      requests.refill(maker, kFirst - kBefore, kBefore);  // these stay in front of the next ones
      requests.refill(maker, kFirst, kCount);
      CHECK(requests.print(stream, kFirst, kCount) == fingerprint(kFirst, ops));
      CHECK(requests.print(stream, kFirst, 10) == fingerprint(kFirst, ops.first(10)));
      const Slice made = requests.rest();
      REQUIRE(made.count == all.size());
      CHECK(made.only == ops[0].kind);
      for (u64 i = 0; i < all.size(); ++i) {
        const Request& request = made.requests[i];
        const Op& op = all[i];
        const u64 stamp = kFirstStamp + kFirst - kBefore + i;
        REQUIRE(request.kind == op.kind);
        REQUIRE(request.limit == 0);
        REQUIRE(request.expect == (op.absent || request.kind == OpKind::kInsert ? Expect::kMiss : Expect::kHit));
        if (keys.bytes()) {
          const auto key = keys.raw<std::string_view>(op);
          REQUIRE(std::string_view(request.bytes, request.length) == key);
          REQUIRE(request.value == value_of(key, stamp));
        } else {
          REQUIRE(request.number == op.key);
          REQUIRE(request.length == sizeof(u64));
          REQUIRE(request.value == value_of(op.key, stamp));
        }
      }
    };
    CAPTURE(kind);
    check(MixStream::loading(1, keys, 1000));
    for (const char* distribution : {"uniform", "zipf:0.99", "latest"}) {
      for (const double negative : {0., 1.}) {
        CAPTURE(distribution, negative);
        const Distribution popularity(Spec::parse(distribution));
        check(MixStream(test_seed(), 1, keys, popularity, Mix(Spec::parse("lookup"), negative), 1000));
        check(MixStream(test_seed(), 1, keys, popularity, Mix(Spec::parse("lookup"), negative),
                        MixStream::Window{700, 1000}, {}));
      }
    }
  }
}

TEST_CASE("requests that are left keep the keys of their multi-gets when refill adds others", "[multi-get]") {
  const KeySet keys(Spec::parse("u64"), 1);
  const MixStream stream(1, 1, keys, Distribution(Spec::parse("uniform")),
                         Mix(Spec::parse("mix:multi_get=50,update=50"), 0), 1000);
  const RequestMaker maker(stream, false, 64);
  RequestQueue whole, parts;
  const Slice expected = whole.only(maker, 0, 1024);
  u64 next = 0;  // the first operation of the rest
  const auto check_rest = [&] {
    const Slice& rest = parts.rest();
    for (u32 i = 0; i < rest.count; ++i) {
      const Request &got = rest.requests[i], &want = expected.requests[next + i];
      REQUIRE(got.kind == want.kind);
      if (got.kind != OpKind::kMultiGet) continue;
      REQUIRE(got.limit == want.limit);
      for (u32 k = 0; k < got.limit; ++k) {
        const Request &key = rest.gets[got.number + k], &as = expected.gets[want.number + k];
        REQUIRE(key.number == as.number);
        REQUIRE(key.value == as.value);
        REQUIRE(key.expect == Expect::kHit);
      }
    }
  };
  for (const u32 run : {256u, 1u, 200u, 55u, 0u, 256u}) {  // all, one, most, the rest
    const u64 made = next + parts.left();
    parts.refill(maker, made, static_cast<u32>(std::min<u64>(256, 1024 - made)));
    check_rest();
    parts.take(run);
    next += run;
    CHECK(parts.ran().count == run);
  }
}

TEST_CASE("an insert of a new key must find it absent, also if lookups may come too early") {
  const KeySet keys(Spec::parse("affine"), 1);
  const Mix mix(Spec::parse("ycsb-d"), 0);
  const MixStream by_age(1, 1, keys, Distribution(Spec::parse("latest:0.99")), mix, 1000);
  const WiscerStream wiscer(WiscerFile::read("read-mostly"), 1, keys);
  for (const Stream* stream : {static_cast<const Stream*>(&by_age), static_cast<const Stream*>(&wiscer)}) {
    RequestQueue made;
    const Slice slice = made.only(RequestMaker(*stream, false, 64), 0, 4096);
    u64 inserts = 0;
    for (const Request& request : std::span(slice.requests, slice.count)) {
      inserts += request.kind == OpKind::kInsert;
      REQUIRE(request.expect == (request.kind == OpKind::kInsert ? Expect::kMiss : Expect::kEither));
    }
    CHECK(inserts > 50);
  }
}

TEST_CASE("an insert may find its key if an upsert may have come before it") {
  const KeySet keys(Spec::parse("u64"), 1);
  const auto expected = [&](const Stream& stream) {
    RequestQueue requests;
    const Slice made = requests.only(RequestMaker(stream, false, 64), 0, 4096);
    std::set<Expect> of_inserts;
    for (const Request& request : std::span(made.requests, made.count)) {
      if (request.kind == OpKind::kInsert) of_inserts.insert(request.expect);
    }
    REQUIRE(of_inserts.size() == 1);
    return *of_inserts.begin();
  };
  const auto mixed = [&](const char* mix, const char* distribution) {
    return expected(MixStream(1, 1, keys, Distribution(Spec::parse(distribution)), Mix(Spec::parse(mix), 0), 1000));
  };
  CHECK(mixed("mix:insert=20,upsert=80", "latest") == Expect::kEither);
  CHECK(mixed("mix:insert=20,update=80", "latest") == Expect::kMiss);
  CHECK(mixed("mix:insert=20,upsert=80", "uniform") == Expect::kMiss);  // upserts of loaded records
  const auto phased = [&](const char* text) {
    const TemporaryFile file(text);
    return expected(PhasedStream(1, 1, keys, read_phases(file.path()), 1000));
  };
  CHECK(phased("a 4k mix:insert=50,read=50\nb 4k mix:upsert=100\n") == Expect::kEither);
  CHECK(phased("a 4k mix:insert=50,read=50\nb 4k mix:update=100\n") == Expect::kMiss);
}

TEST_CASE("an insert from a finite set of keys finds its key absent unless keys are used again") {
  const testing::Lines lines(2000);
  for (const std::string& kind :
       {std::string("u64"), std::string("u32"), std::string("stride:4096"), "file:" + lines.path()}) {
    CAPTURE(kind);
    const KeySet keys(Spec::parse(kind), 1);
    RequestQueue made;
    const auto all_expect = [&](const Stream& stream, Expect expect) {
      const Slice slice = made.only(RequestMaker(stream, false, 64), 0, 1000);
      return std::ranges::all_of(std::span(slice.requests, slice.count), [&](const Request& request) {
        return request.kind != OpKind::kInsert || request.expect == expect;
      });
    };
    CHECK(all_expect(MixStream::loading(1, keys, 1000), Expect::kMiss));
    const Mix mix(Spec::parse("mix:read=50,insert=50"), 0);
    const MixStream mixed(1, 1, keys, Distribution(Spec::parse("uniform")), mix, 1000);
    CHECK(all_expect(mixed, keys.capacity() == KeySet::kNumbers ? Expect::kMiss : Expect::kEither));
  }
}

/// Returns all fields of a request as words.
std::vector<u64> words_of(std::span<const Request> requests) {
  std::vector<u64> words;
  for (const Request& request : requests) {
    words.insert(words.end(), {request.number, request.value, u64{request.length} << 32 | request.limit,
                               u64{static_cast<u8>(request.kind)} << 8 | static_cast<u8>(request.expect)});
  }
  return words;
}

/// A wrapper of a stream, for which memory may run out.
class Starved final : public Stream {
 public:
  explicit Starved(const Stream& stream) : Stream(stream.keys()), stream_(stream) {}
  u64 size() const override { return stream_.size(); }
  bool addresses_new() const override { return stream_.addresses_new(); }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override {
    if (starves) throw std::bad_alloc();
    stream_.fill(first, ops, gets);
  }
  bool starves = false;

 private:
  const Stream& stream_;
};

TEST_CASE("if memory runs out the queue is empty, and new requests can be made", "[multi-get]") {
  const KeySet keys(Spec::parse("u64"), 1);
  const MixStream mixed(1, 1, keys, Distribution(Spec::parse("uniform")),
                        Mix(Spec::parse("mix:multi_get=50,update=50"), 0), 1000);
  Starved stream(mixed);
  const RequestMaker maker(stream, false, 64);
  RequestQueue requests, others;
  requests.refill(maker, 0, 256);
  requests.take(100);
  stream.starves = true;
  CHECK_THROWS_AS(requests.refill(maker, 256, 4096), std::bad_alloc);  // the requests that were left have moved by then
  CHECK(requests.left() == 0);
  CHECK(requests.ran().count == 0);
  stream.starves = false;
  requests.refill(maker, 256, 256);
  const Slice expected = others.only(maker, 256, 256);
  REQUIRE(requests.left() == 256);
  CHECK(words_of(std::span(requests.rest().requests, 256)) == words_of(std::span(expected.requests, 256)));
  CHECK(words_of(std::span(requests.rest().gets, 100)) == words_of(std::span(expected.gets, 100)));
}

}  // namespace
}  // namespace latchlab
