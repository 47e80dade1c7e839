"""interrupt.py TAPELESS RECIPE FOLDER once|twice: a run that is interrupted by Ctrl-C.

once: the step is finished and the run saved, with status 0. twice: the process ends by the signal,
in the middle of a step: it is held there by an output that nobody reads.
"""

import os
import re
import signal
import subprocess
import sys
import time

tapeless, recipe, folder, how = sys.argv[1:]
run = subprocess.Popen(
    [tapeless, "train", recipe, "--out", folder, "--set", "train.epochs=100000", "--json", "-"],
    stdout=subprocess.PIPE, text=True)


def handles_interrupts():
    with open(f"/proc/{run.pid}/status") as status:
        return int(re.search(r"SigCgt:\s*(\w+)", status.read())[1], 16) >> (signal.SIGINT - 1) & 1


def wait_for(condition):
    end = time.time() + 30
    while not condition():
        if time.time() > end:
            run.kill()
            sys.exit("interrupt.py: nothing happened")
        time.sleep(0.01)


def blocked():
    """Whether the process sleeps in a write to the full pipe."""
    with open(f"/proc/{run.pid}/stat") as stat:
        asleep = stat.read().rsplit(")", 1)[1].split()[0] == "S"
    before = os.stat(folder + "/metrics.jsonl").st_size if asleep else 0
    time.sleep(0.3)
    return asleep and os.stat(folder + "/metrics.jsonl").st_size == before


for line in run.stdout:
    if '"step":3,' in line:
        break
if how == "twice":
    wait_for(blocked)
run.send_signal(signal.SIGINT)
if how == "twice":
    wait_for(lambda: not handles_interrupts())
    run.send_signal(signal.SIGINT)
    run.wait()
    print("ended by", signal.Signals(-run.returncode).name)
else:
    lines = [line for line in run.stdout]
    print(lines[-1].strip())
    print("status", run.wait())
