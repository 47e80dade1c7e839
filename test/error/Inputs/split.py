"""split.py FILE FOLDER: writes each part after a line `--- NAME` to FOLDER/NAME."""

import os
import sys

out = None
for line in open(sys.argv[1]):
    if line.startswith("--- "):
        out = open(os.path.join(sys.argv[2], line[4:].strip()), "w")
    elif out:
        out.write(line)
