"""status.py WANTED COMMAND...: runs the command; succeeds where it ends with that status. What it
wrote is passed on, and none of it may look like a trace of the program's inside."""

import subprocess
import sys

wanted, *command = sys.argv[1:]
result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
sys.stdout.write(result.stdout)
for sign in ("terminate called", "Segmentation", "#0 ", "internal error", ".cpp:"):
    if sign in result.stdout:
        sys.exit(f"status.py: the message shows the inside of the program: {sign}")
if result.returncode != int(wanted):
    sys.exit(f"status.py: ended with {result.returncode}, not {wanted}")
