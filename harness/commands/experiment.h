#pragma once

// `harness experiment`: redraws figures. A Python program (experiments/run.py) defines, runs and draws them; the
// harness only finds it. `harness export` likewise runs experiments/export.py.

#include <string>
#include <vector>

namespace latchlab {

/// Executes `experiments/run.py ARGS` of the tree that this harness was built in. It uses the Python that ./bench
/// experiment sets up, or else python3. Throws InputError if there is no such tree or no Python.
[[noreturn]] void run_experiment(const std::vector<std::string>& args);

/// Executes `experiments/export.py ARGS` of that tree in the same way.
[[noreturn]] void run_export(const std::vector<std::string>& args);

}  // namespace latchlab
