#include "workloads/compressed_input.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace latchlab {

class Decoder {
 public:
  struct Step {
    std::size_t taken, made;  // bytes
    bool ends_frame;          // the input may end here
  };

  virtual ~Decoder() = default;
  /// Takes or makes some bytes, unless `from` is empty and the decoder holds no more output. Throws InputError with the
  /// reason.
  virtual Step step(std::span<const char> from, std::span<char> into) = 0;
};

namespace {

constexpr std::size_t kBlock = 1 << 18;
constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

class Copy final : public Decoder {
 public:
  Step step(std::span<const char> from, std::span<char> into) override {
    const std::size_t bytes = std::min(from.size(), into.size());
    std::copy_n(from.data(), bytes, into.data());
    return {.taken = bytes, .made = bytes, .ends_frame = true};
  }
};

class Gzip final : public Decoder {
 public:
  Gzip() {
    constexpr int kOnlyGzip = 16;  // zlib's flag, added to the size of the window
    if (inflateInit2(&stream_, MAX_WBITS + kOnlyGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { (void)inflateEnd(&stream_); }

  Step step(std::span<const char> from, std::span<char> into) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));  // zlib does not write to it
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {  // Z_BUF_ERROR: there was nothing to do
      throw InputError(
          fmt::format("its gzip data are corrupt: {}", stream_.msg != nullptr ? stream_.msg : zError(status)));
    }
    const Step done{.taken = from.size() - stream_.avail_in,
                    .made = into.size() - stream_.avail_out,
                    .ends_frame = status == Z_STREAM_END};
    if (done.ends_frame) (void)inflateReset(&stream_);  // another frame may follow
    return done;
  }

 private:
  z_stream stream_{};
};

class Zstd final : public Decoder {
 public:
  Zstd() : context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
  }

  Step step(std::span<const char> from, std::span<char> into) override {
    ZSTD_inBuffer in{.src = from.data(), .size = from.size(), .pos = 0};
    ZSTD_outBuffer out{.dst = into.data(), .size = into.size(), .pos = 0};
    const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(left) != 0)
      throw InputError(fmt::format("its zstd data are corrupt: {}", ZSTD_getErrorName(left)));
    return {.taken = in.pos, .made = out.pos, .ends_frame = left == 0};
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { (void)ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
};

std::unique_ptr<Decoder> decoder_of(std::string_view first) {
  if (first.starts_with(kGzip)) return std::make_unique<Gzip>();
  if (first.starts_with(kZstd)) return std::make_unique<Zstd>();
  return std::make_unique<Copy>();
}

}  // namespace

CompressedInput::CompressedInput(const std::string& path)
    : path_(path),
      fd_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      from_(kBlock),
      into_(kBlock) {
  if (fd_ < 0) throw error(std::strerror(errno));
}

CompressedInput::~CompressedInput() {
  if (fd_ != STDIN_FILENO) ::close(fd_);
}

CompressedInput::int_type CompressedInput::underflow() {
  while (true) {
    if (next_ == end_) read();
    if (!decoder_) decoder_ = decoder_of(std::string_view(from_.data(), end_));
    Decoder::Step step{};
    try {
      step = decoder_->step(std::span(from_).subspan(next_, end_ - next_), into_);
    } catch (const InputError& wrong) {
      throw error(wrong.what());
    }
    next_ += step.taken;
    is_within_ = !step.ends_frame && (is_within_ || step.taken > 0);
    if (step.made > 0) {
      setg(into_.data(), into_.data(), into_.data() + step.made);
      return traits_type::to_int_type(into_.front());
    }
    if (step.taken > 0) continue;
    if (is_within_) throw error("ends in the middle of its compressed data: it was cut off");
    return traits_type::eof();
  }
}

void CompressedInput::read() {
  next_ = end_ = 0;
  // The first bytes tell the compression, and a pipe may deliver them one by one.
  while (end_ < from_.size()) {
    const ssize_t got = ::read(fd_, from_.data() + end_, from_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw error(std::strerror(errno));
    if (got == 0) return;
    end_ += static_cast<std::size_t>(got);
  }
}

InputError CompressedInput::error(std::string_view why) const {
  return InputError(fmt::format("trace '{}': {}", path_, why));
}

}  // namespace latchlab
