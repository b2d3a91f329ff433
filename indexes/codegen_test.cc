// Tests of the code that the compiler makes of the verbs, on the native machine.
//   1. Under `none` a find executes no more instructions than a lookup written by hand over the same nodes.
//   2. An optimistic find, epoch included, contains no locked instruction. objdump reads this very executable.
//   3. The harness's loop of lookups under an eliding policy contains the transaction: a lookup is no call.
//
// The lookup by hand is the shortest of several that were tried: the same unrolled run, the leaf searched in one place,
// no verb. Other forms (goto, several returns, a state in the loop) took up to ten instructions more.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/art/art.h"
#include "src/arch/opaque.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/executed.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {

using NoneArt = Synchronized<Art, None<Native>, U64Key>;
using OlcArt = Synchronized<Art, Olc<Native>, U64Key>;
using NodeByHand = art::Node<CoarseLayout<Native>, U64Key>;
using LeafByHand = art::Leaf<CoarseLayout<Native>, U64Key>;

struct TreeByHand {
  u64 size = 0;  // makes the root, as in any tree, not the first member: finding it takes an instruction
  art::Node256<CoarseLayout<Native>, U64Key> root{art::U64Path(U64Key(), 0)};
};

/// The end of the unrolled run of Node256 at the top. `word` is the content of the slot.
enum class Run { kMiss, kLeaf, kFurther };
template <u32 kDepth>
[[gnu::always_inline]] inline Run run_by_hand(const NodeByHand*& node, U64Key key, u32& depth, u64& word) {
  word = node->slot_in_256(key[kDepth])->load();
  if (word == 0) return Run::kMiss;
  if (art::Child(word).is_leaf()) return Run::kLeaf;
  node = art::Child(word).as_node<NodeByHand>();
  if constexpr (kDepth + 1 < 4) {
    if (node->tag() == art::U64Path::tag_of(art::Kind::k256, kDepth + 1)) [[likely]] {
      return run_by_hand<kDepth + 1>(node, key, depth, word);
    }
  }
  depth = kDepth + 1;
  return Run::kFurther;
}

[[gnu::always_inline]] inline std::optional<u64> find_by_hand(const TreeByHand& tree, U64Key key) {
  const NodeByHand* node = &tree.root;
  u32 depth = 0;
  u64 word;
  const Run run = run_by_hand<0>(node, key, depth, word);
  if (run == Run::kMiss) return std::nullopt;
  if (run == Run::kFurther) {
    for (;; ++depth) {
      if (node->level() != opaque(depth)) [[unlikely]] {
        if (!node->path().matches(key)) return std::nullopt;
        depth = node->level();
      }
      if (!node->find_at(depth, key[depth], word)) return std::nullopt;
      if (depth + 1 == U64Key::kFixedSize) return word;
      if (art::Child(word).is_leaf()) break;
      node = art::Child(word).as_node<NodeByHand>();
    }
  }
  const auto* const value = LeafByHand::find(art::Child(word), key);
  return value == nullptr ? std::nullopt : std::optional(value->load());
}

constexpr u64 kAbsent = ~u64{0};

// These functions are neither static nor inlined, and contain all that they call. So each is a symbol with all of its
// instructions. The value found is used at once, as in inlined code, since a returned optional would go through memory.
extern "C" {

[[gnu::noinline, gnu::flatten]] u64 codegen_none_find(const NoneArt& index, NoneArt::ThreadState& me, u64 key) {
  return index.find(me, key).value_or(kAbsent);
}
[[gnu::noinline, gnu::flatten]] u64 codegen_find_by_hand(const TreeByHand& tree, NoneArt::ThreadState&, u64 key) {
  return find_by_hand(tree, U64Key(key)).value_or(kAbsent);
}
}  // extern "C"

// A find of a thread that has decided how it reclaims. Each way to reclaim has its own type.
template <class Me>
[[gnu::noinline, gnu::flatten]] u64 codegen_olc_find(const OlcArt& index, Me me, u64 key) {
  return index.find(me, key).value_or(kAbsent);
}
u64 find_as_olc(const OlcArt& index, OlcArt::ThreadState& me, u64 key) {
  u64 found = 0;
  me.decide([&](const auto& decided) { found = codegen_olc_find(index, decided, key); });
  return found;
}

namespace {

struct Instruction {
  std::string text;
  bool named(std::string_view word) const { return text.find(word) != std::string::npos; }
};

/// Returns the output of a binutils tool for this executable.
std::vector<std::string> lines_of(const std::string& tool) {
  const std::string command = tool + " /proc/" + std::to_string(getpid()) + "/exe";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  std::array<char, 4000> line;
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) lines.emplace_back(line.data());
  return lines;
}

/// Returns the instructions of one function, without the padding after it.
std::vector<Instruction> disassembled(const std::string& symbol) {
  std::vector<Instruction> all;
  for (const std::string& line : lines_of("objdump -d --no-show-raw-insn --disassemble=" + symbol)) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos) continue;
    const Instruction instruction{line.substr(colon + 2)};
    if (!instruction.named("nop") && !instruction.named("%ax,%ax")) all.push_back(instruction);
  }
  return all;
}

/// Returns the symbols with `part` in their mangled names.
std::vector<std::string> symbols(std::string_view part) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of("nm")) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    if (name.find(part) != std::string::npos) names.push_back(name.substr(0, name.find('\n')));
  }
  return names;
}

bool objdump_is_there() { return std::system("objdump --version >/dev/null 2>&1") == 0; }

/// The same keys in an index and in a tree built by hand: leaves below the root, and below one and two further Node256,
/// and a Node16 and a Node256 that hold values.
class Twins {
 public:
  static constexpr u64 kBelowRoot = 0x01ull << 56;
  static constexpr u64 kBelowOne = 0x02ull << 56;
  static constexpr u64 kBelowTwo = kBelowOne | 7ull << 48;
  static constexpr u64 kValues = 0x03ull << 56;
  static constexpr u64 kManyValues = 0x05ull << 56;  // key i has value i, so that one value is 0
  static constexpr u64 kMany = 60;                   // more children than a Node48 holds

  Twins() : index(Spec::parse("none"), {}), me(index.join()) {
    add_leaf(tree.root, kBelowRoot);
    for (u64 i = 0; i < kMany; ++i) {
      if (i != 7) add_leaf(one_, kBelowOne | i << 48);
      add_leaf(two_, kBelowTwo | i << 40);
    }
    for (u64 i = 0; i < 6; ++i) {
      (void)index.insert(me, kValues | i, i);
      values_.add(static_cast<u8>(i), i);
    }
    for (u64 i = 0; i < kMany; ++i) {
      (void)index.insert(me, kManyValues | i, i);
      many_values_.add(static_cast<u8>(i), i);
    }
    one_.add(7, art::Child::node(&two_).word());
    tree.root.add(2, art::Child::node(&one_).word());
    tree.root.add(3, art::Child::node(&values_).word());
    tree.root.add(5, art::Child::node(&many_values_).word());
  }

  NoneArt index;
  NoneArt::ThreadState me;
  TreeByHand tree;

 private:
  using Layout = CoarseLayout<Native>;

  void add_leaf(art::Node256<Layout, U64Key>& node, u64 key) {
    (void)index.insert(me, key, key);
    auto& place = leaves_.emplace_back();
    node.add(U64Key(key)[node.level()], art::Child::leaf(new (place.data()) LeafByHand(U64Key(key), key), 1).word());
  }

  struct alignas(LeafByHand::bytes_of(1)) Place : std::array<std::byte, LeafByHand::bytes_of(1)> {};
  std::deque<Place> leaves_;
  art::Node256<Layout, U64Key> one_{art::U64Path(U64Key(kBelowOne), 1)};
  art::Node256<Layout, U64Key> two_{art::U64Path(U64Key(kBelowTwo), 2)};
  art::Node16<Layout, U64Key> values_{art::U64Path(U64Key(kValues), 7)};
  art::Node256<Layout, U64Key> many_values_{art::U64Path(U64Key(kManyValues), 7)};
};

TEST_CASE("Codegen: a find under none executes no more instructions than a lookup by hand", "[release]") {
  Twins twins;
  const std::vector<u64> keys{Twins::kBelowRoot,
                              Twins::kBelowRoot + 1,
                              Twins::kBelowOne,
                              Twins::kBelowTwo | 5ull << 40,
                              Twins::kBelowTwo | 100ull << 40,
                              Twins::kValues + 5,
                              Twins::kValues + 6,
                              Twins::kManyValues + 5,
                              Twins::kManyValues,  // its value is 0
                              Twins::kManyValues + Twins::kMany,
                              4ull << 56};
  for (const u64 key : keys) {
    CAPTURE(key);
    CHECK(codegen_none_find(twins.index, twins.me, key) == codegen_find_by_hand(twins.tree, twins.me, key));
    const auto by_verbs = executed([&] { (void)codegen_none_find(twins.index, twins.me, key); });
    const auto by_hand = executed([&] { (void)codegen_find_by_hand(twins.tree, twins.me, key); });
    if (!by_verbs || !by_hand) {
      WARN("skipped: this system does not let a process trace another");
      return;
    }
    std::printf("find of %016lx under none: %lu instructions; by hand %lu\n", key, by_verbs->instructions,
                by_hand->instructions);
    CHECK(by_hand->instructions > 15);
    CHECK(by_verbs->instructions <= by_hand->instructions);
  }
}

TEST_CASE("Codegen: an optimistic find locks nothing", "[release]") {
  REQUIRE(objdump_is_there());  // part of the package binutils, which setup installs
  const std::vector<std::string> finds = symbols("codegen_olc_find");
  REQUIRE(finds.size() == kWords<Reclaim>.size());
  for (const std::string& find : finds) {
    INFO(find);
    const auto instructions = disassembled(find);
    REQUIRE(instructions.size() > 50);
    // xchg with a memory operand locks without a prefix. Fences would cost as much.
    const auto locks = std::count_if(instructions.begin(), instructions.end(), [](const Instruction& instruction) {
      return instruction.named("lock ") || instruction.named("xchg") || instruction.named("mfence");
    });
    const bool fences = find.find("7ReclaimE1E") != std::string::npos;  // the mangled name of epoch-fence
    static_assert(static_cast<int>(Reclaim::kEpochFence) == 1);
    CHECK(locks == (fences ? 1 : 0));
  }
}

TEST_CASE("Codegen: the harness's loops of lookups contain their transactions", "[release]") {
  REQUIRE(objdump_is_there());
  u32 loops = 0;
  for (const std::string& loop : symbols("7look_up")) {
    const bool elides = loop.find("3RtmI") != std::string::npos || loop.find("8AdaptiveI") != std::string::npos;
    const bool cold = loop.find(".cold") != std::string::npos;  // the part of a loop for unlikely cases
    if (!elides || cold || loop.find("3ArtE") == std::string::npos) continue;
    INFO(loop);
    const auto instructions = disassembled(loop);
    CHECK(std::ranges::any_of(instructions, [](const Instruction& one) { return one.named("xend"); }));
    ++loops;
  }
  if (loops == 0) WARN("skipped: this build has no pair of art and an eliding policy");
}

TEST_CASE("Codegen: the measured functions find the keys that are there", "[release]") {
  NoneArt index(Spec::parse("none"), {});
  auto me = index.join();
  for (u64 key = 0; key < 1000; ++key) (void)index.insert(me, key * key, key);
  for (u64 key = 0; key < 1000; ++key) CHECK(codegen_none_find(index, me, key * key) == key);
  CHECK(codegen_none_find(index, me, 2) == kAbsent);

  OlcArt optimistic(Spec::parse("olc"), {});
  auto optimist = optimistic.join();
  CHECK(optimistic.insert(optimist, 1, 2));
  CHECK(find_as_olc(optimistic, optimist, 1) == 2);

  // A tree built by hand: a root, a node, a leaf.
  alignas(16) std::array<std::byte, 64> place{};
  auto* const leaf = new (place.data()) LeafByHand(U64Key(0x0102), 7);
  art::Node4<CoarseLayout<Native>, U64Key> node{art::U64Path(U64Key(0x0100), 6)};
  node.add(1, art::Child::leaf(leaf, 1).word());
  TreeByHand tree;
  tree.root.add(0, art::Child::node(&node).word());
  CHECK(codegen_find_by_hand(tree, me, 0x0102) == 7);
  CHECK(codegen_find_by_hand(tree, me, 0x0103) == kAbsent);
  CHECK(codegen_find_by_hand(tree, me, 0x0202) == kAbsent);
}

}  // namespace
}  // namespace latchlab::testing
