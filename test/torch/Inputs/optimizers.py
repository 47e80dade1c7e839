"""Weights after 50 steps of each built-in optimizer, against PyTorch from the same gradients.

Arguments: the command, a folder to write to. Each case instantiates the optimizer for one weight,
appends a function that calls it 50 times, and runs that in the interpreter.
"""

import math
import pathlib
import re
import subprocess
import sys

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

STEPS = 50
TOLERANCE = 1e-4


# --- what PyTorch does not have, in f64


def lamb(w, grads, lr=1e-3, b1=0.9, b2=0.999, eps=1e-6, wd=0.01):
    m = v = np.zeros_like(w)
    for t, g in enumerate(grads, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        u = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps) + wd * w
        w = w - lr * np.linalg.norm(w) / np.linalg.norm(u) * u
    return w


def lion(w, grads, lr=1e-4, b1=0.9, b2=0.99, wd=0.0):
    m = np.zeros_like(w)
    for g in grads:
        w = w * (1 - lr * wd) - lr * np.sign(b1 * m + (1 - b1) * g)
        m = b2 * m + (1 - b2) * g
    return w


def rowwise_adagrad(w, grads, lr=1e-2, decay=0.0, eps=1e-10):
    total = np.zeros(w.shape[0])
    for t, g in enumerate(grads, 1):
        total = total + (g * g).mean(axis=1)
        w = w - lr / (1 + (t - 1) * decay) * g / (np.sqrt(total)[:, None] + eps)
    return w


def orthogonal_f32(grad, coefficients, steps, eps):
    """PyTorch's iteration without its rounding to bf16."""
    a, b, c = coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if grad.size(0) > grad.size(1) else x


def torch_run(make):
    def run(w, grads):
        p = torch.nn.Parameter(torch.tensor(w))
        optimizer = make([p])
        for g in grads:
            p.grad = torch.tensor(g)
            optimizer.step()
        return p.detach().numpy()

    return run


def numpy_run(update, **settings):
    def run(w, grads):
        return update(w.astype(np.float64), [g.astype(np.float64) for g in grads], **settings)

    return run


O = torch.optim
MATRIX, TALL, KERNEL, VECTOR = (4, 3), (7, 3), (4, 3, 2, 2), (5,)
# Optimizer, settings in our words, shape of the weight, reference.
CASES = [
    ("sgd", "lr = 0.1", MATRIX, torch_run(lambda p: O.SGD(p, lr=0.1))),
    (
        "sgd",
        "lr = 0.1, momentum = 0.9, dampening = 0.2, weight_decay = 0.01",
        MATRIX,
        torch_run(lambda p: O.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01)),
    ),
    (
        "sgd",
        "lr = 0.1, momentum = 0.9, nesterov = true",
        VECTOR,
        torch_run(lambda p: O.SGD(p, lr=0.1, momentum=0.9, nesterov=True)),
    ),
    ("adam", "lr = 0.01", MATRIX, torch_run(lambda p: O.Adam(p, lr=0.01))),
    (
        "adam",
        "lr = 0.01, weight_decay = 0.1, amsgrad = true",
        KERNEL,
        torch_run(lambda p: O.Adam(p, lr=0.01, weight_decay=0.1, amsgrad=True)),
    ),
    ("adamw", "lr = 0.01", MATRIX, torch_run(lambda p: O.AdamW(p, lr=0.01))),
    (
        "adamw",
        "lr = 0.01, weight_decay = 0.1, amsgrad = true",
        MATRIX,
        torch_run(lambda p: O.AdamW(p, lr=0.01, weight_decay=0.1, amsgrad=True)),
    ),
    ("adagrad", "", MATRIX, torch_run(lambda p: O.Adagrad(p))),
    (
        "adagrad",
        "lr_decay = 0.1, weight_decay = 0.01, initial_accumulator_value = 0.5",
        MATRIX,
        torch_run(
            lambda p: O.Adagrad(
                p, lr_decay=0.1, weight_decay=0.01, initial_accumulator_value=0.5
            )
        ),
    ),
    ("rowwise_adagrad", "lr_decay = 0.1", MATRIX, numpy_run(rowwise_adagrad, decay=0.1)),
    ("adadelta", "", MATRIX, torch_run(lambda p: O.Adadelta(p))),
    (
        "adadelta",
        "lr = 0.5, weight_decay = 0.1",
        MATRIX,
        torch_run(lambda p: O.Adadelta(p, lr=0.5, weight_decay=0.1)),
    ),
    ("rmsprop", "", MATRIX, torch_run(lambda p: O.RMSprop(p))),
    (
        "rmsprop",
        "momentum = 0.9, centered = true, weight_decay = 0.1",
        MATRIX,
        torch_run(lambda p: O.RMSprop(p, momentum=0.9, centered=True, weight_decay=0.1)),
    ),
    ("lamb", "", MATRIX, numpy_run(lamb)),
    ("lion", "weight_decay = 0.1", MATRIX, numpy_run(lion, wd=0.1)),
    ("adafactor", "", MATRIX, torch_run(lambda p: O.Adafactor(p))),
    ("adafactor", "weight_decay = 0.1", KERNEL, torch_run(lambda p: O.Adafactor(p, weight_decay=0.1))),
    ("adafactor", "", VECTOR, torch_run(lambda p: O.Adafactor(p))),
    ("muon", "lr = 0.01", MATRIX, torch_run(lambda p: O.Muon(p, lr=0.01))),
    (
        "muon",
        "lr = 0.01, adjust_lr = match_rms_adamw, nesterov = false",
        TALL,
        torch_run(lambda p: O.Muon(p, lr=0.01, adjust_lr_fn="match_rms_adamw", nesterov=False)),
    ),
]

DEFAULTS = re.compile(r"optimizer @\w+\(([^)]*)\)")


def initial_hypers(name, settings):
    """The defaults in the built-in text, then the settings."""
    path = pathlib.Path(__file__).parents[3] / "tapeless/optim/builtin" / f"{name}.tir"
    pairs = DEFAULTS.search(path.read_text())[1].split(",")
    pairs += [pair for pair in settings.split(",") if pair.strip()]
    return dict(map(str.strip, pair.split("=")) for pair in pairs)


def instantiated(command, name, settings, shape, folder):
    empty = folder / "empty.tir"
    empty.write_text("")
    weight = f"f32[{', '.join(map(str, shape))}]"
    passes = f'instantiate{{optimizer = {name}, weight = "{weight}", settings = "{settings}"}}'
    run = [command, "opt", str(empty), "--passes", passes]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout


def fifty_steps(name, text, settings, shape):
    """A function that calls the update for each slice of %grads."""
    head = re.search(r"func @\w+\((.*?)\) -> ", text)[1]
    params = [re.match(r"%(\w+): (.*) (\w+)$", p).groups() for p in re.split(r", (?=%)", head)]
    states = [(n, t) for n, t, role in params if role == "state"]
    hypers = [n for n, _, role in params if role == "hyper"]
    values = initial_hypers(name, settings)
    dims = ", ".join(map(str, shape))
    inputs = [f"%w: f32[{dims}]", f"%grads: f32[{STEPS}, {dims}]"]
    inputs += [f"%{n}: {t}" for n, t in states]
    lines = [
        f"  %{h} = constant {{value = f64 {float(values[h])!r}}}" for h in hypers if h != "step"
    ]
    held = {n: f"%{n}" for n in ["w", *(n for n, _ in states)]}
    for t in range(STEPS):
        starts = ", ".join(["%d" % t] + ["0"] * len(shape))
        limits = ", ".join(["%d" % (t + 1)] + list(map(str, shape)))
        lines.append(f"  %s{t} = slice %grads {{starts = [{starts}], limits = [{limits}]}}")
        lines.append(f"  %g{t} = reshape %s{t} {{shape = [{dims}]}}")
        lines.append(f"  %step{t} = constant {{value = f64 {t + 1}.0}}")
        new = {n: f"%{n}.{t}" for n in held}
        args = [held["w"], f"%g{t}", *(held[n] for n, _ in states)]
        args += [f"%step{t}" if h == "step" else f"%{h}" for h in hypers]
        lines.append(f"  {', '.join(new.values())} = call @{name} {', '.join(args)}")
        held = new
    body = "\n".join(lines)
    return f"func @fifty({', '.join(inputs)}) -> (w: f32[{dims}]) {{\n{body}\n  return {held['w']}\n}}\n"


def initial_states(name, text, settings, w):
    head = re.search(r"func @\w+\((.*?)\) -> ", text)[1]
    fill = float(initial_hypers(name, settings).get("initial_accumulator_value", 0))
    out = {}
    for state, dims in re.findall(r"%(\w+): f32\[([^\]]*)\] state", head):
        out[state] = np.full([int(d) for d in dims.split(",") if d], fill, np.float32)
    return out


def ours(command, name, settings, shape, w, grads, folder):
    text = instantiated(command, name, settings, shape, folder)
    program = folder / "program.tir"
    program.write_text(text + "\n" + fifty_steps(name, text, settings, shape))
    tensors = {"w": w, "grads": grads, **initial_states(name, text, settings, w)}
    save_file(tensors, folder / "in.safetensors")
    run = [command, "run", str(program), "--entry", "fifty", "--interp"]
    run += ["--in", str(folder / "in.safetensors"), "--out", str(folder / "out.safetensors")]
    subprocess.run(run, check=True, capture_output=True)
    return load_file(folder / "out.safetensors")["w"]


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    torch.optim._muon._zeropower_via_newtonschulz = orthogonal_f32
    bad = 0
    for name, settings, shape, reference in CASES:
        random = np.random.default_rng(7)
        w = random.standard_normal(shape, np.float32)
        grads = random.standard_normal((STEPS, *shape), np.float32)
        expected = reference(w.copy(), list(grads))
        got = ours(command, name, settings, shape, w, grads, folder)
        error = np.abs(got - expected).max() / max(np.abs(expected).max(), math.ulp(1))
        bad += error > TOLERANCE
        print(f"{name:16} {settings:70} {error:.1e}{'' if error <= TOLERANCE else '  DIFFERS'}")
    print("all agree" if bad == 0 else f"{bad} differ")


main()
