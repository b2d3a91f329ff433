#pragma once

namespace latchlab {

/// True once SIGINT or SIGTERM has asked this process to end its run early. Threads poll it between batches,
/// so a run that was interrupted is still joined, drained, validated and written, marked `interrupted`. A
/// relaxed load.
[[nodiscard]] bool stop_requested();

/// What the handler does, callable from tests: makes stop_requested() true.
void request_stop();

/// Installs the handlers. The first signal requests a stop; one that comes a second or more after it has its default effect
/// and kills.
void stop_on_interrupt();

}  // namespace latchlab
