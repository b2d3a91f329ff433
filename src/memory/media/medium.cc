#include "src/memory/media/medium.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"
#include "src/memory/media/memkind_pages.h"
#include "src/memory/numa.h"

namespace latchlab {

Medium::Medium(const MediumOptions& options, std::string_view what) : options_(options) {
  const std::string named = fmt::format("{} {}", what, options.str());
  if (options_.kind == MediumKind::kFile) pages_ = memkind_pages(options_.path, options_.size, named);
  if (options_.kind == MediumKind::kNode) {
    const std::vector<u32> nodes = nodes_with_memory();
    if (std::ranges::find(nodes, options_.node) == nodes.end()) {
      throw NoRoom(fmt::format("{}: this machine has no node {} with memory; it has {}", named, options_.node,
                               fmt::join(nodes, ", ")));
    }
    if (const auto why = why_not_placed({.kind = PagePlacement::Kind::kBind, .nodes = {options_.node}}))
      throw NoRoom(fmt::format("{}: {}", named, *why));
  }
}

Medium::~Medium() = default;

MemoryConfig Medium::memory(MemoryConfig base) const {
  if (base.alloc == MemoryConfig::Alloc::kMalloc) base.alloc = MemoryConfig::Alloc::kArena;
  base.limit = MemoryBudget(options_.size);
  base.source = pages_.get();
  if (options_.kind == MediumKind::kNode)
    base.pages = {.kind = PagePlacement::Kind::kBind, .nodes = {options_.node}, .stays = true};
  return base;
}

}  // namespace latchlab
