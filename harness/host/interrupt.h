#pragma once

namespace latchlab {

/// True once SIGINT or SIGTERM has asked this process to end its run early. Threads poll it between batches,
/// so a run that was interrupted is still joined, drained, validated and written, marked `interrupted`. A
/// relaxed load.
[[nodiscard]] bool stop_requested();

/// What the handler does, callable from tests: makes stop_requested() true.
void request_stop();

/// Installs the handlers. The first signal requests a stop, a second changes nothing, a third has its default effect.
void stop_on_interrupt();

}  // namespace latchlab
