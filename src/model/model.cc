#include "src/model/model.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/model/caches.h"
#include "src/model/core.h"
#include "src/model/machine_file.h"

namespace latchlab::model {
namespace {

constexpr u64 kMostFlushedPages = 33;  // beyond these Linux flushes a whole TLB: tlb_single_page_flush_ceiling

std::vector<u32> cores_of(const MachineFile& file, const Placement& threads_on_cpus) {
  const Parameters& p = file.parameters();
  std::vector<u32> cores;
  for (const u32 cpu : threads_on_cpus) {
    if (cpu >= p.all_threads()) {
      throw InputError(fmt::format("machine {}: there is no hardware thread {}; there are 0 to {}", file.name(), cpu,
                                   p.all_threads() - 1));
    }
    cores.push_back(p.core_of_thread(cpu));
  }
  return cores;
}

}  // namespace

struct Model::State {
  struct Thread {
    Strand strand;
    u32 core, cluster;
    Ticks next_timer;
    u64 last_line = 0;            // of its last reference
    u64 lost_to = Lost::kNobody;  // the structure of the conflict that ended its transaction
  };
  struct Core {
    FillBuffers fill_buffers;
    Tags tlb;
  };

  State(const MachineFile& file, const Placement& threads_on_cpus, u64 seed)
      : p(file.parameters()),
        core_of(cores_of(file, threads_on_cpus)),
        caches(p),
        transactions(p, core_of),
        pages(p, seed),
        timer_every(p.kernel.hz == 0 ? 0 : ticks(1e9 / p.kernel.hz)) {
    cores.assign(p.all_cores(), {FillBuffers(p.core.fill_buffers), Tags(p.tlb.l2 / p.tlb.ways, p.tlb.ways)});
    // Several threads on one hardware thread would be descheduled in turn; here they only share the core.
    std::vector<u32> on_core(p.all_cores());
    std::vector<u32> active(p.topology.sockets);
    for (const u32 core : core_of) {
      if (on_core[core]++ == 0) ++active[socket_of(core)];
    }
    for (u32 i = 0; i < core_of.size(); ++i) {
      const u32 core = core_of[i];
      threads.push_back({.strand = Strand(p, on_core[core] > 1, active[socket_of(core)]),
                         .core = core,
                         .cluster = p.cluster_of_core(core),
                         .next_timer = timer_every * (threads_on_cpus[i] + 1) / p.all_threads()});
    }
  }

  u32 socket_of(u32 core) const { return p.socket_of_cluster(p.cluster_of_core(core)); }

  Account& start_call(u32 number, Ticks now) {
    start_call();
    Account& account = threads[number].strand.account();
    account.at(now);
    return account;
  }
  void start_call() {
    transactions.forget_ended();
    caches.forget_evictions();
  }

  /// Runs what the kernel does by the clock. Returns the clock after it; false if it has ended the transaction.
  bool by_the_clock(u32 number, Ticks& now) {
    while (const Pages::Page* const marked = pages.next_mark(now)) {
      for (Core& core : cores) core.tlb.erase(marked->tag());
    }
    Thread& thread = threads[number];
    if (timer_every == 0 || now < thread.next_timer) return true;
    thread.next_timer += ((now - thread.next_timer) / timer_every + 1) * timer_every;
    now += ticks(p.kernel.timer_ns);
    thread.strand.account().charge(Cause::kTimer, ticks(p.kernel.timer_ns));
    return !trapped(number);
  }
  /// Ends the transaction of a thread that enters the kernel; returns false if it runs none.
  bool trapped(u32 number) {
    if (!transactions.running(number)) return false;
    transactions.end(number, 0);
    return true;
  }

  /// Returns the ticks of the page walk, having handled a fault; false if the reference does not take place.
  bool translate(const Reference& r, u64 address, Ticks& now, Ticks& walk) {
    Thread& thread = threads[r.thread];
    Tags& tlb = cores[thread.core].tlb;
    walk = 0;
    if (tlb.use(tag_of(address, kSmallPageBits)) || (pages.any_huge() && tlb.use(tag_of(address, kHugePageBits))))
      return true;
    Pages::Page& page = pages.at(address, thread.cluster);
    if (!page.present || page.marked) {
      if (r.kind == Kind::kPrefetch || (r.in_transaction && trapped(r.thread))) return false;
      const bool clears = !page.present;
      now = thread.strand.drain(now);
      const Ticks after = pages.fault(page, thread.cluster, now);
      thread.strand.account().charge(Cause::kSpaceLock, pages.waited());
      thread.strand.account().charge(Cause::kFaults, after - now - pages.waited());
      now = after;
      if (clears) cleared(thread, page, address);
    }
    walk = ticks(p.tlb.walk_ns);
    tlb.insert(page.tag());
    return true;
  }

  /// Leaves the lines of a new page in the caches of the core that has cleared it. The kernel clears a huge page part
  /// by part, that of the address last, so what is left of it are the lines of that part.
  void cleared(const Thread& thread, const Pages::Page& page, u64 address) {
    constexpr u64 kLines = (1 << kSmallPageBits) / kLineBytes;
    const u64 first = (address >> kSmallPageBits) * kLines;
    for (u64 line = first; line < first + kLines; ++line) caches.place(thread.core, line, {page.home, false});
  }

  Ticks reference_line(const Reference& r, u64 line, Ticks now, Ticks walk) {
    Thread& thread = threads[r.thread];
    Core& core = cores[thread.core];
    Strand& strand = thread.strand;
    const bool writes = r.kind == Kind::kStore || r.kind == Kind::kReadModifyWrite;
    Ticks start = now;
    if (r.kind == Kind::kReadModifyWrite) {
      now = start = strand.drain(now);
    } else if (r.kind != Kind::kPrefetch) {
      const Strand::Issued issued = strand.address_known(r.block, now);
      now = issued.clock;
      start = issued.start;
    }
    thread.last_line = line;
    const bool hit = caches.hit(thread.core, line, writes);
    Arrival arrival;
    if (hit) {
      arrival = start + walk + ticks(p.l1.ns);
      const Arrival* const coming = core.fill_buffers.arrival_of(line);
      if (coming != nullptr && coming->at > arrival.at) {
        arrival = *coming;
      } else {
        arrival.walk = static_cast<u32>(walk);
        arrival.source = static_cast<u32>(ticks(p.l1.ns));
      }
    } else {
      const Pages::Page& page = pages.at(line * kLineBytes, thread.cluster);
      const Ticks buffered = core.fill_buffers.free_from(start + walk);
      const Ticks took = caches.miss(thread.core, line, writes, {page.home, page.loaded_from_afar}, buffered);
      arrival = caches.last_miss();
      arrival.at = buffered + took;
      arrival.line = line;
      arrival.walk = static_cast<u32>(walk);
      arrival.buffer = static_cast<u32>(buffered - start - walk);
      core.fill_buffers.take(arrival);
      if (arrival.shared) hot_lines.fetched(line, r.thread, writes);
    }
    switch (r.kind) {
      case Kind::kLoad: strand.loads(arrival, !hit); break;
      case Kind::kStore: strand.stores(arrival); break;
      case Kind::kReadModifyWrite:
        strand.account().wait(arrival, now, arrival.at);
        strand.account().charge(Cause::kLocked, ticks(p.core.atomic_ns));
        now = arrival.at + ticks(p.core.atomic_ns);
        strand.loads(now, false);
        break;
      case Kind::kPrefetch: break;
    }
    if (r.in_transaction && transactions.running(r.thread)) {
      if (writes) {
        transactions.writes(r.thread, line);
      } else if (r.kind == Kind::kLoad) {
        transactions.reads(r.thread, line);
      }
    }
    return now;
  }

  void end_by_capacity() {
    for (const Caches::Gone& gone : caches.gone_from_l1()) transactions.gone_from_l1(gone.from, gone.line);
    for (const Caches::Gone& gone : caches.gone_from_l3()) transactions.gone_from_l3(gone.from, gone.line);
  }

  const Parameters p;
  const std::vector<u32> core_of;  // by thread
  std::vector<Thread> threads;
  std::vector<Core> cores;
  Caches caches;
  Transactions transactions;
  Pages pages;
  HotLines hot_lines;
  std::vector<Lost> by_cause, by_structure;
  const Ticks timer_every;  // 0: never
};

Model::Model(const MachineFile& file, const Placement& threads_on_cpus, u64 seed)
    : state_(std::make_unique<State>(file, threads_on_cpus, seed)) {
  restart_account(0);
}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Ticks Model::access(const Reference& reference, const Ticks now) {
  State& s = *state_;
  s.start_call(reference.thread, now);
  Ticks clock = now;
  if (!s.by_the_clock(reference.thread, clock)) return clock - now;
  Strand& strand = s.threads[reference.thread].strand;
  const u64 last = (reference.address + reference.bytes - 1) / kLineBytes;
  for (u64 line = reference.address / kLineBytes; line <= last; ++line) {
    clock = strand.issue(s.p.core.per_reference, clock);
    Ticks walk = 0;
    if (!s.translate(reference, line * kLineBytes, clock, walk)) return clock - now;
    clock = s.reference_line(reference, line, clock, walk);
  }
  s.end_by_capacity();
  return clock - now;
}

Ticks Model::begin(u32 thread, const Ticks now) {
  State& s = *state_;
  Account& account = s.start_call(thread, now);
  account.begin();
  Ticks clock = now;
  (void)s.by_the_clock(thread, clock);
  s.transactions.begin(thread);
  clock = s.threads[thread].strand.drain(clock);
  account.charge(Cause::kTransactions, ticks(s.p.htm.begin));
  return clock + ticks(s.p.htm.begin) - now;
}

Ticks Model::commit(u32 thread, const Ticks now) {
  State& s = *state_;
  Account& account = s.start_call(thread, now);
  Ticks clock = now;
  if (!s.by_the_clock(thread, clock)) return clock - now;
  s.transactions.finish(thread);
  clock = s.threads[thread].strand.drain(clock);
  account.charge(Cause::kTransactions, ticks(s.p.htm.commit));
  account.commit();
  return clock + ticks(s.p.htm.commit) - now;
}

void Model::conflict(u32 loser, u64 address, u64 structure, u32 thread) {
  state_->threads[loser].lost_to = structure;
  state_->hot_lines.conflict(address / kLineBytes, thread);
}

void Model::undone(u32 thread, u32 status, const Ticks now) {
  State& s = *state_;
  const Ticks lost = s.threads[thread].strand.account().undone(now);
  add_lost(s.by_cause, static_cast<u64>(classify(status)), lost);
  const u64 structure = std::exchange(s.threads[thread].lost_to, Lost::kNobody);
  if (structure != Lost::kNobody) add_lost(s.by_structure, structure, lost);
  for (const u64 line : s.transactions.written(thread)) s.caches.drop(s.threads[thread].core, line);
  s.transactions.finish(thread);
  s.threads[thread].strand.forget();
}

Ticks Model::abort(u32 thread, const Ticks now) {
  return spend(thread, Cause::kAborted, ticks(state_->p.htm.abort), now);
}

Ticks Model::spend(u32 thread, Cause cause, Ticks took, const Ticks now) {
  state_->start_call(thread, now).charge(cause, took);
  return took;
}

Ticks Model::begin_operation(u32 thread, const Ticks now) {
  State& s = *state_;
  s.start_call(thread, now);
  Ticks clock = now;
  if (!s.by_the_clock(thread, clock)) return clock - now;
  Strand& strand = s.threads[thread].strand;
  strand.next_operation();
  return strand.issue(s.p.core.per_operation, clock) - now;
}

Ticks Model::fence(u32 thread, const Ticks now) {
  state_->start_call(thread, now);
  return state_->threads[thread].strand.drain(now) - now;
}

Ticks Model::wake(u32 thread, Ticks asleep, Ticks stored) {
  // Each waiter looks at its own moments. Otherwise all would notice at once, and the least thread number would win.
  const Ticks turn = std::max<Ticks>(1, ticks(state_->p.l1.ns));
  const Ticks awake = stored <= asleep ? asleep : asleep + (stored - asleep + turn - 1) / turn * turn;
  State::Thread& sleeper = state_->threads[thread];
  sleeper.strand.account().at(asleep);
  sleeper.strand.account().sleep(sleeper.last_line, awake);
  return awake;
}

Ticks Model::trap(u32 thread, Call, const Ticks now) {
  State& s = *state_;
  Account& account = s.start_call(thread, now);
  if (s.trapped(thread)) return 0;
  const Ticks clock = s.threads[thread].strand.drain(now);
  const Ticks after = s.pages.call(clock);
  account.charge(Cause::kSpaceLock, s.pages.waited());
  account.charge(Cause::kSystemCalls, after - clock - s.pages.waited());
  return after - now;
}

void Model::restart_account(const Ticks now) {
  State& s = *state_;
  for (u32 i = 0; i < s.threads.size(); ++i) s.threads[i].strand.account().restart(i, &s.hot_lines, now);
  s.hot_lines.clear();
  s.by_cause.clear();
  s.by_structure.clear();
}

void Model::end_account(const Ticks now) {
  for (State::Thread& thread : state_->threads) thread.strand.account().end(now);
}

std::vector<Times> Model::times() const {
  std::vector<Times> all;
  for (State::Thread& thread : state_->threads) all.push_back(thread.strand.account().times());
  return all;
}
const std::vector<Lost>& Model::lost_by_cause() const { return state_->by_cause; }
const std::vector<Lost>& Model::lost_by_structure() const { return state_->by_structure; }
std::vector<HotLine> Model::hottest(u64 most) const { return state_->hot_lines.hottest(most); }

std::span<const Ended> Model::ended() const { return state_->transactions.ended(); }

void Model::mapped(u64 address, u64 bytes, Homes homes, bool huge) { state_->pages.map(address, bytes, homes, huge); }

void Model::unmapped(u64 address, u64 bytes) {
  State& s = *state_;
  s.pages.unmap(address, bytes);
  for (State::Core& core : s.cores) {
    if (bytes >> kSmallPageBits > kMostFlushedPages) {
      core.tlb.clear();
      continue;
    }
    for (u64 at = address; at < address + bytes; at += u64{1} << kSmallPageBits) {
      core.tlb.erase(tag_of(at, kSmallPageBits));
      core.tlb.erase(tag_of(at, kHugePageBits));
    }
  }
}

u32 Model::node(u32 thread) const { return state_->threads[thread].cluster; }

void Model::loaded(u32 thread, u64 address, u64 bytes) {
  State& s = *state_;
  const u32 cluster = s.threads[thread].cluster;
  for (u64 at = address; at < address + bytes;) {
    Pages::Page& page = s.pages.at(at, cluster);
    s.pages.load(page, cluster);
    at = (page.number << kSmallPageBits) + page.bytes();
  }
}

}  // namespace latchlab::model
