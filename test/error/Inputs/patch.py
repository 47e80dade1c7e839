"""patch.py FILE OFFSET VALUE: overwrites a byte. patch.py FILE SIZE: cuts the file."""

import sys

path, *numbers = sys.argv[1:]
with open(path, "r+b") as f:
    if len(numbers) == 1:
        f.truncate(int(numbers[0]))
    else:
        f.seek(int(numbers[0]))
        f.write(bytes([int(numbers[1])]))
