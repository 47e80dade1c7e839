"""Compares the `losses` of two JSON lines, relative to the second."""

import argparse
import json
import sys

parser = argparse.ArgumentParser()
parser.add_argument("ours")
parser.add_argument("theirs")
parser.add_argument("--count", type=int, required=True)
parser.add_argument("--tolerance", type=float, required=True)
args = parser.parse_args()
ours, theirs = (json.load(open(path))["losses"] for path in (args.ours, args.theirs))
if len(ours) != args.count or len(theirs) != args.count:
    sys.exit(f"{len(ours)} and {len(theirs)} losses, want {args.count}")
worst, step = max((abs(a - b) / max(abs(b), 1e-2), i) for i, (a, b) in enumerate(zip(ours, theirs)))
print(f"worst relative difference {worst:.2e} at step {step + 1}: {ours[step]} and {theirs[step]}")
sys.exit(worst > args.tolerance)
