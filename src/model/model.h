#pragma once
// The cost of memory, transactions, the kernel and time on a modelled machine: a pure function of the calls so far.
//
//     World: the earliest fiber, effects, conflicts, undo
//        |  access, begin, commit, abort, ...: (thread, now) -> the ticks that it takes
//        v
//     Model --> Core         pending misses, fill buffers, the window, the clock
//           --> Tags         L1, L2 and TLB of a core, L3 of a cluster
//           --> Directory    the holders of each line, its owner, the state of its home
//           --> Queue        memory channels, links between sockets
//           --> Transactions written and read lines, against capacity
//           --> Pages        first touch, faults, marks, the lock of the address space
//
// The protocol of a caller:
//   1. `now` is the clock of the thread. Calls come in the order of effects, so `now` seldom goes back, and then by
//      little.
//   2. A call returns ticks that the caller adds to that clock. Values are not known here: the effect is the caller's.
//   3. After each call, ended() names the transactions that this call ended, perhaps the thread's own. The caller
//      undoes them, and calls undone() for each at once. If the thread's own is among them, the reference, the commit
//      or the system call has not taken place.
//   4. Conflicts are the caller's: it finds them, undoes the loser's stores and calls undone() for it.
//   5. When a thread goes on after its transaction has been undone, the caller asks abort() for the ticks.
//   6. Ticks that the caller adds by itself are told to spend(). In others the thread is idle.
//
// An address is any number, and decides about sets and pages. So a run repeats only if its addresses do: a caller
// passes offsets of its own, not what the system's allocator returns. Memory that nobody has mapped is present at its
// first use, on the node of its first user.
#include <memory>
#include <span>
#include <vector>

#include "src/base/types.h"
#include "src/model/account.h"
#include "src/model/pages.h"
#include "src/model/parameters.h"
#include "src/model/transactions.h"

namespace latchlab::model {

class MachineFile;

/// The hardware thread of each fiber. Hardware thread h is the thread h / cores of core h % cores, where cores counts
/// those of the machine. Cores are numbered cluster by cluster, and clusters socket by socket.
using Placement = std::vector<u32>;

enum class Kind : u8 { kLoad, kStore, kReadModifyWrite, kPrefetch };

struct Reference {
  u32 thread;
  Kind kind;
  u64 address;
  u32 bytes;  ///< at least 1; a reference that straddles costs both lines
  u64 block;  ///< any number that the references to one block share; 0 if it is unknown
  bool in_transaction;
};

/// An entry into the kernel that the program asks for. Faults, marks and the timer come by themselves.
enum class Call : u8 {
  kProtect,  ///< mprotect: it holds the lock of the address space for writing
  kMap,      ///< mmap, munmap: likewise
};

class Model {
 public:
  /// Takes a copy of what it needs of the file. The seed decides which pages NUMA balancing marks first. Throws
  /// InputError if a thread's place is not in the machine.
  Model(const MachineFile& file, const Placement& threads_on_cpus, u64 seed);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  /// Returns the ticks of a reference. It advances queues, caches and the directory, and faults in what is untouched.
  [[nodiscard]] Ticks access(const Reference& reference, Ticks now);
  /// Returns the ticks to begin a transaction, which wait for all misses before. Its references follow, with
  /// `in_transaction`. The machine must have transactions (Parameters::htm).
  [[nodiscard]] Ticks begin(u32 thread, Ticks now);
  /// Returns the ticks to commit, which wait for all misses of the transaction. If ended() names the thread, it has not
  /// been committed.
  [[nodiscard]] Ticks commit(u32 thread, Ticks now);
  /// Tells that an access of `thread` to this address ends the transaction of another one, `loser`, and the structure
  /// that the access is to: any number but Lost::kNobody. undone() follows.
  void conflict(u32 loser, u64 address, u64 structure, u32 thread);
  /// Tells that the caller has undone a transaction at this moment, whoever ended it, with the status of its abort. The
  /// lines that it wrote leave the core, and ended() stays as it is.
  void undone(u32 thread, u32 status, Ticks now);
  /// Returns the ticks of the abort of a transaction that has been undone.
  [[nodiscard]] Ticks abort(u32 thread, Ticks now);
  /// Returns the ticks of an operation's instructions besides its references. What was missed before may still be
  /// under way; the new operation does not depend on it.
  [[nodiscard]] Ticks begin_operation(u32 thread, Ticks now);
  /// Returns the ticks of a full fence, which waits for all misses of the thread.
  [[nodiscard]] Ticks fence(u32 thread, Ticks now);
  /// Returns the moment at which a thread that has waited since `asleep` notices a store made at `stored`: the end of a
  /// turn of its loop, which takes a hit in L1. The thread then reads the line again, and queues for it there. The line
  /// is that of its last reference.
  [[nodiscard]] Ticks wake(u32 thread, Ticks asleep, Ticks stored);
  /// Returns the ticks of a system call, which ends the thread's transaction.
  [[nodiscard]] Ticks trap(u32 thread, Call call, Ticks now);

  /// Charges ticks that the caller adds to the clock of a thread. Returns them.
  Ticks spend(u32 thread, Cause cause, Ticks took, Ticks now);

  /// Returns the transactions that the last call ended. The next call that returns ticks empties it.
  [[nodiscard]] std::span<const Ended> ended() const;

  /// Tells that addresses have become usable: untouched pages, of 4 KiB or, if `huge`, 2 MiB. No virtual time passes.
  void mapped(u64 address, u64 bytes, Homes homes = {}, bool huge = false);
  /// Tells that addresses are gone. Their lines stay in caches until they are evicted.
  void unmapped(u64 address, u64 bytes);
  /// Tells that a thread has written these bytes outside virtual time, as loading does. The pages are present then.
  void loaded(u32 thread, u64 address, u64 bytes);

  /// Returns the NUMA node of a thread, which is its cluster.
  [[nodiscard]] u32 node(u32 thread) const;

  // The account (account.h), of the time from its begin to its end.

  /// Begins the account anew at this moment, in which all threads are idle. No transaction may run.
  void restart_account(Ticks now);
  /// Ends the account: threads have been idle since their last calls. No call follows until it is begun anew.
  void end_account(Ticks now);
  /// Returns the ticks of each thread.
  [[nodiscard]] std::vector<Times> times() const;
  /// Returns the transactions that were undone, and their ticks: by cause, and those of conflicts by structure. The
  /// ticks of aborts themselves are left out.
  [[nodiscard]] const std::vector<Lost>& lost_by_cause() const;
  [[nodiscard]] const std::vector<Lost>& lost_by_structure() const;
  /// Returns up to `most` lines that threads waited for each other on, by ticks waited.
  [[nodiscard]] std::vector<HotLine> hottest(u64 most) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace latchlab::model
