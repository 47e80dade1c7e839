#!/usr/bin/env python3
"""Checks what no compiler does: the order of includes, sizes, and a test for every diagnostic.

Exceptions stand in exceptions.txt, each with its reason. Messages that no test meets yet stand in
untested_diagnostics.txt, which may only shrink.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import diagnostics

MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 80
MAX_COLUMNS = 100
HERE = pathlib.Path(__file__).parent

# Folder -> the folders it may include, besides itself. docs/architecture.md explains the order.
VOCABULARY = ["support", "tensor", "ir", "loop", "ops"]
STAGES = (
    "text import mode inline precision autodiff remat optim simplify fuse select plan lower "
    "codegen interp"
).split()
ALLOWED = {
    "support": [],
    "runtime": [],
    "tensor": ["support"],
    "ir": ["support", "tensor"],
    "loop": ["support", "tensor", "ir"],
    "ops": ["support", "tensor", "ir", "loop", "runtime"],
    "data": ["support", "tensor", "import"],
    **{stage: [*VOCABULARY, "runtime"] for stage in STAGES},
    # Optimizers are text: instantiating one is reading it.
    "optim": [*VOCABULARY, "text"],
    # Which tile fits is said in select/; lowering asks for it where it makes the loops.
    "lower": [*VOCABULARY, "runtime", "select"],
    "compiler": [*VOCABULARY, *STAGES, "runtime"],
    "nn": [*VOCABULARY, *STAGES, "runtime", "compiler"],
    "train": [*VOCABULARY, *STAGES, "runtime", "import", "compiler", "nn", "data"],
}


def tracked(*patterns):
    """Tracked files and new ones that git does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    files = [pathlib.Path(name) for name in sorted(set(listed.splitlines()))]
    return [file for file in files if file.exists()]


def read_exceptions():
    """Lines `check subject: reason`, as a set of (check, subject)."""
    known = set()
    for line in (HERE / "exceptions.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            subject, _, reason = line.partition(": ")
            if not reason.strip():
                sys.exit(f"exceptions.txt: no reason given: {line}")
            check, _, subject = subject.partition(" ")
            known.add((check, subject))
    return known


def include_findings(file, text):
    parts = file.parts
    if parts[0] != "tapeless" or len(parts) < 3:
        return
    folder = parts[1]
    if folder not in ALLOWED:
        yield "include", str(file), f"unknown folder {folder}: add it to ALLOWED"
        return
    for included in re.findall(r'^#include [<"]([^">]+)[">]', text, re.M):
        if re.match(r"(llvm|llvm-c)/", included) and folder != "codegen":
            yield "include", f"{file} -> llvm", f"only codegen/ includes {included}"
        target = re.match(r"tapeless/(\w+)/", included)
        if target and target[1] != folder and target[1] not in ALLOWED[folder]:
            yield "include", f"{file} -> {target[1]}", f"{folder}/ may not include {included}"


def function_findings(file, lines):
    """Blocks that open at column 0 with a parameter list and end with } at column 0."""
    opened = None
    for number, line in enumerate(lines):
        if re.match(r"\}", line) and opened is not None:
            head = " ".join(lines[opened : opened + 3])
            name = re.match(r"[^({]*?([\w:~]+)\s*\(", head)
            length = number - opened + 1
            if name and length > MAX_FUNCTION_LINES:
                text = f"{length} lines, at most {MAX_FUNCTION_LINES}"
                yield "function-length", f"{file} {name[1]}", text
            opened = None
        elif re.match(r"(?!namespace\b|extern \")[A-Za-z_~:\[]", line):
            opened = None if line.endswith((";", "}")) else number if opened is None else opened


def size_findings(file, lines):
    if len(lines) > MAX_FILE_LINES:
        yield "file-length", str(file), f"{len(lines)} lines, at most {MAX_FILE_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS and "http" not in line and file.parts[0] != "test":
            yield "columns", f"{file}:{number}", f"{len(line)} columns, at most {MAX_COLUMNS}"
    if file.suffix == ".cpp":
        yield from function_findings(file, lines)


def diagnostic_findings(sources, write):
    """Messages of errors that no file of test/ contains, beyond the known ones."""
    list_file = HERE / "untested_diagnostics.txt"
    tests = "\n".join(f.read_text(errors="replace") for f in tracked("test"))
    untested = diagnostics.untested(sources, tests)
    header = [line for line in list_file.read_text().splitlines() if line.startswith("#")]
    known = [line for line in list_file.read_text().splitlines() if line not in header and line]
    if write:
        list_file.write_text("\n".join(header + sorted(untested)) + "\n")
        return
    for line in sorted(set(untested) - set(known)):
        yield "diagnostic", line, "no test contains this message"
    for line in sorted(set(known) - set(untested)):
        yield "diagnostic", line, "tested or gone: remove it from untested_diagnostics.txt"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write-untested", action="store_true", help="rewrite the known list")
    args = parser.parse_args()
    findings, sources = [], {}
    for file in tracked("*.cpp", "*.h", "*.def", "*.py", "*.cmake", "*CMakeLists.txt", "*.sh"):
        text = file.read_text()
        findings += include_findings(file, text)
        findings += size_findings(file, text.splitlines())
        if file.suffix in (".cpp", ".h") and file.parts[0] in ("tapeless", "tools"):
            sources[file] = text
    findings += diagnostic_findings(sources, args.write_untested)

    exceptions = read_exceptions()
    unused = exceptions - {(check, subject) for check, subject, _ in findings}
    findings = [f for f in findings if f[:2] not in exceptions]
    for check, subject, message in findings:
        print(f"{check}: {subject}: {message}")
    for check, subject in sorted(unused):
        print(f"exceptions.txt: no longer needed: {check} {subject}")
    return 1 if findings or unused else 0


if __name__ == "__main__":
    sys.exit(main())
