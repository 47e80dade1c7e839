#!/usr/bin/env python3
"""Checks (or with --fix makes) the clang-format of every tracked C++ file."""

import argparse
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    args = parser.parse_args()
    listed = subprocess.run(
        ["git", "ls-files", "*.cpp", "*.h"], check=True, capture_output=True, text=True
    )
    files = listed.stdout.split()
    if args.fix:
        return subprocess.run(["clang-format-19", "-i", *files], check=False).returncode
    checked = subprocess.run(
        ["clang-format-19", "--dry-run", *files], check=False, capture_output=True, text=True
    )
    wrong = sorted(set(re.findall(r"^(.*?):\d+:\d+: ", checked.stderr, re.M)))
    for file in wrong:
        print(f"format: {file}: run `make format`")
    return 1 if wrong or checked.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
