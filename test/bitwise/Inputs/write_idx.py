"""A small data set of 28 x 28 images in IDX files: blobs whose place is the class."""

import os
import random
import struct
import sys


def write(folder, part, rows):
    numbers = random.Random(part)
    images, labels = bytearray(), bytearray()
    for _ in range(rows):
        label = numbers.randrange(10)
        top, left = 2 + 12 * (label // 5), 2 + 5 * (label % 5)
        image = bytearray(numbers.randrange(60) for _ in range(28 * 28))
        for y in range(top, top + 10):
            for x in range(left, left + 4):
                image[28 * y + x] = 150 + numbers.randrange(100)
        images += image
        labels.append(label)
    with open(os.path.join(folder, part + "-images-idx3-ubyte"), "wb") as out:
        out.write(struct.pack(">4I", 0x803, rows, 28, 28) + images)
    with open(os.path.join(folder, part + "-labels-idx1-ubyte"), "wb") as out:
        out.write(struct.pack(">2I", 0x801, rows) + labels)


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
write(folder, "train", 152)
write(folder, "t10k", 32)
