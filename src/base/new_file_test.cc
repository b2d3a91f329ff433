#include "src/base/new_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

/// A folder that is removed at the end of the test.
class Folder {
 public:
  Folder() { fs::create_directory(path_); }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path_)) found.push_back(entry.path().filename());
    return found;
  }

 private:
  const std::string path_ = (fs::temp_directory_path() / ("latchlab-new-" + std::to_string(::getpid()))).string();
};

using Names = std::vector<std::string>;

TEST_CASE("a new file appears as a whole or not at all, and replaces nothing but a regular file") {
  const Folder folder;
  {
    NewFile file("trace", folder.path() + "/new");
    file.write("text");
    CHECK(folder.names().size() == 1);
    CHECK(folder.names() != Names{"new"});
  }
  CHECK(folder.names().empty());
  NewFile file("trace", folder.path() + "/new");
  file.write("te");
  file.write("xt");
  file.keep();
  CHECK(folder.names() == Names{"new"});
  std::ifstream kept(folder.path() + "/new");
  CHECK(std::string(std::istreambuf_iterator<char>(kept), {}) == "text");
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {std::string("/dev/null"), std::string("/dev/stdout"), pipe}) {
    CHECK_THROWS_WITH(NewFile("trace", path), Contains("is not a regular file"));
  }
  CHECK_THROWS_WITH(NewFile("trace", folder.path()), Contains("is a directory, not a file"));
  CHECK(fs::status(pipe).type() == fs::file_type::fifo);
}

TEST_CASE("a new file that cannot be kept leaves nothing") {
  const Folder folder;
  const std::string path = folder.path() + "/new";
  {
    NewFile file("result", path);
    file.write("text");
    fs::create_directories(path + "/inside");  // so that the rename fails after everything was written
    CHECK_THROWS_AS(file.keep(), OutputError);
  }
  CHECK(folder.names() == Names{"new"});
  CHECK_THROWS_AS(NewFile("result", folder.path() + "/missing/new"), InputError);
}

TEST_CASE("the file that a killed writer left is removed, and the file of a live writer is not") {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    NewFile file("trace", folder.path() + "/new");
    file.write("text");
    (void)::kill(::getpid(), SIGKILL);
  }
  REQUIRE(child > 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const Names left = folder.names();
  REQUIRE(left.size() == 1);
  NewFile file("trace", folder.path() + "/new");
  file.write("text");
  std::ofstream(folder.path() + "/.latchlab.hidden") << "another program's";
  CHECK(folder.names().size() == 3);
  NewFile::remove_abandoned(folder.path());
  CHECK(folder.names().size() == 2);
  CHECK_FALSE(fs::exists(folder.path() + "/" + left.front()));
  file.keep();
  CHECK(fs::exists(folder.path() + "/new"));
  CHECK(fs::exists(folder.path() + "/.latchlab.hidden"));
  NewFile::remove_abandoned(folder.path() + "/missing");
}

}  // namespace
}  // namespace latchlab
