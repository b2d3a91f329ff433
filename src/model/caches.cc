#include "src/model/caches.h"

#include <algorithm>
#include <bit>

namespace latchlab::model {
namespace {

Tags tags_of(double bytes, u32 ways) {
  return Tags(static_cast<u64>(bytes / (ways * static_cast<double>(kLineBytes))), ways);
}

template <class Visit>
void for_each_bit(u64 bits, Visit&& visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<u32>(std::countr_zero(bits)));
}

}  // namespace

Caches::Caches(const Parameters& parameters)
    : p_(parameters),
      l3_(p_.all_clusters(), tags_of(p_.l3.mb_per_cluster * 1048576, p_.l3.ways)),
      channels_(p_.all_clusters(), Queue(p_.dram.gbps_per_cluster)),
      links_(u64{p_.topology.sockets} * p_.topology.sockets, Queue(p_.qpi.gbps)) {
  for (u32 core = 0; core < p_.all_cores(); ++core) {
    cluster_of_.push_back(p_.cluster_of_core(core));
    cores_.push_back({tags_of(p_.l1.kb * 1024, p_.l1.ways), tags_of(p_.l2.kb * 1024, p_.l2.ways)});
  }
}

bool Caches::hit(u32 core, u64 line, bool writes) {
  if (!cores_[core].l1.use(line)) return false;
  if (!writes) return true;
  Line* const found = directory_.find(line);
  if (found == nullptr || !found->owned_by(core)) return false;
  wrote(*found, core);
  return true;
}

Ticks Caches::miss(u32 core, u64 number, bool writes, Home home, Ticks start) {
  now_ = start;
  Private& own = cores_[core];
  Line& line = directory_.at(number, home.cluster, home.snoop_all);
  if (line.holders == 0 && line.l3s == 0) line.home = home.cluster & 15;  // its page may be another one now
  const u32 cluster = cluster_of(core);
  // A transfer of ownership is followed by the next one.
  const Ticks begin = std::max<Ticks>(start, line.busy);
  const bool in_l1 = own.l1.has(number);
  const bool in_l2 = own.l2.use(number);
  const bool was_owner = line.owned_by(core);
  const bool moves = line.owner1 != 0 && !was_owner;
  const bool contended = moves || (writes && (line.holders & ~(u64{1} << core)) != 0);
  last_.channel = last_.link = 0;
  Ticks took = in_l1 ? after(Cause::kL1, p_.l1.ns) : in_l2 ? after(Cause::kL2, p_.l2.ns) : fetch(line, core, begin);
  if (writes) {
    if (!was_owner) {
      // An upgrade asks the own L3 at least.
      const auto [message, from] = std::max(std::pair(ticks(p_.l3.ns), Cause::kL3), invalidation(line, core));
      if (message > took) {
        took = message;
        last_.from = from;
        last_.channel = last_.link = 0;
      }
    }
    take_for_writing(line, core);
  } else {
    if (moves) line.no_owner();
    const u64 bit = u64{1} << core;
    if (line.owner1 == 0 && (line.holders & ~bit) == 0 && (line.l3s & ~(1u << cluster)) == 0) line.set_owner(core);
    line.holders |= bit;
  }
  if (line.home != cluster) line.snoop_all = 1;
  if (contended) line.busy = begin + took;
  if (!in_l1) fill(core, number);
  last_.transfer = static_cast<u32>(begin - start);
  last_.source = static_cast<u32>(took - last_.channel - last_.link);
  last_.shared = contended || begin > start;
  return begin - start + took;
}

void Caches::place(u32 core, u64 number, Home home) {
  Line& line = directory_.at(number, home.cluster, home.snoop_all);
  if (line.holders == 0 && line.l3s == 0) line.home = home.cluster & 15;
  take_for_writing(line, core);
  if (!cores_[core].l1.has(number)) fill(core, number);
}

Ticks Caches::fetch(Line& line, u32 core, Ticks start) {
  const u32 cluster = cluster_of(core);
  if (line.owner1 != 0) return from_core(line, static_cast<u32>(line.owner1) - 1, cluster, start);
  if (line.l3s >> cluster & 1) {
    (void)l3_[cluster].use(line.number);
    return after(Cause::kL3, p_.l3.ns);
  }
  // A core of the same cluster has it, and a victim L3 has not.
  u64 clusters = line.l3s;
  for_each_bit(line.holders, [&](u32 holder) { clusters |= u64{1} << cluster_of(holder); });
  if (clusters >> cluster & 1) return after(Cause::kOwnCluster, p_.l3.exclusive_elsewhere);
  Distance nearest = Distance::kLocal;
  u32 source = cluster;
  for_each_bit(clusters, [&](u32 other) {
    const Distance distance = p_.distance(cluster, other);
    if (nearest == Distance::kLocal || distance < nearest) {
      nearest = distance;
      source = other;
    }
  });
  switch (nearest) {
    case Distance::kLocal: return from_memory(line, cluster, start);
    case Distance::kCluster: return after(Cause::kOtherCluster, p_.cluster.l3);
    case Distance::kSocket: return after(Cause::kOtherSocket, p_.socket.l3) + through_link(source, cluster, start);
  }
  return 0;
}

Ticks Caches::from_core(const Line& line, u32 owner, u32 cluster, Ticks start) {
  const u32 source = cluster_of(owner);
  const bool written = line.written;
  switch (p_.distance(cluster, source)) {
    case Distance::kLocal:
      return after(Cause::kOwnCluster, written ? p_.l3.modified_elsewhere : p_.l3.exclusive_elsewhere);
    case Distance::kCluster: return after(Cause::kOtherCluster, written ? p_.cluster.modified : p_.cluster.l3);
    case Distance::kSocket:
      return after(Cause::kOtherSocket, written ? p_.socket.modified : p_.socket.l3) +
             through_link(source, cluster, start);
  }
  return 0;
}

Ticks Caches::from_memory(Line& line, u32 cluster, Ticks start) {
  const u32 home = static_cast<u32>(line.home);
  const bool snoops = p_.home.stale_directory && line.snoop_all;
  line.dirty = 0;
  Ticks took = channels_[home].take(start);
  last_.channel = static_cast<u32>(took);
  last_.from = home == cluster ? Cause::kDramNear : Cause::kDramFar;
  switch (p_.distance(cluster, home)) {
    case Distance::kLocal: return took + ticks(p_.dram.local + (snoops ? p_.home.snoop_local : 0));
    case Distance::kCluster: return took + ticks(p_.dram.cluster + (snoops ? p_.home.snoop_cluster : 0));
    case Distance::kSocket:
      took += through_link(home, cluster, start + took);
      return took + ticks(p_.dram.socket + (snoops ? p_.home.snoop_socket : 0));
  }
  return took;
}

/// Returns the ticks of the message to the farthest holder but the core itself, and of its answer, and where that is; 0
/// ticks if there is none.
std::pair<Ticks, Cause> Caches::invalidation(const Line& line, u32 core) const {
  const u32 cluster = cluster_of(core);
  u64 clusters = line.l3s & ~(u64{1} << cluster);
  bool near = false;
  for_each_bit(line.holders & ~(u64{1} << core), [&](u32 holder) {
    near |= cluster_of(holder) == cluster;
    clusters |= u64{1} << cluster_of(holder);
  });
  clusters &= ~(u64{1} << cluster);
  std::pair longest(near ? ticks(p_.l3.exclusive_elsewhere) : Ticks{0}, Cause::kOwnCluster);
  for_each_bit(clusters, [&](u32 other) {
    const bool in_socket = p_.distance(cluster, other) == Distance::kCluster;
    longest = std::max(longest, std::pair(ticks(in_socket ? p_.cluster.l3 : p_.socket.l3),
                                          in_socket ? Cause::kOtherCluster : Cause::kOtherSocket));
  });
  return longest;
}

Ticks Caches::over_link(u32 from_cluster, u32 to_cluster, Ticks start) {
  const u32 from = p_.socket_of_cluster(from_cluster);
  const u32 to = p_.socket_of_cluster(to_cluster);
  return from == to ? 0 : links_[u64{from} * p_.topology.sockets + to].take(start);
}

/// Notes that the owner has written. A local store makes the home's directory clean again.
void Caches::wrote(Line& line, u32 core) {
  line.written = line.dirty = 1;
  if (line.home == cluster_of(core)) line.snoop_all = 0;
}

void Caches::take_for_writing(Line& line, u32 core) {
  const u64 bit = u64{1} << core;
  for_each_bit(line.holders & ~bit, [&](u32 other) {
    cores_[other].l1.erase(line.number);
    cores_[other].l2.erase(line.number);
  });
  for_each_bit(line.l3s & ~(1u << cluster_of(core)), [&](u32 other) { l3_[other].erase(line.number); });
  line.l3s &= 1u << cluster_of(core);
  line.holders = bit;
  line.set_owner(core);
  wrote(line, core);
}

/// Puts a line into the caches of a core, and of its cluster.
void Caches::fill(u32 core, u64 number) {
  // L3 first: what an inclusive one evicts leaves the core, which makes room there.
  if (p_.l3.kind == L3Kind::kInclusive) fill_l3(cluster_of(core), number);
  Private& own = cores_[core];
  if (!own.l2.has(number)) {
    if (const u64 evicted = own.l2.insert(number); evicted != Tags::kNone && !own.l1.has(evicted))
      leave_core(core, evicted);
  }
  if (const u64 evicted = own.l1.insert(number); evicted != Tags::kNone) {
    gone_from_l1_.push_back({core, evicted});
    if (!own.l2.has(evicted)) leave_core(core, evicted);
  }
}

void Caches::fill_l3(u32 cluster, u64 number) {
  const u32 bit = 1u << cluster;
  if (Line* const line = directory_.find(number); (line->l3s & bit) == 0) {
    line->l3s |= bit;
  } else {
    return;
  }
  const u64 evicted = l3_[cluster].insert(number);
  if (evicted == Tags::kNone) return;
  gone_from_l3_.push_back({cluster, evicted});
  Line& line = *directory_.find(evicted);
  line.l3s &= ~bit & 0xffff;
  if (p_.l3.kind == L3Kind::kInclusive) {
    for_each_bit(line.holders, [&](u32 core) {
      if (cluster_of(core) != cluster) return;
      if (cores_[core].l1.erase(evicted)) gone_from_l1_.push_back({core, evicted});
      cores_[core].l2.erase(evicted);
      line.holders &= ~(u64{1} << core);
      if (line.owned_by(core)) line.no_owner();
    });
  }
  if (line.holders == 0 && line.l3s == 0 && line.dirty) write_back(line, cluster, now_);
}

/// Notes that neither L1 nor L2 of the core has the line any more.
void Caches::leave_core(u32 core, u64 number) {
  Line& line = *directory_.find(number);
  line.holders &= ~(u64{1} << core);
  if (line.owned_by(core)) line.no_owner();
  if (p_.l3.kind == L3Kind::kVictim) fill_l3(cluster_of(core), number);
}

void Caches::write_back(Line& line, u32 from_cluster, Ticks start) {
  line.dirty = 0;
  channels_[line.home].take(start);
  (void)over_link(from_cluster, static_cast<u32>(line.home), start);
}

void Caches::drop(u32 core, u64 number) {
  Line* const line = directory_.find(number);
  if (line == nullptr) return;
  cores_[core].l1.erase(number);
  cores_[core].l2.erase(number);
  line->holders &= ~(u64{1} << core);
  if (line->owned_by(core)) line->no_owner();
}

std::string Caches::broken_invariant() const {
  std::string broken;
  directory_.for_each([&](const Line& line) {
    u64 holders = 0;
    u64 clusters_of_holders = 0;
    for (u32 core = 0; core < cores_.size(); ++core) {
      if (!cores_[core].l1.has(line.number) && !cores_[core].l2.has(line.number)) continue;
      holders |= u64{1} << core;
      clusters_of_holders |= u64{1} << cluster_of(core);
    }
    u64 l3s = 0;
    for (u32 cluster = 0; cluster < l3_.size(); ++cluster) l3s |= u64{l3_[cluster].has(line.number)} << cluster;
    const bool inclusive = p_.l3.kind == L3Kind::kInclusive;
    if (line.holders != holders) broken = "a holder is not the one that has the line";
    if (line.l3s != l3s) broken = "an L3's bit is wrong";
    if (line.owner1 != 0) {
      const u32 owner = static_cast<u32>(line.owner1) - 1;
      if (holders != u64{1} << owner || (l3s & ~(u64{1} << cluster_of(owner))) != 0)
        broken = "an owner shares its line";
    }
    if (inclusive && (clusters_of_holders & ~l3s) != 0) broken = "an inclusive L3 lacks a line of its cores";
  });
  return broken;
}

}  // namespace latchlab::model
