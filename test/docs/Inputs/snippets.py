#!/usr/bin/env python3
"""Runs what a page of docs/ shows. Fenced blocks by the words behind their three backticks:

  tir [file=NAME]    must parse, and its printed form must print as itself
  NAME file=NAME     any other language: written to NAME for the blocks that follow
  console            `$ command` lines and what they print, to the letter
  console sample     the commands must succeed; what they print may differ by machine
  console fails      the commands must fail, with this output

All other blocks are left alone. Commands run in an empty folder that looks like the root of a
checkout. With --update the page gets what the commands print now.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

FENCE = re.compile(r"^```(\w+)([^\n`]*)\n(.*?)^```$", re.M | re.S)
LINKED = ("recipes", "examples", "tapeless", "bench", "test")


class Page:
    def __init__(self, path, folder, build):
        self.path, self.folder, self.build = path, folder, build
        self.text = path.read_text()
        self.failures = 0
        folder.mkdir(parents=True, exist_ok=True)
        root = pathlib.Path(__file__).resolve().parents[3]
        for name, target in [("build", build), *((n, root / n) for n in LINKED)]:
            link = folder / name
            link.unlink(missing_ok=True)
            link.symlink_to(target)

    def fail(self, match, message):
        line = self.text.count("\n", 0, match.start()) + 1
        print(f"{self.path}:{line}: {message}")
        self.failures += 1

    def shell(self, command, text=None):
        return subprocess.run(
            command, shell=True, cwd=self.folder, input=text, text=True,
            capture_output=True, timeout=300,
            env={**os.environ, "PATH": f"{self.build}/bin:{os.environ['PATH']}"},
        )  # fmt: skip

    def tir(self, match, text):
        once = self.shell("tapeless opt -", text)
        if once.returncode != 0:
            return self.fail(match, f"does not parse:\n{once.stderr}")
        if self.shell("tapeless opt -", once.stdout).stdout != once.stdout:
            self.fail(match, "printed form prints differently")

    def console(self, match, words, text):
        """Returns the block with the output of now."""
        out = ""
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)", text, re.M):
            done = self.shell(command)
            if (done.returncode != 0) != ("fails" in words):
                self.fail(match, f"`{command}` exits with {done.returncode}:\n{done.stderr}")
            shown = done.stdout + (done.stderr if "fails" in words else "")
            printed = re.sub(r" +$", "", shown, flags=re.M).rstrip("\n")
            out += f"$ {command}\n" + (printed + "\n" if printed else "")
        return out

    def block(self, match, update):
        language, words, text = match[1], match[2].split(), match[3]
        for word in words:
            if word.startswith("file="):
                file = self.folder / word.removeprefix("file=")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        if language == "tir":
            self.tir(match, text)
        if language == "console":
            now = self.console(match, words, text)
            if update:
                return match[0].replace(text, now)
            if now != text and "sample" not in words:
                self.fail(match, f"prints now:\n{now}")
        return match[0]

    def run(self, update):
        changed = FENCE.sub(lambda m: self.block(m, update), self.text)
        if update:
            self.path.write_text(changed)
        return self.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--dir", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    page = Page(arguments.page, arguments.dir.resolve(), arguments.build.resolve())
    sys.exit(page.run(arguments.update) != 0)


if __name__ == "__main__":
    main()
