#!/usr/bin/env python3
"""affected.py BASE: prints the test files that depend on a change since the commit BASE, one per line.

Changed files are those that differ from BASE, committed or not, and those that git does not track yet. The dependencies are:
    C++ test       every file that it includes, directly or not, and the source of each header that it includes directly
    Python test    its own folder, and cmake/, which builds and runs all tests

A line on stderr says how many files there are. The exit status is 2 if BASE is not a commit.
"""
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def git(*arguments):
    return subprocess.run(['git', *arguments], capture_output=True, text=True, check=True).stdout.splitlines()


def read(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except FileNotFoundError:  # removed, but git still tracks it
        return ''


def folder_of(path):
    return path.rpartition('/')[0]


def reached_by(start, includes):
    """Returns the files that a file includes, directly or not, and the file itself."""
    reached, left = {start}, [start]
    while left:
        for path in includes.get(left.pop(), ()):
            if path not in reached:
                reached.add(path)
                left.append(path)
    return reached


def affected(changed, includes, python_tests):
    """Returns the affected test files, in order. `includes` has the files that each C++ file includes."""
    changed = set(changed)
    build_changed = any(folder_of(path).split('/')[0] == 'cmake' or path.endswith('CMakeLists.txt') for path in changed)
    tests = set()
    for test in (path for path in includes if path.endswith('_test.cc')):
        needed = reached_by(test, includes)
        needed |= {path.removesuffix('.h') + '.cc' for path in includes[test] if path.endswith('.h')}
        if needed & changed:
            tests.add(test)
    folders = {folder_of(path) for path in changed}
    tests |= {test for test in python_tests if build_changed or folder_of(test) in folders}
    return sorted(tests)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split(':')[0] + ': BASE is missing; write a commit')
    try:
        base = git('rev-parse', '--verify', '--quiet', sys.argv[1] + '^{commit}')[0]
    except subprocess.CalledProcessError:
        print(f"affected.py: '{sys.argv[1]}' is not a commit of this repository", file=sys.stderr)
        sys.exit(2)
    unknown = git('ls-files', '--others', '--exclude-standard')
    changed = git('diff', '--name-only', base) + unknown
    known = git('ls-files') + unknown
    includes = {path: INCLUDE.findall(read(path)) for path in known if path.endswith(('.h', '.cc'))}
    python_tests = [path for path in known if path.endswith('_test.py')]
    tests = affected(changed, includes, python_tests)
    total = len(python_tests) + sum(path.endswith('_test.cc') for path in includes)
    print(f'{len(tests)} of {total} test files depend on the {len(changed)} files that changed since {base[:10]}',
          file=sys.stderr)
    for test in tests:
        print(test)


if __name__ == '__main__':
    main()
