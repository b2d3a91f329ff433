#include "src/arch/perf_calls.h"

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace latchlab {

namespace {

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

class KernelPerf final : public PerfCalls {
 public:
  int open(const PerfCode& code, int cpu, int group) override {
    const int file = try_open(code, cpu, group);
    if (file != -EMFILE) return file;
    raise_file_limit();
    return try_open(code, cpu, group);  // helps also if another thread has raised the limit meanwhile
  }
  long read(int file, std::span<u64> into) override {
    const ssize_t bytes = ::read(file, into.data(), into.size_bytes());
    return bytes >= 0 ? bytes : -errno;
  }
  void close(int file) override { (void)::close(file); }

 private:
  static int try_open(const PerfCode& code, int cpu, int group) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = code.type;
    attr.config = code.config;
    attr.config1 = code.config1;
    attr.config2 = code.config2;
    attr.exclude_user = code.exclude_user;
    attr.exclude_kernel = code.exclude_kernel;
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const int process = cpu == kThisThread ? 0 : -1;
    const long file = syscall(SYS_perf_event_open, &attr, process, cpu, group, PERF_FLAG_FD_CLOEXEC);
    return file >= 0 ? static_cast<int>(file) : -errno;
  }
};

}  // namespace

bool happens_in_kernel(const PerfCode& code) {
  return code.type == PERF_TYPE_SOFTWARE &&
         (code.config == PERF_COUNT_SW_CONTEXT_SWITCHES || code.config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

PerfCalls& kernel_perf() {
  static KernelPerf kernel;
  return kernel;
}

}  // namespace latchlab
