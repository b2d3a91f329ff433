#include "src/base/spec.h"

#include <string>

#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

using testing::refusal;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("a spec has a name, an argument and options", "[spec]") {
  const Spec spec = Spec::parse("rtm:20,wait=1,respec=0");
  CHECK(spec.name == "rtm");
  CHECK(spec.arg == "20");
  REQUIRE(spec.options.size() == 2);
  CHECK(spec.options[0] == std::pair<std::string, std::string>("wait", "1"));
  CHECK(spec.options[1] == std::pair<std::string, std::string>("respec", "0"));
}

TEST_CASE("a spec prints as it was written", "[spec]") {
  for (const char* text : {"art", "tbb-spec-rw", "shared_mutex", "rtm:20", "rtm:20,wait=1", "mix:read=90,insert=10",
                           "zipf:0.99", "file:/usr/a,b=c:d"}) {
    CHECK(Spec::parse(text).str() == text);
  }
  CHECK(Spec::parse("rtm,wait=1").str() == "rtm:wait=1");
}

TEST_CASE("options may follow the colon at once", "[spec]") {
  const Spec spec = Spec::parse("mix:read=90,insert=10");
  CHECK_FALSE(spec.arg.has_value());
  CHECK(spec.options.size() == 2);
}

TEST_CASE("a path is the whole rest of a spec", "[spec]") {
  CHECK(Spec::parse("file:/a,b=c").arg == "/a,b=c");
  CHECK(Spec::parse("file:/a,b=c").options.empty());
}

TEST_CASE("malformed specs are refused with one line", "[spec]") {
  for (const char* text :
       {"", ":20", ",wait=1", "rtm:", "rtm:20,", "rtm:20,wait", "rtm:20,wait=", "rtm:20,=1", "rtm,,wait=1",
        "rtm:wait=1,wait=0", "rtm:wait=1,20", "r tm", "RTM", "file:", "rtm:,wait=1"}) {
    INFO(text);
    const std::string error = refusal([&] { (void)Spec::parse(text); });
    CHECK_FALSE(error.empty());
    CHECK_FALSE(contains(error, "\n"));
    CHECK(contains(error, text));
  }
}

TEST_CASE("a spec reader returns the given values, and defaults for the others", "[spec]") {
  const Spec spec = Spec::parse("rtm:7,wait=0");
  SpecReader reader(spec, "policy rtm");
  CHECK(reader.arg_u64(20, 0, 100) == 7);
  CHECK_FALSE(reader.flag("wait", true));
  CHECK(reader.flag("respec", true));
  CHECK_NOTHROW(reader.finish());
}

TEST_CASE("a spec reader refuses values out of range and unknown options", "[spec]") {
  const Spec spec = Spec::parse("rtm:101,wiat=2");
  SpecReader reader(spec, "policy rtm");
  CHECK(contains(refusal([&] { (void)reader.arg_u64(20, 0, 100); }),
                 "policy rtm: '101' must be a whole number from 0 to 100"));
  CHECK(contains(refusal([&] { (void)reader.flag("wiat", true); }), "must be 0 or 1"));

  SpecReader other(spec, "policy rtm");
  (void)other.arg_text();
  (void)other.flag("wait", true);
  (void)other.flag("respec", true);
  const std::string error = refusal([&] { other.finish(); });
  CHECK(contains(error, "no option 'wiat'"));
  CHECK(contains(error, "wait, respec"));
  CHECK(contains(error, "did you mean 'wait'?"));
}

TEST_CASE("a spec reader reads counts, finite numbers and words of a list", "[spec]") {
  const Spec spec = Spec::parse("table:slots=12,shape=2x8,isa=axv");
  SpecReader reader(spec, "index table");
  CHECK(reader.number("slots", 0, 0, 12) == 12);
  CHECK(reader.number("other", 7, 0, 12) == 7);
  const Spec large = Spec::parse(
      "table:2Ki,slots=1.5M,seed=18446744073709551615,room=1.5,size=99999999T,most=1m,high=1125899906842624.25");
  SpecReader counts(large, "index table");
  CHECK(counts.arg_u64(0, 0, 2048) == 2048);
  CHECK(counts.number("slots", 0, 0, 1'500'000) == 1'500'000);
  CHECK(counts.number("seed", 0, 0, ~u64{0}) == ~u64{0});
  CHECK(contains(refusal([&] { (void)counts.number("slots", 0, 0, 1000); }),
                 "slots='1.5M' must be a whole number from 0 to 1000"));
  for (const char* key : {"room", "size", "most", "high"}) {
    INFO(key);
    CHECK(contains(refusal([&] { (void)counts.number(key, 0, 0, ~u64{0}); }), "must be a whole number"));
  }
  CHECK(contains(refusal([&] { (void)reader.number("slots", 0, 0, 11); }), "'12' must be a whole number from 0 to 11"));
  const Spec wrong = Spec::parse("cuckoo:slots=16m");
  SpecReader other(wrong, "index cuckoo");
  CHECK(contains(refusal([&] { (void)other.number("slots", 0, 0, 11); }),
                 "write 1000, 64k, 16M (decimal) or 16Mi (binary)"));
  CHECK(reader.one_of("shape", 0, {"2x4", "2x8"}) == 1);
  CHECK(reader.one_of("kernel", 1, {"across", "along"}) == 1);
  const std::string error = refusal([&] { (void)reader.one_of("isa", 0, {"scalar", "avx"}); });
  CHECK(contains(error, "index table: isa=axv is none of scalar, avx; did you mean 'avx'?"));
  CHECK_NOTHROW(reader.finish());
}

TEST_CASE("a spec reader refuses an argument that was not read", "[spec]") {
  const Spec spec = Spec::parse("none:3");
  SpecReader reader(spec, "policy none");
  CHECK(contains(refusal([&] { reader.finish(); }), "takes no argument"));
}

TEST_CASE("a number must fill its whole text", "[spec]") {
  CHECK(parse_u64("0") == 0u);
  CHECK(parse_u64("18446744073709551615") == 18446744073709551615u);
  for (const char* text : {"", "-1", "+1", "1.5", "1 ", " 1", "18446744073709551616", "0x10"}) {
    INFO(text);
    CHECK_FALSE(parse_u64(text).has_value());
  }
  CHECK(parse_double("0.99") == 0.99);
  for (const char* text : {"", "nan", "inf", "1e999", "1.0x"}) {
    INFO(text);
    CHECK_FALSE(parse_double(text).has_value());
  }
}

TEST_CASE("nearest returns the candidate that was probably meant, or none", "[spec]") {
  const std::vector<std::string> words{"none", "atomic", "spin", "rwspin", "rtm", "olc"};
  CHECK(nearest("rmt", words) == "rtm");  // a swap counts once
  CHECK(nearest("atmoic", words) == "atomic");
  CHECK(nearest("spinn", words) == "spin");
  CHECK(nearest("elephant", words).empty());
  CHECK(nearest("haswell", {"haswell-ep-18", "haswell-ep", "epyc"}) == "haswell-ep");
  CHECK(nearest("ha", {"haswell-ep"}).empty());
  CHECK(nearest("", words).empty());
  CHECK(nearest(std::string(100'000, 'x'), words).empty());
  CHECK(suggestion("nonee", words) == "; did you mean 'none'?");
  CHECK(suggestion("none", words).empty());
}

TEST_CASE("an option with a value means an index, in whatever form a number is written", "[spec]") {
  constexpr MeantBy kWithValue{.index = "btree", .option = "node", .value = "1024"};
  CHECK(kWithValue.selects(Spec::parse("btree:node=1Ki")));
  CHECK(kWithValue.selects(Spec::parse("btree:seed=1,node=1024")));
  CHECK_FALSE(kWithValue.selects(Spec::parse("btree:node=4Ki")));
  CHECK_FALSE(kWithValue.selects(Spec::parse("btree")));
  CHECK_FALSE(kWithValue.selects(Spec::parse("art:node=1Ki")));
  constexpr MeantBy kWithAny{.index = "cuckoo", .option = "shape"};
  CHECK(kWithAny.selects(Spec::parse("cuckoo:shape=2x4")));
  CHECK_FALSE(kWithAny.selects(Spec::parse("cuckoo:slots=7")));
}

TEST_CASE("the plain form of a spec writes every number in one way, and leaves paths alone") {
  const auto plain = [](std::string_view text) { return Spec::parse(text).plain().str(); };
  CHECK(plain("stride:4Ki") == "stride:4096");
  CHECK(plain("zipf:1.0") == "zipf:1");
  CHECK(plain("zipf:0.990") == plain("zipf:.99"));
  CHECK(plain("flash:1k,share=0.50") == "flash:1000,share=0.5");
  CHECK(plain("file:1k") == "file:1k");
  CHECK(plain("lookup") == "lookup");
}

}  // namespace
}  // namespace latchlab
