#include "src/model/pages.h"

#include <bit>

namespace latchlab::model {

Pages::Pages(const Parameters& p, u64 seed)
    : clusters_(p.all_clusters()),
      fault_(ticks(p.kernel.fault_ns)),
      protect_(ticks(p.kernel.mprotect_ns)),
      mark_(ticks(p.kernel.mark_ns)),
      clear_per_byte_(p.kernel.clear_ns_per_byte * kTicksPerNs),
      ticks_per_mark_(p.kernel.marks_per_s == 0 ? 0 : 1e9 * kTicksPerNs / p.kernel.marks_per_s),
      period_(p.kernel.mark_period_ms * 1e6 * kTicksPerNs),
      last_mark_(p.kernel.marks_after_ms * 1e6 * kTicksPerNs),
      seed_(seed),
      table_(1 << 12, Page{.number = kNoPage, .bits = kSmallPageBits}) {}

void Pages::map(u64 address, u64 bytes, Homes homes, bool huge) {
  unmap(address, bytes);
  any_huge_ |= huge;
  const auto after = std::ranges::upper_bound(mappings_, address, {}, &Mapping::first);
  mappings_.insert(after, {address, address + bytes, homes, huge});
}

void Pages::unmap(u64 address, u64 bytes) {
  const u64 end = address + bytes;
  std::vector<Mapping> kept;
  kept.reserve(mappings_.size() + 2);
  for (const Mapping& mapping : mappings_) {
    if (mapping.last <= address || mapping.first >= end) {
      kept.push_back(mapping);
      continue;
    }
    if (mapping.first < address) kept.push_back({mapping.first, address, mapping.homes, mapping.huge});
    if (mapping.last > end) kept.push_back({end, mapping.last, mapping.homes, mapping.huge});
  }
  mappings_ = std::move(kept);
  // Entries stay in the table, untouched: open addressing has no holes.
  const auto forget = [](Page& page) { page.present = page.marked = page.loaded_from_afar = false; };
  const u64 first = address >> kSmallPageBits;
  const u64 last = (end + (1 << kSmallPageBits) - 1) >> kSmallPageBits;
  if (last - first > table_.size()) {
    for (Page& page : table_) {
      if (page.number >= first && page.number < last) forget(page);
    }
    return;
  }
  for (u64 number = first; number < last; ++number) {
    Page& page = table_[slot_of(number)];
    if (page.number == number) forget(page);
  }
}

const Pages::Mapping* Pages::mapping_of(u64 address) const {
  const auto after = std::ranges::upper_bound(mappings_, address, {}, &Mapping::first);
  if (after == mappings_.begin()) return nullptr;
  const Mapping& before = *(after - 1);
  return address < before.last ? &before : nullptr;
}

u64 Pages::slot_of(u64 number) const {
  const u64 mask = table_.size() - 1;
  u64 at = mix64(number) & mask;
  while (table_[at].number != kNoPage && table_[at].number != number) at = (at + 1) & mask;
  return at;
}

void Pages::grow() {
  std::vector<Page> old =
      std::exchange(table_, std::vector<Page>(table_.size() * 2, Page{.number = kNoPage, .bits = kSmallPageBits}));
  for (const Page& page : old) {
    if (page.number != kNoPage) table_[slot_of(page.number)] = page;
  }
}

Pages::Page& Pages::at(u64 address, u32 cluster) {
  const u64 small = address >> kSmallPageBits;
  const u64 huge = address >> kHugePageBits << (kHugePageBits - kSmallPageBits);
  if (Page& found = table_[slot_of(small)]; found.number == small && found.present) return found;
  if (any_huge_) {
    Page& found = table_[slot_of(huge)];
    if (found.number == huge && found.present && found.bits == kHugePageBits) return found;
  }
  const Mapping* const mapping = mapping_of(address);
  const bool is_huge = mapping != nullptr && mapping->huge;
  if (used_ * 3 >= table_.size() * 2) grow();
  Page& page = table_[slot_of(is_huge ? huge : small)];
  if (page.number == kNoPage) ++used_;
  page.number = is_huge ? huge : small;
  page.bits = is_huge ? kHugePageBits : kSmallPageBits;
  if (mapping == nullptr) {
    page.home = static_cast<u8>(cluster);
    page.present = true;
  }
  return page;
}

/// Returns the home that a page gets by its mapping when a thread of this cluster touches it.
u8 Pages::home_of(const Page& page, const Mapping* mapping, u32 cluster) const {
  if (mapping == nullptr || mapping->homes.kind <= Homes::Kind::kLocal) return static_cast<u8>(cluster);
  const u64 all = (u64{1} << clusters_) - 1;
  u64 allowed = mapping->homes.clusters & all;
  if (allowed == 0) allowed = all;
  if (mapping->homes.kind == Homes::Kind::kInterleave) {
    // Page by page, in the order of addresses, as Linux interleaves a mapping.
    const u64 nth = (page.number << kSmallPageBits >> page.bits) % static_cast<u64>(std::popcount(allowed));
    for (u64 i = 0; i < nth; ++i) allowed &= allowed - 1;
  }
  return static_cast<u8>(std::countr_zero(allowed));
}

void Pages::touched(Page& page, u32 cluster) {
  const Mapping* const mapping = mapping_of(page.number << kSmallPageBits);
  page.home = home_of(page, mapping, cluster);
  page.present = true;
  page.markable = mapping == nullptr || mapping->homes.kind == Homes::Kind::kFirstTouch;
  if (page.markable && !page.listed) {
    page.listed = true;
    may_be_marked_.push_back({page.number, page.small_pages()});
    markable_ += page.small_pages();
    next_mark_ = 0;  // more pages, more marks
  }
}

Ticks Pages::fault(Page& page, u32 cluster, Ticks now) {
  const Ticks start = std::max(now, writer_until_);
  waited_ = start - now;
  Ticks took = mark_;
  if (!page.present) {
    touched(page, cluster);
    took = fault_ + static_cast<Ticks>(clear_per_byte_ * static_cast<double>(page.bytes()));
  }
  page.marked = false;
  readers_until_ = std::max(readers_until_, start + took);
  return start + took;
}

void Pages::load(Page& page, u32 cluster) {
  last_mark_ = next_mark_ = 0;
  if (!page.present) touched(page, cluster);
  if (page.home != cluster) page.loaded_from_afar = true;
}

Ticks Pages::call(Ticks now) {
  const Ticks start = std::max({now, writer_until_, readers_until_});
  waited_ = start - now;
  writer_until_ = start + protect_;
  return writer_until_;
}

/// Returns the page whose turn it is to be marked, or null if none may be.
Pages::Page* Pages::under_hand() {
  while (!may_be_marked_.empty()) {
    if (hand_ == kNoPage) hand_ = bounded(draw(seed_, 0, 0), may_be_marked_.size());
    if (hand_ >= may_be_marked_.size()) hand_ = 0;
    Page& page = table_[slot_of(may_be_marked_[hand_].number)];
    if (page.present && page.markable) return &page;
    // It has been unmapped since, and perhaps mapped with a placement.
    page.listed = false;
    markable_ -= may_be_marked_[hand_].small_pages;
    may_be_marked_[hand_] = may_be_marked_.back();
    may_be_marked_.pop_back();
  }
  return nullptr;
}

const Pages::Page* Pages::next_mark(Ticks now) {
  if (ticks_per_mark_ == 0 || static_cast<double>(now) < next_mark_) return nullptr;
  while (Page* const page = under_hand()) {
    const double each = std::max(ticks_per_mark_, period_ / static_cast<double>(markable_));
    next_mark_ = last_mark_ + each * static_cast<double>(page->small_pages());
    if (static_cast<double>(now) < next_mark_) return nullptr;
    last_mark_ = next_mark_;
    ++hand_;
    if (page->marked) continue;
    page->marked = true;
    return page;
  }
  last_mark_ = std::max(last_mark_, static_cast<double>(now));  // what nobody could mark is not made up for
  return nullptr;
}

}  // namespace latchlab::model
