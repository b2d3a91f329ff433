#include "workloads/compressed_input.h"

#include <zlib.h>
#include <zstd.h>

#include <istream>
#include <iterator>
#include <string>
#include <string_view>

#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;

std::string gzip(std::string_view text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  REQUIRE(deflateEnd(&stream) == Z_OK);
  return packed;
}

/// Compresses with a checksum, as the command zstd does.
std::string zstd(std::string_view text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  REQUIRE(ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)) == 0);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t bytes = ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size());
  REQUIRE(ZSTD_isError(bytes) == 0);
  ZSTD_freeCCtx(context);
  packed.resize(bytes);
  return packed;
}

std::string contents(const std::string& path) {
  CompressedInput bytes(path);
  std::istream file(&bytes);
  file.exceptions(std::ios::badbit);
  std::string text;
  std::string block(70'001, '\0');  // does not divide the sizes of the buffers
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::string read_back(std::string_view bytes) {
  const TemporaryFile file(bytes);
  return contents(file.path());
}

std::string refused(std::string_view bytes) {
  return testing::refusal([&] { (void)read_back(bytes); });
}

/// Returns random letters; compressed, they are longer than the buffers.
std::string letters(std::size_t count) {
  std::string text(count, '\0');
  Rng rng(7);
  for (char& c : text) c = static_cast<char>('a' + rng.below(16));
  return text;
}

TEST_CASE("compressed files are read as their original contents", "[trace]") {
  const std::string text = letters(1'000'000), run(3'000'000, 'x');
  for (const std::string& one : {std::string(), std::string("("), std::string("\x1f"), text, run}) {
    CHECK(read_back(one) == one);
    CHECK(read_back(gzip(one)) == one);
    CHECK(read_back(zstd(one)) == one);
  }
  // Concatenated frames are read completely.
  CHECK(read_back(gzip(text) + gzip("") + gzip(run)) == text + run);
  CHECK(read_back(zstd(text) + zstd("") + zstd(run)) == text + run);
}

TEST_CASE("truncated or corrupt compressed files are refused", "[trace]") {
  const std::string text = letters(1'000'000);
  for (const std::string& whole : {gzip(text), zstd(text), gzip(text) + gzip(text), zstd(text) + zstd(text)}) {
    for (const std::size_t cut :
         {whole.size() - 1, whole.size() - 4, whole.size() / 3, std::size_t{20}, std::size_t{4}}) {
      CHECK_THAT(refused(whole.substr(0, cut)),
                 Contains("trace '") && Contains("ends in the middle of its compressed data"));
    }
    std::string broken = whole;
    broken[whole.size() / 3] ^= 1;
    CHECK_THAT(refused(broken), Contains("data are corrupt: "));
    broken = whole;
    broken.end()[-5] ^= 1;  // in gzip's sum over everything, or in zstd's last block
    CHECK_THAT(refused(broken), Contains("data are corrupt: "));
    CHECK_THAT(refused(whole + "no more"), Contains("data are corrupt: "));
  }
}

}  // namespace
}  // namespace latchlab
