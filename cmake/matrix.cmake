# The matrix lists every policy, every index, and the policies that each index runs under. One line adds a policy or an index. Under
# rowex and adaptive a body may read memory that no version or lock protects. These policies skip the indexes that do not allow it:
# rowex needs kLatchFreeReaders; for adaptive kBearsScouts suffices, too.

#                   word         header                     class template
latchlab_add_policy(none         HEADER sync/none.h         TYPE None)
latchlab_add_policy(atomic       HEADER sync/atomic.h       TYPE OneAtomic VARIANT)
latchlab_add_policy(mutex        HEADER sync/mutex.h        TYPE Mutex    VARIANT)
latchlab_add_policy(spin         HEADER sync/spin.h         TYPE Spin     VARIANT)
latchlab_add_policy(ticket       HEADER sync/ticket.h       TYPE Ticket   VARIANT)
latchlab_add_policy(mcs          HEADER sync/mcs.h          TYPE Mcs      VARIANT)
latchlab_add_policy(cna          HEADER sync/cna.h          TYPE Cna      VARIANT)
latchlab_add_policy(reciprocating HEADER sync/reciprocating.h TYPE Reciprocating VARIANT)
latchlab_add_policy(hapax        HEADER sync/hapax.h         TYPE Hapax    VARIANT)
latchlab_add_policy(gcr          HEADER sync/gcr.h          TYPE Gcr      VARIANT)
latchlab_add_policy(combine      HEADER sync/combine.h      TYPE Combine  VARIANT)
latchlab_add_policy(ffwd         HEADER sync/ffwd.h         TYPE Ffwd     VARIANT)
latchlab_add_policy(nr           HEADER sync/nr.h           TYPE Nr       VARIANT REPLICAS)
latchlab_add_policy(rwspin       HEADER sync/rwspin.h       TYPE RwSpin)
latchlab_add_policy(shared_mutex HEADER sync/shared_mutex.h TYPE SharedMutex VARIANT)
latchlab_add_policy(bravo        HEADER sync/bravo.h         TYPE Bravo    VARIANT)
latchlab_add_policy(tbb-rw       HEADER sync/tbb_rw.h       TYPE TbbRw        MACHINES Native VARIANT)
latchlab_add_policy(hle          HEADER sync/hle.h          TYPE Hle      VARIANT)
latchlab_add_policy(rtm          HEADER sync/rtm.h          TYPE Rtm)
latchlab_add_policy(adaptive     HEADER sync/adaptive.h     TYPE Adaptive)
latchlab_add_policy(tbb-spec     HEADER sync/tbb_spec.h     TYPE TbbSpec      MACHINES Native VARIANT)
latchlab_add_policy(tbb-spec-rw  HEADER sync/tbb_spec_rw.h  TYPE TbbSpecRw    MACHINES Native VARIANT)
latchlab_add_policy(olc          HEADER sync/olc.h          TYPE Olc)
latchlab_add_policy(ticket-olc   HEADER sync/ticket_olc.h   TYPE TicketOlc VARIANT)
latchlab_add_policy(hapax-olc    HEADER sync/hapax_olc.h    TYPE HapaxOlc VARIANT)
latchlab_add_policy(latch-hybrid HEADER sync/latch_hybrid.h TYPE LatchHybrid VARIANT)
latchlab_add_policy(optiql       HEADER sync/optiql.h       TYPE Optiql   VARIANT)
latchlab_add_policy(rowex        HEADER sync/rowex.h        TYPE Rowex)
latchlab_add_policy(striped      HEADER sync/striped.h      TYPE Striped)
latchlab_add_policy(seq          HEADER sync/seq.h          TYPE Seq)
latchlab_add_policy(hybrid       HEADER sync/hybrid.h       TYPE Hybrid)
latchlab_add_policy(three-path   HEADER sync/three_path.h   TYPE ThreePath VARIANT)

# Policies for an index that is correct only under mutual exclusion (kNeedsExclusion). There is one of each kind, since the others
# differ only in the lock and a pair takes long to compile; any other policy with exclusion may be added. Elision needs
# Native: only the processor's transactions undo every store of code that does not use cells.
set(alone none mutex spin rwspin)
if(LATCHLAB_MACHINE STREQUAL "Native")
  list(APPEND alone rtm tbb-spec-rw)
endif()

# Policies for an index whose nodes have no room for a version: all whose locks or versions are elsewhere.
set(outside none atomic mutex spin ticket mcs cna reciprocating hapax gcr combine ffwd rwspin shared_mutex bravo tbb-rw hle rtm adaptive tbb-spec tbb-spec-rw striped seq)

# Policies for an index whose operations do nothing: one global lock, and two that show what is left without it.
set(locks none atomic mutex spin ticket mcs cna reciprocating hapax gcr combine ffwd rwspin shared_mutex bravo tbb-rw)

latchlab_add_index(art           HEADER indexes/art/art.h              TYPE Art           KEYS u64 bytes)
latchlab_add_index(btree         HEADER indexes/btree/btree.h          TYPE BTree         KEYS u64 bytes)
latchlab_add_index(btree1k       HEADER indexes/btree/btree.h          TYPE BTree1K       KEYS u64 bytes  MEANT_BY btree node 1024)
latchlab_add_index(btree4k       HEADER indexes/btree/btree.h          TYPE BTree4K       KEYS u64 bytes  MEANT_BY btree node 4096)
latchlab_add_index(bskip         HEADER indexes/bskip/bskip.h          TYPE BSkip         KEYS u64 bytes)
latchlab_add_index(chained       HEADER indexes/chained/chained.h      TYPE Chained       KEYS u64 bytes)
latchlab_add_index(chained_line  HEADER indexes/chained/chained_line.h TYPE ChainedLine  KEYS u64)
latchlab_add_index(vip           HEADER indexes/vip/vip.h              TYPE Vip           KEYS u64 bytes)
latchlab_add_index(cuckoo        HEADER indexes/cuckoo/cuckoo.h        TYPE Cuckoo        KEYS u64 hashed)
latchlab_add_index(cuckoo3       HEADER indexes/cuckoo/cuckoo.h        TYPE Cuckoo3       KEYS u64  MEANT_BY cuckoo slots 3)
latchlab_add_index(cuckoo7       HEADER indexes/cuckoo/cuckoo.h        TYPE Cuckoo7       KEYS u64  MEANT_BY cuckoo slots 7)
latchlab_add_index(simdht        HEADER indexes/simdht/simdht.h        TYPE SimdHt        KEYS u64 hashed POLICIES ${alone}
  MEANT_BY cuckoo shape NO_CELLS)
latchlab_add_index(memc3         HEADER indexes/memc3/memc3.h          TYPE MemC3         KEYS u64 hashed)
latchlab_add_index(kvdirect      HEADER indexes/kvdirect/kvdirect.h    TYPE KvDirect      KEYS u64        POLICIES ${outside})
latchlab_add_index(tbb           HEADER indexes/peers/tbb.h            TYPE Tbb           KEYS u64 bytes  POLICIES own NO_CELLS)
latchlab_add_index(tbb_unordered HEADER indexes/peers/tbb_unordered.h  TYPE TbbUnordered  KEYS u64 bytes  POLICIES own NO_CELLS)
latchlab_add_index(libcuckoo     HEADER indexes/peers/libcuckoo.h      TYPE LibCuckoo     KEYS u64 bytes  POLICIES own NO_CELLS)
latchlab_add_index(absl_flat     HEADER indexes/peers/absl_flat.h      TYPE AbslFlat      KEYS u64 bytes  POLICIES ${alone} NO_CELLS)
latchlab_add_index(std_unordered HEADER indexes/peers/std_unordered.h  TYPE StdUnordered  KEYS u64 bytes  POLICIES ${alone} NO_CELLS)
latchlab_add_index(std_map       HEADER indexes/peers/std_map.h        TYPE StdMap        KEYS u64 bytes  POLICIES ${alone} NO_CELLS)
latchlab_add_index(remote        HEADER indexes/remote/remote.h       TYPE Remote       KEYS u64 bytes  POLICIES own NO_CELLS)
latchlab_add_index(art_parts     HEADER indexes/art/art.h              TYPE Art           KEYS u64        POLICIES mutex spin mcs IN_PARTS)
latchlab_add_index(counters      HEADER indexes/counters.h             TYPE CounterArray  KEYS u64        POLICIES own ON_MACHINE)
latchlab_add_index(null          HEADER indexes/null.h                 TYPE Null          KEYS u64 bytes  POLICIES ${locks})
