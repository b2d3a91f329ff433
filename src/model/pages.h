#pragma once
// The pages of the address space: their homes, the faults that fill them, the marks of NUMA balancing, and the lock
// that faults and system calls take.
//
//     untouched --first touch--> present --mark--> marked --next touch--> present
//         |  a fault, which clears the page          |  a fault, which clears nothing
//
// The lock is the kernel's mmap_sem: a fault holds it for reading, mprotect and mmap for writing. Writers wait for all
// holders; a reader waits for writers that came before it, even for those that still wait.
//
// Only pages of mappings without a placement of their own are marked. Linux leaves out the others, since they are where
// the program wants them (vma_policy_mof in task_numa_work of kernel/sched/fair.c, since 3.13). A large page counts as
// the small ones in it. The first mark comes some time after the program began. Marks go round over the pages, from one
// that the seed decides, and come back to a page after a period at the earliest (task_scan_min).
//
// Memory that was never mapped is present, at home with its first user: stacks and globals need no fault.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/base/types.h"
#include "src/model/parameters.h"

namespace latchlab::model {

inline constexpr u32 kSmallPageBits = 12;
inline constexpr u32 kHugePageBits = 21;

/// Returns the tag in a TLB of the page of this size at an address. Neighbours are in neighbouring sets.
[[nodiscard]] constexpr u64 tag_of(u64 address, u32 page_bits) {
  return address >> page_bits | u64{page_bits == kHugePageBits} << 63;
}

/// The homes of the pages of a mapping.
struct Homes {
  enum class Kind : u8 { kFirstTouch, kLocal, kInterleave, kBind } kind = Kind::kFirstTouch;
  u64 clusters = 0;  ///< a bit each; only these are used by kInterleave and kBind (the lowest). 0: all
};

class Pages {
 public:
  struct Page {
    u64 number;  ///< of 4 KiB: the first one of a huge page
    u32 bits;    ///< kSmallPageBits or kHugePageBits
    u8 home = 0;
    bool present = false, marked = false;
    bool markable = false;          ///< its mapping has no placement of its own
    bool listed = false;            ///< in may_be_marked_, perhaps by an earlier mapping
    bool loaded_from_afar = false;  ///< a thread of another cluster than the home's wrote it outside virtual time
    [[nodiscard]] u64 bytes() const { return u64{1} << bits; }
    [[nodiscard]] u64 small_pages() const { return bytes() >> kSmallPageBits; }
    /// Returns the tag of the page in a TLB.
    [[nodiscard]] u64 tag() const { return tag_of(number << kSmallPageBits, bits); }
  };

  Pages(const Parameters& p, u64 seed);

  void map(u64 address, u64 bytes, Homes homes, bool huge);
  /// O(pages that are known), and O(mappings).
  void unmap(u64 address, u64 bytes);
  /// Returns true if some mapping had huge pages.
  [[nodiscard]] bool any_huge() const { return any_huge_; }
  /// Returns the page of an address, as a thread of this cluster finds it. A later call may move it.
  Page& at(u64 address, u32 cluster);
  /// Makes an untouched page present, as `cluster` touches it, or removes a mark. Returns the clock after the fault.
  Ticks fault(Page& page, u32 cluster, Ticks now);
  /// Makes a page present outside virtual time. Marks then come from the start of virtual time: loading took longer
  /// than the kernel waits for the first.
  void load(Page& page, u32 cluster);
  /// Returns the clock after a system call that holds the lock for writing.
  Ticks call(Ticks now);
  /// Returns for how long the last fault() or call() waited for the lock.
  [[nodiscard]] Ticks waited() const { return waited_; }
  /// Returns the next page that NUMA balancing has marked by now, or null. Call until it is null.
  const Page* next_mark(Ticks now);

 private:
  struct Mapping {
    u64 first, last;  // bytes [first, last)
    Homes homes;
    bool huge;
  };
  static constexpr u64 kNoPage = ~u64{0};
  const Mapping* mapping_of(u64 address) const;
  u8 home_of(const Page& page, const Mapping* mapping, u32 cluster) const;
  u64 slot_of(u64 number) const;
  void grow();
  void touched(Page& page, u32 cluster);
  Page* under_hand();

  u32 clusters_;
  Ticks fault_, protect_, mark_;
  double clear_per_byte_;  // ticks
  double ticks_per_mark_;  // 0: none
  double period_;          // ticks between two marks of a page, at least
  double last_mark_;       // ticks: the next mark comes after it, by as long as its pages take
  double next_mark_ = 0;   // ticks: no mark comes before
  u64 seed_;
  std::vector<Mapping> mappings_;  // by address
  std::vector<Page> table_;        // open addressing by number
  u64 used_ = 0;
  struct Markable {
    u64 number, small_pages;
  };
  std::vector<Markable> may_be_marked_;  // pages that are present, or were, and are where their first user was
  u64 markable_ = 0;                     // pages of 4 KiB in them
  u64 hand_ = kNoPage;                   // in may_be_marked_: the next page; kNoPage before the first mark
  bool any_huge_ = false;
  Ticks writer_until_ = 0, readers_until_ = 0, waited_ = 0;
};

}  // namespace latchlab::model
