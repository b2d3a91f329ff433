#include "src/machine/foreign_lines.h"

namespace latchlab {

u64 ForeignLines::slot_of(u64 address) const {
  u64 at = (address * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1);
  while (slots_[at].address1 != 0 && slots_[at].address1 != address + 1) at = (at + 1) & (slots_.size() - 1);
  return at;
}

std::optional<u32> ForeignLines::find(u64 address) const {
  const Slot& slot = slots_[slot_of(address)];
  return slot.address1 != 0 ? std::optional(slot.number) : std::nullopt;
}

u32 ForeignLines::number(u64 address) {
  u64 at = slot_of(address);
  if (slots_[at].address1 != 0) return slots_[at].number;
  if (used_.size() * 2 >= slots_.size()) {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    used_.clear();
    for (const Slot& slot : old) {
      if (slot.address1 == 0) continue;
      const u64 to = slot_of(slot.address1 - 1);
      slots_[to] = slot;
      used_.push_back(static_cast<u32>(to));
    }
    at = slot_of(address);
  }
  const u32 number = static_cast<u32>(used_.size() % most_);
  slots_[at] = {address + 1, number};
  used_.push_back(static_cast<u32>(at));
  return number;
}

void ForeignLines::clear() {
  for (const u32 slot : used_) slots_[slot] = {};
  used_.clear();
}

}  // namespace latchlab
