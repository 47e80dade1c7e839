#!/usr/bin/env python3
"""Checks (or with --fix makes) the clang-format of every tracked C++ file."""

import argparse
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
    mode = ["-i"] if args.fix else ["--dry-run", "-Werror"]
    return subprocess.run(["clang-format-19", *mode, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
