#!/usr/bin/env python3
"""Runs ctest and counts the single tests behind it, by kind.

Each ctest entry with label KIND may write JUnit XML to BUILD/test/results/KIND/NAME.xml; without
it the entry counts as one test. The last line is "N passed, N failed, N skipped".
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml


@dataclasses.dataclass
class Kind:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0


def ctest_command(build):
    cache = (build / "CMakeCache.txt").read_text()
    return re.search(r"^CMAKE_CTEST_COMMAND:INTERNAL=(.*)$", cache, re.M).group(1)


def labels_by_test(ctest, build):
    shown = subprocess.run(
        [ctest, "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True
    )
    labels = {}
    for test in json.loads(shown.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        labels[test["name"]] = properties.get("LABELS", ["other"])[0]
    return labels


def run_ctest(ctest, build, jobs, kinds):
    junit = build / "test" / "results" / "ctest.xml"
    junit.parent.mkdir(parents=True, exist_ok=True)
    for old in junit.parent.rglob("*.xml"):
        old.unlink()
    command = [ctest, "--test-dir", build, "-j", str(jobs), "--output-on-failure"]
    command += ["--output-junit", junit.resolve(), "--no-tests=ignore"]
    if kinds:
        command += ["-L", "^(%s)$" % "|".join(kinds)]
    subprocess.run(command, check=False)
    return xml.parse(junit).getroot()


def case_status(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def single_cases(entry, result_file):
    """(name, status, reason of a skip) of every test that the ctest entry stands for."""
    if not result_file.exists():
        return [(entry.get("name"), case_status(entry), "")]
    cases = []
    for case in xml.parse(result_file).getroot().iter("testcase"):
        skipped = case.find("skipped")
        reason = "" if skipped is None else skipped.get("message", "").strip().splitlines()
        group = case.get("classname", "").replace("tapeless.", "", 1)
        cases.append((f"{group}.{case.get('name')}", case_status(case), " ".join(reason)))
    if case_status(entry) == "failed" and all(status != "failed" for _, status, _ in cases):
        cases.append((entry.get("name"), "failed", ""))
    return cases


def print_table(kinds):
    total = Kind()
    print(f"\n{'kind':<16}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for name, kind in sorted(kinds.items()):
        print(f"{name:<16}{kind.passed:>8}{kind.failed:>8}{kind.skipped:>9}{kind.seconds:>9.1f}")
        for field in dataclasses.fields(Kind):
            setattr(total, field.name, getattr(total, field.name) + getattr(kind, field.name))
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("kinds", nargs="*", help="only these kinds (folders of test/)")
    args = parser.parse_args()

    ctest = ctest_command(args.build)
    labels = labels_by_test(ctest, args.build)
    entries = run_ctest(ctest, args.build, args.jobs, args.kinds)
    kinds, failures, skips = collections.defaultdict(Kind), [], collections.Counter()
    for entry in entries.iter("testcase"):
        label = labels[entry.get("name")]
        kind = kinds[label]
        kind.seconds += float(entry.get("time", 0))
        result_file = args.build / "test" / "results" / label / f"{entry.get('name')}.xml"
        for name, status, reason in single_cases(entry, result_file):
            setattr(kind, status, getattr(kind, status) + 1)
            if status == "failed":
                failures.append(f"{label}: {name}")
            if status == "skipped":
                skips[reason or "no reason given"] += 1

    total = print_table(kinds)
    for reason, count in sorted(skips.items()):
        print(f"skipped {count}: {reason}")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
