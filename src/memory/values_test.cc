#include "src/memory/values.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/pool_lease.h"
#include "src/reclaim/epochs.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Alloc = MemoryConfig::Alloc;
using V = Values<Native>;

MemoryConfig values_in(Alloc alloc) {
  MemoryConfig config;
  config.alloc = alloc;
  return config;
}

std::string text_of(u64 size) {
  std::string text(size, '\0');
  for (u64 i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + size);
  return text;
}
ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_in(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

const std::vector<u64> kSizes{0,
                              1,
                              6,
                              7,
                              8,
                              9,
                              15,
                              16,
                              24,
                              25,
                              40,
                              56,
                              57,
                              100,
                              4088,
                              4089,
                              10000,
                              65535,
                              (1 << 20) - 8,
                              (1 << 20) - 7,
                              3 << 20,
                              V::kMostBytes};

TEST_CASE("A value of any size is read back, and its bytes are accounted for until it is freed",
          "[values][no-tsan]") {  // one thread
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  Memory<Native> memory(values_in(alloc));
  PoolLease<Native> pool(memory);
  std::vector<std::pair<u64, std::string>> kept;
  u64 least = 0;
  for (const u64 size : kSizes) {
    const std::string text = text_of(size);
    const u64 cut = size / 3;
    for (const std::optional<u64> word :
         {V::make(*pool, bytes_of(text)), V::make(*pool, bytes_of(text).first(cut), bytes_of(text).subspan(cut)),
          V::make(*pool, size, [&](std::span<std::byte> to) { std::memcpy(to.data(), text.data(), size); })}) {
      REQUIRE(word.has_value());
      CHECK(*word != 0);
      CHECK(V::is_short(*word) == (size <= V::kMostShort));
      kept.emplace_back(*word, text);
      if (!V::is_short(*word)) least += size;
      CHECK(memory.bytes().live >= least);
    }
  }
  for (const auto& [word, text] : kept) {
    V::prefetch(word);
    CHECK((text_in(V::bytes(word)) == text));
    if (!V::is_short(word)) CHECK(word % 16 == 2 * (std::min<u64>(V::lines(text.size()), 8) - 1));
  }
  for (const auto& [word, text] : kept) V::free(*pool, word);
  CHECK(memory.bytes().live == 0);
}

/// A machine that notes what is prefetched.
struct Noting : Native {
  static inline std::vector<const std::byte*> prefetched;
  static void prefetch(const void* at, Access) { prefetched.push_back(static_cast<const std::byte*>(at)); }
};

TEST_CASE("A prefetch of a value fetches its lines, up to eight", "[values]") {
  Memory<Noting> memory(values_in(Alloc::kArena));
  PoolLease<Noting> pool(memory);
  for (const u64 size : kSizes) {
    const std::string text = text_of(size);
    const u64 word = Values<Noting>::make(*pool, bytes_of(text)).value();
    Noting::prefetched.clear();
    Values<Noting>::prefetch(word);
    REQUIRE(Noting::prefetched.size() == std::min<u64>(V::lines(size), 8));
    if (V::is_short(word)) continue;
    const std::byte* line = Values<Noting>::bytes(word).data() - 8;
    for (const std::byte* const at : Noting::prefetched) CHECK(at == std::exchange(line, line + kLineBytes));
    Values<Noting>::free(*pool, word);
  }
}

TEST_CASE("Words of short values are equal if and only if the values are", "[values]") {
  Memory<Native> memory(values_in(Alloc::kArena));
  PoolLease<Native> pool(memory);
  std::vector<std::string> texts;
  for (u64 size = 0; size <= V::kMostShort; ++size) {
    texts.push_back(std::string(size, '\0'));
    if (size != 0) texts.push_back(text_of(size));
  }
  for (const std::string& a : texts) {
    for (const std::string& b : texts) CHECK((V::make(*pool, bytes_of(a)) == V::make(*pool, bytes_of(b))) == (a == b));
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A value takes a block of the classes that its memory has", "[values]") {
  Memory<Native> memory(values_in(Alloc::kArena), Sharing{.classes = Sharing::Classes::kPowers, .least = 32});
  PoolLease<Native> pool(memory);
  for (const auto& [size, bytes] :
       std::vector<std::pair<u64, u64>>{{8, 32}, {24, 32}, {25, 64}, {57, 128}, {504, 512}}) {
    const std::string text = text_of(size);
    const u64 word = V::make(*pool, bytes_of(text)).value();
    CHECK(memory.bytes().live == bytes);
    CHECK(text_in(V::bytes(word)) == text);
    V::free(*pool, word);
    CHECK(memory.bytes().live == 0);
  }
}

TEST_CASE("A value that cannot be made takes no memory", "[values]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena);
  FailurePlan plan;
  MemoryConfig config = values_in(alloc);
  config.fail = &plan;
  Memory<Native> memory(config);
  PoolLease<Native> pool(memory);
  CHECK_THROWS_AS(V::make(*pool, V::kMostBytes + 1, [](auto) {}), std::length_error);
  CHECK_THROWS_AS(V::make_blank(*pool, Tier::kNear, V::kMostBytes + 1), std::length_error);
  for (const u64 size : kSizes) {
    CHECK_THROWS_AS(V::make(*pool, size, [](auto) { throw std::runtime_error("no"); }), std::runtime_error);
    plan.arm(1, FailurePlan::Then::kForEver);
    CHECK(V::make(*pool, size, [](auto) {}).has_value() == (size <= V::kMostShort));
    CHECK_FALSE(V::make_blank(*pool, Tier::kNear, size).has_value());
    plan.disarm();
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A blank with room for more takes no value above the limit", "[values]") {
  Memory<Native> memory(values_in(Alloc::kArena));
  PoolLease<Native> pool(memory);
  const u64 blank = V::make_blank(*pool, Tier::kNear, V::kMostBytes).value();  // 32 MiB, since its header is in it too
  const std::string text(V::kMostBytes, 'x');
  CHECK(V::fill(blank, bytes_of(text), {}) == blank);
  CHECK_FALSE(V::fill(blank, bytes_of(text), bytes_of("y")).has_value());
  V::free(*pool, blank);
}

TEST_CASE("A blank is filled with any value that fits, and freed as the block that it is", "[values]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena);
  Memory<Native> memory(values_in(alloc));
  PoolLease<Native> pool(memory);
  for (const u64 most : kSizes) {
    const std::optional<u64> blank = V::make_blank(*pool, Tier::kNear, most);
    REQUIRE(blank.has_value());
    for (const u64 size : kSizes) {
      if (size != most && std::max(size, most) > 10'000) continue;  // large values take long
      const std::string text = text_of(size);
      const std::optional<u64> word = V::fill(*blank, bytes_of(text).first(size / 2), bytes_of(text).subspan(size / 2));
      if (size <= most) REQUIRE(word.has_value());
      if (!word) {
        CHECK(V::fill(*blank, bytes_of(text).first(std::min(size, most)), {}).has_value());
        continue;
      }
      CHECK((*word == *blank) == (size > V::kMostShort));
      CHECK((text_in(V::bytes(*word)) == text));
    }
    V::free(*pool, *blank);
    CHECK(memory.bytes().live == 0);
  }
}

TEST_CASE("A claimed word is another word for its value, and no two claims are equal", "[values][no-tsan]") {
  Memory<Native> memory(values_in(Alloc::kMalloc));
  {
    PoolLease<Native> pool(memory);
    for (const u64 size : {0, 5, 7, 8, 100, 5000}) {
      const u64 word = *V::make(*pool, bytes_of(text_of(size)));
      const u64 first = *V::make_blank(*pool, Tier::kNear, 0), second = *V::make_blank(*pool, Tier::kNear, 1000);
      const u64 claimed = V::claim(word, first), again = V::claim(word, second);
      CHECK_FALSE((V::is_claimed(word) || V::is_claimed(first)));
      CHECK((V::is_claimed(claimed) && V::is_claimed(again)));
      CHECK((claimed != word && !V::is_short(claimed)));
      CHECK((claimed == again) == !V::is_short(word));  // a long value has one block, of which there is one claim
      CHECK(text_in(V::bytes(claimed)) == text_of(size));
      CHECK(V::block(claimed).start == V::block(V::is_short(word) ? first : word).start);
      V::prefetch(claimed);
      V::free(*pool, V::is_short(word) ? claimed : first);
      V::free(*pool, V::is_short(word) ? again : second);
      V::free(*pool, word);
    }
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A pinned value outlives its retirement and a move of its handle", "[values]") {
  using E = Epochs<Native, 2, 1, 64, PinnedValues<Native>>;
  Memory<Native> memory(values_in(GENERATE(Alloc::kMalloc, Alloc::kArena)));
  {
    E epochs(memory);
    PoolLease<Native> pool(memory);
    E::ThreadState me(epochs, *pool);
    const auto collect = [&] {
      for (int i = 0; i < 5; ++i) me.collect();
    };
    const std::string text = text_of(1000), small = "small";
    const u64 word = *V::make(*pool, bytes_of(text));
    me.enter();
    std::optional<Pinned<Native>> pinned(std::in_place, word), other(std::in_place, word);
    me.leave();
    const Block block = V::block(word);
    CHECK(V::pinned(block));
    me.retire(block.start, block.bytes);
    collect();
    CHECK(epochs.counters().freed == 0);
    Pinned<Native> moved(*std::move(pinned));
    CHECK(pinned->bytes().empty());  // NOLINT: a handle that was moved from has no bytes
    pinned.reset();
    CHECK((text_in(moved.bytes()) == text));
    std::thread([&] { other.reset(); }).join();
    collect();
    CHECK(epochs.counters().freed == 0);
    moved = Pinned<Native>(*V::make(*pool, bytes_of(small)));
    CHECK(text_in(moved.bytes()) == small);
    collect();
    CHECK(epochs.counters().freed == 1);
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A value is marked as used without a change of its pins, and a short value is not", "[values]") {
  Memory<Native> memory(values_in(Alloc::kMalloc));
  PoolLease<Native> pool(memory);
  const u64 word = *V::make(*pool, bytes_of(text_of(100))), small = *V::make(*pool, bytes_of(text_of(7)));
  const Block block = V::block(word);
  CHECK_FALSE(V::is_used(word));
  CHECK_FALSE(V::clear_used(word));
  V::mark_used(word);
  V::mark_used(word);
  CHECK(V::is_used(word));
  CHECK_FALSE(V::pinned(block));
  {
    const Pinned<Native> one(word);
    CHECK(V::pinned(block));
    CHECK(V::clear_used(word));
    CHECK_FALSE(V::clear_used(word));
    CHECK(V::pinned(block));
    V::mark_used(word);
  }
  CHECK(V::is_used(word));
  CHECK_FALSE(V::pinned(block));
  CHECK(text_in(V::bytes(word)) == text_of(100));
  V::mark_used(small);
  CHECK_FALSE(V::is_used(small));
  CHECK_FALSE(V::clear_used(small));
  V::free(*pool, word);
  CHECK(memory.bytes().live == 0);

  const u64 blank = *V::make_blank(*pool, Tier::kNear, 100);
  CHECK_FALSE(V::is_used(*V::fill(blank, bytes_of(text_of(50)), {})));
  V::free(*pool, blank);
}

TEST_CASE("Threads that pin and replace a value never see one that was freed", "[values]") {
  using E = Epochs<Native, 2, 4, 64, PinnedValues<Native>>;
  Memory<Native> memory(values_in(GENERATE(Alloc::kMalloc, Alloc::kArena)));
  std::atomic<u64> wrong{0};
  {
    E epochs(memory);
    std::atomic<u64> cells[4]{};
    const u64 seed = test_seed();
    const auto uniform = [](ByteSpan bytes) {
      return !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), [&](std::byte b) { return b == bytes[0]; });
    };
    const auto work = [&](u32 number) {
      PoolLease<Native> pool(memory);
      E::ThreadState me(epochs, *pool);
      std::vector<Pinned<Native>> pins;
      for (u32 i = 0; i < 20'000; ++i) {
        const u64 random = draw(seed, number, i);
        std::atomic<u64>& cell = cells[random % 4];
        if (random >> 8 & 1) {
          const u64 size = 1 + (random >> 16) % 100;
          const u64 word = *V::make(*pool, size, [&](std::span<std::byte> to) {
            std::fill(to.begin(), to.end(), static_cast<std::byte>(i));
          });
          // Pairs with itself and with the load below: a thread that finds a word sees its block.
          const u64 old = cell.exchange(word, kAcqRel);
          if (old != 0 && !V::is_short(old)) me.retire(V::block(old).start, V::block(old).bytes);
          continue;
        }
        me.enter();
        if (const u64 word = cell.load(kAcquire); word != 0) {  // pairs with the exchange
          pins.emplace_back(word);
        }
        me.leave();
        if (pins.size() < 20) continue;
        for (const auto& pin : pins) wrong.fetch_add(!uniform(pin.bytes()), kRelaxed);
        pins.clear();
      }
    };
    std::vector<std::thread> threads;
    for (u32 t = 0; t < 4; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
    CHECK(epochs.counters().freed > 0);
    PoolLease<Native> pool(memory);
    for (const auto& cell : cells) {
      if (const u64 word = cell.load(kRelaxed); word != 0) V::free(*pool, word);
    }
  }
  CHECK(wrong.load(kRelaxed) == 0);
  CHECK(memory.bytes().live == 0);
}

}  // namespace
}  // namespace latchlab
