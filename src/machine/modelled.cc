#include "src/machine/modelled.h"

namespace latchlab {
namespace {

/// The pages of the modelled memory. Like the kernel's, each call is an entry into the kernel.
class ModelledPages final : public PageSource {
 public:
  bool grants_huge_pages() override { return true; }

  Mapping map(u64 bytes, bool huge, const PagePlacement& placement) override {
    ModelledWorld& world = ModelledWorld::get();
    world.trap(KernelCall::kMap);
    void* const start = world.memory().map(bytes, huge ? kHugePageBytes : kSmallPageBytes);
    if (start != nullptr) world.mapped(start, bytes, huge, placement);
    return {start, huge && start != nullptr};
  }
  void populate(void* start, u64 bytes) override {
    for (u64 offset = 0; offset < bytes; offset += kSmallPageBytes) {
      ModelledWorld::get().touch(static_cast<char*>(start) + offset, 1, Access::kWrite);
    }
  }
  void unmap(void* start, u64 bytes) override {
    ModelledWorld& world = ModelledWorld::get();
    world.trap(KernelCall::kMap);
    world.unmapped(start, bytes);
    world.memory().unmap(start, bytes);
  }
  void* reserve(u64 bytes) override {
    ModelledWorld::get().trap(KernelCall::kMap);
    return ModelledWorld::get().memory().map(bytes, kHugePageBytes);
  }
  bool commit(void* start, u64 bytes, bool huge, const PagePlacement& placement) override {
    ModelledWorld::get().trap(KernelCall::kProtect);
    ModelledWorld::get().mapped(start, bytes, huge, placement);
    return true;
  }
};

}  // namespace

PageSource* Modelled::pages() {
  static constinit ModelledPages pages;
  return &pages;
}

}  // namespace latchlab
