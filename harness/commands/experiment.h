#pragma once

// `harness experiment`: the figures. What they are and how they are run and drawn is Python's (experiments/run.py); the
// harness finds it.

#include <string>
#include <vector>

namespace latchlab {

/// Becomes `experiments/run.py ARGS` of the tree that this harness was built in, under the Python that ./bench
/// experiment sets up, or python3 where it has not. Throws InputError where there is no such tree or no Python.
[[noreturn]] void run_experiment(const std::vector<std::string>& args);

}  // namespace latchlab
