#include "src/memory/numa.h"

#include <numaif.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace latchlab {
namespace {

constexpr u64 kPageBytes = 4096;

/// A placement in the kernel's form.
struct Rule {
  explicit Rule(const PagePlacement& placement) {
    if (placement.kind == PagePlacement::Kind::kInterleave) mode = MPOL_INTERLEAVE;
    if (placement.kind == PagePlacement::Kind::kLocal) {
      unsigned node = 0;
      if (getcpu(nullptr, &node) == 0) add(node);
    } else {
      for (const u32 node : placement.nodes) add(node);
    }
  }
  void add(u32 node) {
    if (node < kMostNodes) nodes[node / 64] |= 1UL << node % 64;
  }

  int mode = MPOL_BIND;
  std::array<unsigned long, kMostNodes / 64> nodes{};
};

constexpr unsigned long kBits = kMostNodes + 1;  // the kernel subtracts one

}  // namespace

bool place_mapping(void* start, u64 bytes, const PagePlacement& placement) {
  if (placement.stays) (void)mlock2(start, bytes, MLOCK_ONFAULT);  // a refusal leaves them where they are, too
  if (placement.kind == PagePlacement::Kind::kFirstTouch) return true;
  const Rule rule(placement);
  return mbind(start, bytes, rule.mode, rule.nodes.data(), kBits, 0) == 0;
}

std::optional<std::string> why_not_placed(const PagePlacement& placement) {
  if (placement.kind == PagePlacement::Kind::kFirstTouch) return std::nullopt;
  void* const page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return std::nullopt;  // memory is out, which is no refusal of placement
  const int error = place_mapping(page, kPageBytes, placement) ? 0 : errno;
  munmap(page, kPageBytes);
  if (error == 0) return std::nullopt;
  return std::string("the kernel does not let this process place memory (mbind: ") + std::strerror(error) + ")";
}

std::vector<u32> nodes_with_memory() {
  std::array<unsigned long, kMostNodes / 64> allowed{};
  if (get_mempolicy(nullptr, allowed.data(), kBits, nullptr, MPOL_F_MEMS_ALLOWED) != 0) return {0};
  std::vector<u32> nodes;
  for (u32 node = 0; node < kMostNodes; ++node) {
    if ((allowed[node / 64] >> node % 64 & 1) != 0) nodes.push_back(node);
  }
  return nodes;
}

std::optional<std::string> why_mbind_refused() {
  void* const page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return std::nullopt;  // memory is out, which is no refusal of placement
  const int error = mbind(page, kPageBytes, MPOL_DEFAULT, nullptr, 0, 0) == 0 ? 0 : errno;
  munmap(page, kPageBytes);
  return error == 0 ? std::nullopt : std::optional<std::string>(std::strerror(error));
}

std::optional<std::string> why_move_pages_refused() {
  int here = 0;
  void* const page = &here;
  return nodes_of(std::span(&page, 1)) ? std::nullopt : std::optional<std::string>(std::strerror(errno));
}

bool place_thread(const PagePlacement& placement) {
  if (placement.kind == PagePlacement::Kind::kFirstTouch) return true;
  const Rule rule(placement);
  return set_mempolicy(rule.mode, rule.nodes.data(), kBits) == 0;
}

std::optional<std::vector<int>> nodes_of(std::span<void* const> pages) {
  std::vector<void*> addresses(pages.begin(), pages.end());
  std::vector<int> nodes(pages.size());
  if (move_pages(0, addresses.size(), addresses.data(), nullptr, nodes.data(), 0) != 0) return std::nullopt;
  std::ranges::for_each(nodes,
                        [](int& node) { node = std::max(node, -1); });  // -ENOENT, or -EFAULT for the shared zero page
  return nodes;
}

}  // namespace latchlab
