"""full_disk.py COMMAND...: runs the command where no file may grow beyond 4 KiB; it must end with
status 2. Prints what it wrote."""

import resource
import signal
import subprocess
import sys


def limit():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then write fails, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


result = subprocess.run(
    sys.argv[1:], preexec_fn=limit, restore_signals=False, text=True,
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
sys.stdout.write(result.stdout)
sys.exit(result.returncode != 2)
