"""write_images.py FOLDER [ROWS SIZE CLASSES]: a small image data set in IDX files."""

import os
import struct
import sys

folder = sys.argv[1]
rows, size, classes = (int(a) for a in sys.argv[2:] or (40, 8, 4))
os.makedirs(folder, exist_ok=True)
for prefix in ("train", "t10k"):
    with open(os.path.join(folder, prefix + "-images-idx3-ubyte"), "wb") as f:
        f.write(struct.pack(">4B3I", 0, 0, 8, 3, rows, size, size))
        f.write(bytes(i * 7 % 256 for i in range(rows * size * size)))
    with open(os.path.join(folder, prefix + "-labels-idx1-ubyte"), "wb") as f:
        f.write(struct.pack(">4BI", 0, 0, 8, 1, rows))
        f.write(bytes(i % classes for i in range(rows)))
