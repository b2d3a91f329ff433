#pragma once

namespace latchlab {

/// Returns true once SIGINT or SIGTERM has asked this process to end its run early. Threads poll it between batches, so
/// an interrupted run is still joined, drained, validated and written, marked `interrupted`. A relaxed load.
[[nodiscard]] bool stop_requested();

/// Makes stop_requested() true, as the first signal does; for tests.
void request_stop();

/// Installs the handlers. The first signal requests a stop, the second has no effect, the third its default effect.
void stop_on_interrupt();

}  // namespace latchlab
