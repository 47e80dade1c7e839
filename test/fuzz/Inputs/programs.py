"""Random programs, compiled every way and interpreted: `programs.py TAPELESS [SEED [COUNT]]`.

Each program is a loss with symbols, dropout and broadcasts; its gradients are run by `tapeless run
--compare`, which fails where the interpreter, other threads or no fusion differ. Recomputation must
keep the bits too. A failure prints its seed and is cut down to a small .tir in the folder.
"""

import os
import random
import re
import subprocess
import sys

SIZES = ["B", 1, 2, 5, 17, "T"]
PASSES = "specialize{functions = [f], mode = train},differentiate{function = f.train, of = [loss]}"
RECOMPUTE = PASSES + ",simplify,remat{function = f.train, budget = 0},simplify"


def shape_str(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


def broadcast(a, b):
    """NumPy's rule; None where shapes do not fit."""
    a, b = [1] * (len(b) - len(a)) + a, [1] * (len(a) - len(b)) + b
    if any(x != y and x != 1 and y != 1 for x, y in zip(a, b)):
        return None
    return [y if x == 1 else x for x, y in zip(a, b)]


class Program:
    def __init__(self, seed, dtype):
        self.random = random.Random(seed)
        self.dtype = dtype
        self.params, self.lines, self.values = [], [], []
        self.ids = None
        for symbol in ("B", "T"):  # so that every size is known
            self.param([symbol])
        for _ in range(self.random.randint(1, 3)):
            shape = [self.random.choice(SIZES) for _ in range(self.random.randint(1, 3))]
            self.param(shape)
        for _ in range(self.random.randint(3, 14)):
            self.step()

    def param(self, shape, dtype=None, role=" param"):
        name = f"%x{len(self.params)}"
        self.params.append(f"{name}: {dtype or self.dtype}{shape_str(shape)}{role}")
        if dtype is None:
            self.values.append((name, shape))
        return name

    def emit(self, op, operands, shape, attrs=""):
        name = f"%v{len(self.lines)}"
        braces = f" {{{attrs}}}" if attrs else ""
        self.lines.append(f"  {name} = {op} {', '.join(operands)}{braces}")
        return name, shape

    def keep(self, value):
        self.values.append(value)

    def pick(self, test=lambda shape: True):
        fitting = [v for v in self.values if test(v[1])]
        # The last ones more often: chains grow long.
        return self.random.choice(fitting[-4:] * 2 + fitting) if fitting else None

    def step(self):
        getattr(self, self.random.choice(self.STEPS))()

    def unary(self):
        x, shape = self.pick()
        op = self.random.choice("tanh sigmoid sin cos relu gelu abs neg square erf silu softplus "
                                "leaky_relu elu barrier".split())
        self.keep(self.emit(op, [x], shape))

    def binary(self):
        x, a = self.pick()
        y, b = self.pick(lambda s: broadcast(a, s) is not None)
        op = self.random.choice("add sub mul maximum minimum".split())
        self.keep(self.emit(op, [x, y], broadcast(a, b)))

    def scalar(self):
        x, a = self.pick()
        op = self.random.choice("add sub mul div".split())
        self.keep(self.emit(op, [x, self.random.choice(["0.5", "-2.0", "3.0"])], a))

    def divide(self):
        x, a = self.pick()
        y, b = self.pick(lambda s: broadcast(a, s) is not None)
        square, _ = self.emit("square", [y], b)
        positive, _ = self.emit("add", [square, "1.0"], b)
        self.keep(self.emit("div", [x, positive], broadcast(a, b)))

    def where(self):
        x, a = self.pick()
        y, b = self.pick(lambda s: broadcast(a, s) is not None)
        shape = broadcast(a, b)
        test, _ = self.emit(self.random.choice(["gt", "le"]), [x, y], shape)
        self.keep(self.emit("where", [test, x, y], shape))

    def reduce(self):
        x, a = self.pick(lambda s: len(s) > 0)
        axes = sorted(self.random.sample(range(len(a)), self.random.randint(1, len(a))))
        keep = self.random.random() < 0.5
        shape = [1 if i in axes else d for i, d in enumerate(a) if keep or i not in axes]
        op = self.random.choice("sum mean max min logsumexp".split())
        self.keep(self.emit(op, [x], shape, f"axes = {axes}, keepdims = {str(keep).lower()}"))

    def normalise(self):
        x, a = self.pick(lambda s: len(s) > 0)
        if self.random.random() < 0.3:
            self.keep(self.emit("layer_norm", [x], a))
            return
        op = self.random.choice(["softmax", "log_softmax"])
        self.keep(self.emit(op, [x], a, f"axis = {self.random.randrange(len(a))}"))

    def dropout(self):
        x, a = self.pick()
        self.keep(self.emit("dropout", [x], a, "rate = 0.3"))

    def transpose(self):
        x, a = self.pick(lambda s: len(s) > 1) or (None, None)
        if x is None:
            return
        order = list(range(len(a)))
        self.random.shuffle(order)
        self.keep(self.emit("transpose", [x], [a[i] for i in order], f"permutation = {order}"))

    def reshape(self):
        x, a = self.pick()
        numbers = [d for d in a if isinstance(d, int)]
        symbols = [d for d in a if not isinstance(d, int)]
        size = 1
        for d in numbers:
            size *= d
        shape = symbols + [size]
        self.random.shuffle(shape)
        self.keep(self.emit("reshape", [x], shape, f"shape = {shape_str(shape)}"))

    def stretch(self):
        x, a = self.pick(lambda s: len(s) < 3) or (None, None)
        if x is None:
            return
        shape = [self.random.choice(SIZES)] + [
            self.random.choice(SIZES) if d == 1 else d for d in a]
        self.keep(self.emit("broadcast_to", [x], shape, f"shape = {shape_str(shape)}"))

    def cut(self):
        x, a = self.pick(lambda s: any(d in (5, 17) for d in s)) or (None, None)
        if x is None:
            return
        starts, limits, shape = [], [], []
        for d in a:
            low, high = 0, d
            if d in (5, 17):
                low = self.random.randint(0, 2)
                high = self.random.choice([low + 2, d])
                d = high - low
            starts.append(low)
            limits.append(high)
            shape.append(d)
        self.keep(self.emit("slice", [x], shape,
                            f"starts = {shape_str(starts)}, limits = {shape_str(limits)}"))

    def pad(self):
        x, a = self.pick(lambda s: len(s) > 0)
        low = [self.random.randint(0, 2) for _ in a]
        high = [self.random.randint(0, 2) for _ in a]
        grown = [d + p + q if isinstance(d, int) else (f"{d} + {p + q}" if p + q else d)
                 for d, p, q in zip(a, low, high)]
        if any(isinstance(d, str) and "+" in d and "+" in str(g) for d, g in zip(a, grown)):
            return
        self.keep(self.emit("pad", [x], grown, f"low = {low}, high = {high}, value = 0.25"))

    def concat(self):
        x, a = self.pick(lambda s: any(isinstance(d, int) for d in s)) or (None, None)
        if x is None:
            return
        axis = self.random.choice([i for i, d in enumerate(a) if isinstance(d, int)])
        y, b = self.pick(lambda s: len(s) == len(a) and isinstance(s[axis], int) and all(
            i == axis or s[i] == a[i] for i in range(len(a))))
        shape = list(a)
        shape[axis] = a[axis] + b[axis]
        self.keep(self.emit("concat", [x, y], shape, f"axis = {axis}"))

    def flip(self):
        x, a = self.pick(lambda s: len(s) > 0)
        self.keep(self.emit("flip", [x], a, f"axes = [{self.random.randrange(len(a))}]"))

    def lookup(self):
        x, a = self.pick(lambda s: any(d in (5, 17) for d in s)) or (None, None)
        if x is None:
            return
        if self.ids is None:
            self.ids = self.param(["T"], "i64", "")
        axis = self.random.choice([i for i, d in enumerate(a) if d in (5, 17)])
        shape = a[:axis] + ["T"] + a[axis + 1:]
        rows = self.emit("gather", [x, self.ids], shape, f"axis = {axis}")
        self.keep(rows)
        if self.random.random() < 0.4:
            self.keep(self.emit("scatter_add", [x, self.ids, rows[0]], a, f"axis = {axis}"))

    def matmul(self):
        x, a = self.pick(lambda s: len(s) > 1) or (None, None)
        if x is None:
            return
        ta, tb = self.random.random() < 0.4, self.random.random() < 0.4
        m, k = (a[-1], a[-2]) if ta else (a[-2], a[-1])

        def fits(s):
            return len(s) > 1 and s[-1 if tb else -2] == k and broadcast(a[:-2], s[:-2]) is not None

        found = self.pick(fits)
        if found is None:
            n = self.random.choice(SIZES)
            found = self.param([n, k] if tb else [k, n]), [n, k] if tb else [k, n]
        y, b = found
        n = b[-2] if tb else b[-1]
        flags = f"transpose_a = {str(ta).lower()}, transpose_b = {str(tb).lower()}"
        value = self.emit("matmul", [x, y], broadcast(a[:-2], b[:-2]) + [m, n], flags)
        self.keep(value)
        if self.random.random() < 0.5:
            self.keep(self.emit("tanh", [value[0]], value[1]))

    def image(self):
        channels = self.random.choice([1, 2])
        x = self.param(["B", channels, 6, 7])
        self.values.pop()
        w = self.param([3, channels, 3, 3])
        self.values.pop()
        stride = self.random.choice([1, 2])
        side = [(d + 2 - 3) // stride + 1 for d in (6, 7)]
        y, shape = self.emit("conv2d", [x, w], ["B", 3] + side,
                             f"stride = [{stride}, {stride}], padding = [1, 1]")
        if self.random.random() < 0.6:
            y, shape = self.emit("relu", [y], shape)
        op = self.random.choice(["max_pool2d", "avg_pool2d"])
        side = [d // 2 for d in side]
        y, shape = self.emit(op, [y], ["B", 3] + side, "kernel = [2, 2]")
        size = 3 * side[0] * side[1]
        self.keep(self.emit("reshape", [y], ["B", size], f"shape = [B, {size}]"))

    STEPS = ("unary unary unary binary binary binary scalar divide where reduce reduce normalise "
             "dropout transpose reshape stretch cut pad concat flip lookup matmul matmul matmul "
             "image").split()

    def text(self):
        return assemble(self.params, self.lines, self.dtype)


def assemble(params, lines, dtype):
    """The function whose loss adds every value that no other one reads."""
    made = [re.match(r"\s*(%\w+)", line).group(1) for line in lines]
    read = set(re.findall(r"%\w+", " ".join(line.split("=", 1)[1] for line in lines)))
    out, total = list(lines), None
    tests = {m for m, line in zip(made, lines) if re.search(r"= (gt|le) ", line)}
    for i, name in enumerate(m for m in made if m not in read and m not in tests):
        out += [f"  %t{i} = sin {name}", f"  %s{i} = sum %t{i}"]
        if total is not None:
            out.append(f"  %a{i} = add {total}, %s{i}")
        total = f"%a{i}" if total is not None else f"%s{i}"
    body = "\n".join(out)
    return f"func @f({', '.join(params)})\n    -> (loss: {dtype}[]) {{\n{body}\n  return {total}\n}}\n"


class Runner:
    def __init__(self, tapeless, folder):
        self.tapeless, self.folder = tapeless, folder

    def run(self, text, passes, sizes, *more):
        path = os.path.join(self.folder, "program.tir")
        with open(path, "w") as out:
            out.write(text)
        command = [self.tapeless, "run", path, "--entry", "f.train.vjp", "--passes", passes,
                   "--set", "d.loss=%s 1" % re.search(r"loss: (\w+)", text).group(1), "--seed", "5",
                   "--max-elements", "1000000", *more]
        for symbol, size in sizes.items():
            if re.search(rf"\b{symbol}\b", text):
                command += ["--size", f"{symbol}={size}"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def failure(self, text, sizes):
        """What is wrong with a program, or None."""
        status, plain, errors = self.run(text, PASSES, sizes, "--compare")
        if status != 0:
            return errors
        status, again, errors = self.run(text, RECOMPUTE, sizes)
        if status != 0:
            return errors
        return None if plain == again else "recomputation changed the bits"


def kind(message):
    return re.sub(r"[\d.e+-]+|/\S+|%\w+|@\w+", "", message)[:60]


def minimise(program, runner, sizes, message):
    """Leaves out lines (and what reads them) as long as the same thing goes wrong."""
    lines, wanted = list(program.lines), kind(message)
    at = len(lines) - 1
    while at >= 0:
        gone, fewer = set(), []
        for i, line in enumerate(lines):
            name, rest = line.split("=", 1)
            if i == at or gone & set(re.findall(r"%\w+", rest)):
                gone.add(name.strip())
            else:
                fewer.append(line)
        if fewer:
            found = runner.failure(assemble(program.params, fewer, program.dtype), sizes)
            if found is not None and kind(found) == wanted:
                lines, message = fewer, found
                at = min(at, len(lines))
        at -= 1
    used = set(re.findall(r"%\w+", " ".join(lines)))
    params = [p for i, p in enumerate(program.params) if i < 2 or p.split(":")[0] in used]
    return assemble(params, lines, program.dtype), message


def main():
    tapeless = sys.argv[1]
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    folder = sys.argv[4] if len(sys.argv) > 4 else "."
    os.makedirs(folder, exist_ok=True)
    runner, bad = Runner(tapeless, folder), 0
    for seed in range(first, first + count):
        # In f64 the interpreter is near to every order of sums.
        program = Program(seed, "f64" if seed % 4 else "f32")
        sizes = {"B": program.random.choice([1, 3, 16, 33]), "T": program.random.choice([1, 4, 7])}
        message = runner.failure(program.text(), sizes)
        if message is None:
            continue
        bad += 1
        text, message = minimise(program, runner, sizes, message)
        path = os.path.join(folder, f"failure_{seed}.tir")
        command = (f"// RUN: %tapeless run %s --compare --entry f.train.vjp --passes '{PASSES}' "
                   + f"--set 'd.loss={program.dtype} 1' --seed 5 "
                   + " ".join(f"--size {k}={v}" for k, v in sizes.items()))
        with open(path, "w") as out:
            out.write(f"{command}\n{text}")
        print(f"seed {seed}: {message.strip()}\n{command}\n{text}", flush=True)
    print(f"{count} programs from seed {first}, {bad} failed")
    sys.exit(bad > 0)


main()
