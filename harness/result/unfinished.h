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

#include <string>
#include <vector>

#include "harness/result/report.h"

namespace latchlab {

/// Returns a document for each run of a list, null for a run that is to be measured. `facts` has the command, the build
/// and the machine of this process. All are null unless the list is unfinished in `folder`, and for a single run. Files
/// that are no whole result of this schema are passed over. O(bytes in the folder).
[[nodiscard]] std::vector<Json> left_by_unfinished(const std::string& folder, const std::vector<Plan>& runs,
                                                   const RunResult& facts);

/// Returns a line that says how many runs are taken from the folder; nothing if none is.
[[nodiscard]] std::string taken_text(const std::vector<Json>& left, const std::string& folder);

}  // namespace latchlab
