#pragma once

// The documents that a list of runs left behind when it was killed or interrupted, so that the same command goes on.
//
// The folder itself holds the state, since no process can be relied on to write it as it dies. Each time that a list
// runs to its end, the folder gets a document of every run. So the list is unfinished if the folder has fewer documents
// of some runs than of others:
//
//   documents of the runs     the list               the same command
//   0 0 0                     never began            measures all
//   1 1 0                     stopped in the third   takes two, measures one
//   1 1 1                     was finished           measures all: a repetition
//   2 1 1                     stopped again          takes one, measures two
//
// A document belongs to the list only if its command, its build and its machine are the same. One that says
// `interrupted` does not count, since its run is to be measured again. `failed` and `skipped` ones do.
//
// Two processes that run one list into one folder would take each other's documents for an unfinished list. So a
// process claims its list in the folder: it holds a lock (flock) on a hidden file whose name is the hash of the list.
// The kernel releases the locks of a process that ends, however it ends. A killed process leaves the file behind; the
// same command takes it over, and removes it at its end.

#include <string>
#include <vector>

#include "harness/result/report.h"

namespace latchlab {

/// Returns a document for each run of a list, null for a run that is to be measured. `facts` has the command, the build
/// and the machine of this process. All are null unless the list is unfinished in `folder`, and for a single run. Files
/// that are no whole result of this schema are passed over. O(bytes in the folder).
[[nodiscard]] std::vector<Json> left_by_unfinished(const std::string& folder, const std::vector<Plan>& runs,
                                                   const RunResult& facts);

/// The claim of a process to a list in a folder. Other lists may run into the same folder at the same time.
class ListClaim {
 public:
  /// Claims the list of `facts`. Throws InputError if another process has the claim. If the file cannot be made or
  /// locked, such as on a file system without locks, the list is not protected.
  ListClaim(const std::string& folder, const RunResult& facts);
  /// Gives the claim up, and removes the hidden file.
  ~ListClaim();
  ListClaim(const ListClaim&) = delete;
  ListClaim& operator=(const ListClaim&) = delete;

 private:
  const std::string path_;
  int file_ = -1;
};

/// Returns a line that says how many runs are taken from the folder; nothing if none is.
[[nodiscard]] std::string taken_text(const std::vector<Json>& left, const std::string& folder);

}  // namespace latchlab
