// What the compiler made of the verbs, read from this very executable with objdump: on the native machine
// `none` finds a key with the instructions of a lookup written by hand over the same nodes, and a whole
// optimistic find, epoch included, locks nothing.
//
// The lookup by hand is the shortest of several that were tried: the same unrolled run, the leaf searched in
// one place, no verb. Its other forms (goto, several returns, a state in the loop) took up to ten more.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "indexes/art/art.h"
#include "src/arch/opaque.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {

using NoneArt = Synchronized<Art, None<Native>, U64Key>;
using OlcArt = Synchronized<Art, Olc<Native>, U64Key>;
using NodeByHand = art::Node<CoarseLayout<Native>, U64Key>;
using LeafByHand = art::Leaf<CoarseLayout<Native>, U64Key>;

struct TreeByHand {
  u64 size = 0;   // as in any tree, the root is not the first member: finding it is an instruction
  art::Node256<CoarseLayout<Native>, U64Key> root{art::U64Path(U64Key(), 0)};
};

/// How far the unrolled run of Node256 at the top has come: `word` is of the slot.
enum class Run { kMiss, kLeaf, kFurther };
template <u32 kDepth>
[[gnu::always_inline]] inline Run run_by_hand(const NodeByHand*& node, U64Key key, u32& depth, u64& word) {
  if constexpr (kDepth < 4) {
    if (node->path().is(art::Kind::k256, kDepth)) {
      if (!node->find_in_256(kDepth, key[kDepth], word)) return Run::kMiss;
      if (art::Child(word).is_leaf()) return Run::kLeaf;
      node = art::Child(word).as_node<NodeByHand>();
      return run_by_hand<kDepth + 1>(node, key, depth, word);
    }
  }
  depth = kDepth;
  return Run::kFurther;
}

// Not static, not inlined, and with all that they call inside, so that each is a symbol with all of its
// instructions.
extern "C" {

[[gnu::noinline, gnu::flatten]] std::optional<u64> codegen_none_find(const NoneArt& index,
                                                                     NoneArt::Thread& me, u64 key) {
  return index.find(me, key);
}

[[gnu::noinline, gnu::flatten]] std::optional<u64> codegen_find_by_hand(const TreeByHand& tree,
                                                                        NoneArt::Thread&, u64 raw) {
  const U64Key key(raw);
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
      if (!node->find(key[depth], word)) return std::nullopt;
      if (depth + 1 == U64Key::kFixedSize) return word;
      if (art::Child(word).is_leaf()) break;
      node = art::Child(word).as_node<NodeByHand>();
    }
  }
  const auto* const value = LeafByHand::find(art::Child(word), key);
  return value == nullptr ? std::nullopt : std::optional(value->load());
}

[[gnu::noinline, gnu::flatten]] std::optional<u64> codegen_olc_find(const OlcArt& index, OlcArt::Thread& me,
                                                                    u64 key) {
  return index.find(me, key);
}

}  // extern "C"

namespace {

struct Instruction {
  std::string text;
  bool named(std::string_view word) const { return text.find(word) != std::string::npos; }
};

/// Those that read or write memory other than the stack.
std::size_t accesses(const std::vector<Instruction>& all) {
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Instruction& instruction) {
    return instruction.named("(") && !instruction.named("lea ") && !instruction.named("(%rsp)");
  }));
}

/// The instructions of one function, without the padding after it.
std::vector<Instruction> disassembled(const std::string& symbol) {
  const std::string command =
      "objdump -d --no-show-raw-insn --disassemble=" + symbol + " /proc/" + std::to_string(getpid()) + "/exe";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<Instruction> all;
  std::array<char, 1000> line;
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string_view text(line.data());
    const std::size_t colon = text.find(":\t");
    if (colon == std::string_view::npos) continue;
    const Instruction instruction{std::string(text.substr(colon + 2))};
    if (!instruction.named("nop") && !instruction.named("%ax,%ax")) all.push_back(instruction);
  }
  return all;
}

bool objdump_is_there() { return std::system("objdump --version >/dev/null 2>&1") == 0; }

TEST_CASE("Codegen: none finds as a lookup by hand does", "[release]") {
  if (!objdump_is_there()) {
    WARN("skipped: there is no objdump (package binutils)");
    return;
  }
  const auto by_verbs = disassembled("codegen_none_find");
  const auto by_hand = disassembled("codegen_find_by_hand");
  std::printf("find under none: %zu instructions, %zu of them with memory; by hand %zu, %zu\n",
              by_verbs.size(), accesses(by_verbs), by_hand.size(), accesses(by_hand));
  REQUIRE(by_hand.size() > 50);
  CHECK(by_verbs.size() > 50);
  CHECK(accesses(by_verbs) <= accesses(by_hand));
  CHECK(by_verbs.size() <= by_hand.size());
  for (const Instruction& instruction : by_verbs) {
    INFO(instruction.text);
    CHECK_FALSE(instruction.named("call"));
  }
}

TEST_CASE("Codegen: an optimistic find locks nothing", "[release]") {
  if (!objdump_is_there()) {
    WARN("skipped: there is no objdump (package binutils)");
    return;
  }
  const auto instructions = disassembled("codegen_olc_find");
  REQUIRE(instructions.size() > 50);
  for (const Instruction& instruction : instructions) {
    INFO(instruction.text);
    // xchg with memory locks without saying so; fences would cost as much.
    CHECK_FALSE((instruction.named("lock ") || instruction.named("xchg") || instruction.named("mfence")));
  }
}

TEST_CASE("Codegen: what was measured finds what is there", "[release]") {
  NoneArt index(Spec::parse("none"), {});
  auto me = index.join();
  for (u64 key = 0; key < 1000; ++key) (void)index.insert(me, key * key, key);
  for (u64 key = 0; key < 1000; ++key) CHECK(codegen_none_find(index, me, key * key) == key);
  CHECK(codegen_none_find(index, me, 2) == std::nullopt);

  OlcArt optimistic(Spec::parse("olc"), {});
  auto optimist = optimistic.join();
  CHECK(optimistic.insert(optimist, 1, 2));
  CHECK(codegen_olc_find(optimistic, optimist, 1) == 2);

  // A tree by hand for the lookup by hand: a root, a node, a leaf.
  alignas(16) std::array<std::byte, 64> place{};
  auto* const leaf = new (place.data()) LeafByHand(U64Key(0x0102), 7);
  art::Node4<CoarseLayout<Native>, U64Key> node{art::U64Path(U64Key(0x0100), 6)};
  node.add(1, art::Child::leaf(leaf, 1).word());
  TreeByHand tree;
  tree.root.add(0, art::Child::node(&node).word());
  CHECK(codegen_find_by_hand(tree, me, 0x0102) == 7);
  CHECK(codegen_find_by_hand(tree, me, 0x0103) == std::nullopt);
  CHECK(codegen_find_by_hand(tree, me, 0x0202) == std::nullopt);
}

}  // namespace
}  // namespace latchlab::testing
