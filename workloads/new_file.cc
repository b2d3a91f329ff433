#include "workloads/new_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "workloads/file_error.h"

namespace latchlab {

NewFile::NewFile(std::string_view what, const std::string& path)
    : what_(what), path_(path), beside_(fmt::format("{}.{}.part", path, ::getpid())) {
  std::error_code none;
  const std::filesystem::file_status there = std::filesystem::status(path, none);
  if (is_directory(there)) throw error("is a directory, not a file");
  if (exists(there) && !is_regular_file(there)) throw error("is not a regular file");
  file_.open(beside_, std::ios::binary);
  if (!file_) throw error(fmt::format("cannot be written: {}", std::strerror(errno)));
}

NewFile::~NewFile() {
  if (!beside_.empty()) (void)std::remove(beside_.c_str());
}

void NewFile::keep() {
  file_.close();
  if (!file_ || std::rename(beside_.c_str(), path_.c_str()) != 0) throw error(fmt::format("cannot be written: {}", std::strerror(errno)));
  beside_.clear();
}

InputError NewFile::error(std::string_view why) const { return file_error(what_, path_, why); }

}  // namespace latchlab
