"""interrupt.py METRICS COMMAND...: Ctrl-C once the command has written a step; says how it ended."""

import os
import signal
import subprocess
import sys
import time

metrics, command = sys.argv[1], sys.argv[2:]
process = subprocess.Popen(command)
for _ in range(600):
    if os.path.exists(metrics) and '"step"' in open(metrics).read():
        break
    time.sleep(0.05)
process.send_signal(signal.SIGINT)
print("status", process.wait(timeout=60), flush=True)
