#!/usr/bin/env python3
"""Runs clang-tidy on the files that changed since it last found them clean.

A stamp in BUILD/lint/ holds the hash of the file, its own header, its flags and .clang-tidy. Files
that only include something changed are not run again; a fresh clone runs all of them.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys


def fingerprint(entry, file):
    digest = hashlib.sha256(entry["command"].encode())
    for part in (file, file.with_suffix(".h"), pathlib.Path(".clang-tidy")):
        digest.update(part.read_bytes() if part.exists() else b"")
    return digest.hexdigest()


def run_tidy(build, file):
    command = ["clang-tidy-19", "--quiet", "-p", build, "--warnings-as-errors=*", file]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout


def changed_files(build, stamps):
    """(file, stamp path, fingerprint) of what is to be checked."""
    root, seen = pathlib.Path.cwd(), set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not file.is_relative_to(root) or file.is_relative_to(build.resolve()):
            continue
        file = file.relative_to(root)
        if file in seen:  # shared by several targets
            continue
        seen.add(file)
        stamp = stamps / (str(file).replace("/", "_") + ".ok")
        mark = fingerprint(entry, file)
        if not stamp.exists() or stamp.read_text() != mark:
            yield file, stamp, mark


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    stamps = args.build / "lint"
    stamps.mkdir(parents=True, exist_ok=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        waiting = {
            pool.submit(run_tidy, args.build, file): (stamp, mark)
            for file, stamp, mark in changed_files(args.build, stamps)
        }
        for done in concurrent.futures.as_completed(waiting):
            code, output = done.result()
            stamp, mark = waiting[done]
            if code == 0:
                stamp.write_text(mark)
            else:
                failed += 1
                print(output, flush=True)
    print(f"clang-tidy: {len(waiting)} files checked, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
