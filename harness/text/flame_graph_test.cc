#include "harness/text/flame_graph.h"

#include <map>
#include <regex>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Catch::Contains;
using Where = StackFrame::Where;

SampledStack stack(u64 samples, const std::vector<std::string>& functions) {
  SampledStack out{.frames = {}, .samples = samples};
  for (const std::string& function : functions) out.frames.push_back({.function = function, .where = Where::kProgram});
  return out;
}

struct DrawnBox {
  std::string title;
  double x, y, width;
};

/// Returns the boxes of a picture, in its order.
std::vector<DrawnBox> boxes_of(const std::string& picture) {
  static const std::regex kBox(
      R"re(<title>([^\n]*)\n[^<]*</title><rect class="\w+" x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)")re");
  std::vector<DrawnBox> boxes;
  for (std::sregex_iterator box(picture.begin(), picture.end(), kBox), end; box != end; ++box) {
    const std::smatch& match = *box;
    boxes.push_back({match[1], std::stod(match[2]), std::stod(match[3]), std::stod(match[4])});
  }
  return boxes;
}

TEST_CASE("a box is as wide as its share, and stands on its caller", "[flame_graph]") {
  const std::string picture =
      flame_graph({stack(50, {"f", "g"}), stack(25, {"f", "h"}), stack(25, {"f"}), stack(25, {"e"})}, {});
  const std::vector<DrawnBox> boxes = boxes_of(picture);
  REQUIRE(boxes.size() == 5);
  std::map<std::string, DrawnBox> named;
  for (const DrawnBox& box : boxes) named[box.title] = box;
  const DrawnBox &all = named.at("all samples"), &f = named.at("f"), &g = named.at("g"), &h = named.at("h");
  CHECK(all.width == Approx(1260));
  CHECK(named.at("e").width == Approx(1260 * 0.2));
  CHECK(f.width == Approx(1260 * 0.8));
  CHECK(named.at("e").width + f.width == Approx(all.width));
  CHECK(g.width == Approx(1260 * 0.4));
  CHECK(g.width + h.width == Approx(f.width * 0.75));  // the rest is f's own
  CHECK(named.at("e").x == Approx(all.x));
  CHECK(f.x == Approx(all.x + 1260 * 0.2));
  CHECK(g.x == Approx(f.x));
  CHECK(h.x == Approx(g.x + g.width));
  CHECK(f.y == all.y - 18);
  CHECK(g.y == f.y - 18);
  CHECK(h.y == g.y);
  CHECK(g.y >= 0);
}

TEST_CASE("a picture does not depend on the order of stacks", "[flame_graph]") {
  const std::vector<SampledStack> stacks{stack(3, {"b", "x"}), stack(2, {"a"}), stack(1, {"b", "x"})};
  CHECK(flame_graph(stacks, {"line"}) == flame_graph({stack(2, {"a"}), stack(4, {"b", "x"})}, {"line"}));
  CHECK(boxes_of(flame_graph(stacks, {})).at(1).title == "a");
}

TEST_CASE("a tooltip has the whole name with samples and share, and markup is escaped", "[flame_graph]") {
  const std::string picture =
      flame_graph({stack(1, {"latchlab::F<\"a\">::f(int&) const"}), stack(3, {"g"})}, {"a < b & c"});
  CHECK_THAT(picture, Contains("<title>latchlab::F&lt;&quot;a&quot;&gt;::f(int&amp;) const\n1 sample, 25.0 %</title>"));
  CHECK_THAT(picture, Contains(">F&lt;...&gt;::f</text>"));
  CHECK_THAT(picture, Contains(">a &lt; b &amp; c</text>"));
  CHECK_THAT(picture, !Contains("F<"));
}

TEST_CASE("a narrow box has no text, a wider one has as much as fits", "[flame_graph]") {
  const std::string name(40, 'n');
  const std::string picture =
      flame_graph({stack(10, {name}), stack(1, {"narrow"}), stack(1, {"x"}), stack(88, {"wide"})}, {});
  CHECK_THAT(picture, Contains(">nnnnnnnnnnnnnn..</text>"));
  CHECK_THAT(picture, !Contains(">narrow</text>"));
  CHECK_THAT(picture, !Contains(">x</text>"));
  CHECK_THAT(picture, Contains(">wide</text>"));
  CHECK(boxes_of(picture).size() == 5);
}

TEST_CASE("boxes too narrow to see are left out", "[flame_graph]") {
  CHECK(boxes_of(flame_graph({stack(1, {"dust", "on_dust"}), stack(1'000'000, {"f"})}, {})).size() == 2);
}

TEST_CASE("the place of the code gives the colour", "[flame_graph]") {
  const std::string picture = flame_graph(
      {{.frames = {{"f", Where::kProgram}, {"m", Where::kLibrary}, {"k", Where::kKernel}}, .samples = 1}}, {});
  for (const char* colour : {"\"p", "\"l", "\"k"}) {
    const std::string box = std::string("<rect class=") + colour;
    CHECK_THAT(picture, Contains(box));
  }
}

TEST_CASE("names of functions are shortened", "[flame_graph]") {
  for (const auto& [whole, brief] : std::vector<std::pair<std::string, std::string>>{
           {"latchlab::Art<latchlab::Layout<(bool)0> >::find_in<latchlab::Tx>(latchlab::Tx&) const",
            "Art<...>::find_in<...>"},
           {"latchlab::Attempt<std::optional<unsigned long> > latchlab::art::Leaf<X>::find(latchlab::art::Child)",
            "art::Leaf<...>::find"},
           {"decltype(auto) latchlab::Epochs<N, 2ul>::decide<X>(X const&)", "Epochs<...>::decide<...>"},
           {"auto latchlab::Synchronized<A>::find<X>(X&)::{lambda(auto:1&)#1}::operator()<Y>(Y&) const",
            "Synchronized<...>::find<...>::{lambda}::operator()<...>"},
           {"latchlab::(anonymous namespace)::f(int)", "f"},
           {"std::_Function_handler<void (unsigned int), latchlab::(anonymous namespace)::R::{lambda()#1}>::_M_invoke",
            "std::_Function_handler<...>::_M_invoke"},
           {"latchlab::operator<(latchlab::A, latchlab::A)", "operator<"},
           {"bool latchlab::operator==<int>(int)", "operator==<...>"},
           {"bool latchlab::operator< <int>(int)", "operator<<...>"},
           {"latchlab::Cell<A>::operator unsigned long() const", "Cell<...>::operator unsigned long"},
           {"operator new(unsigned long)", "operator new"},
           {"not_latchlab::f(int)", "not_latchlab::f"},
           {"my_operator(int)", "my_operator"},
           {"cfree@GLIBC_2.2.5", "cfree@GLIBC_2.2.5"},
           {"[libx.so.1]", "[libx.so.1]"},
           {"f<(", "f<...>"},
           {"_ZN8latchlab6EpochsINS_6NativeEE6decideIZNS_3ArtEEEvv", "Epochs<...>"},
           {"_ZN8latchlab3art4findEv", "art::find"},
           {"_ZN99latch", "latch"},
           {"_ZN", "_ZN"},
           {"", ""}}) {
    CHECK(short_function(whole) == brief);
  }
}

}  // namespace
}  // namespace latchlab
