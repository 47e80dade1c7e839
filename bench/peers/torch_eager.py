"""A workload's training step in PyTorch eager, as fast as eager gets.

One shot (parity):  torch_eager.py cnn --steps 200 --no-dropout --save-init i.safetensors
                    --save-batches b.safetensors --json -
Served (bench):     torch_eager.py cnn --serve      reads steps to do a line, writes step times
"""

import argparse
import gzip
import json
import os
import sys
import time

os.environ.setdefault("MALLOC_MMAP_MAX_", "0")
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", "4294967296")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from torch import nn  # noqa: E402

DATA = "/usr/share/datasets/fashion-mnist"


class Cnn(nn.Module):
    def __init__(self, batch_norm, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.bn1 = nn.BatchNorm2d(32) if batch_norm else nn.Identity()
        self.bn2 = nn.BatchNorm2d(64) if batch_norm else nn.Identity()
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)
        self.rates = (0.25, 0.5) if dropout else (0.0, 0.0)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.dropout(F.max_pool2d(x, 2), self.rates[0], self.training and self.rates[0] > 0)
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        x = F.dropout(x, self.rates[1], self.training and self.rates[1] > 0)
        return F.log_softmax(self.fc2(x), dim=1)


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.fc1 = nn.Linear(inputs, hidden)
        self.fc2 = nn.Linear(hidden, outputs)

    def forward(self, x):
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


# model, input shape, classes, batch, optimizer, learning rate
WORKLOADS = {
    "cnn": (lambda d: Cnn(False, d), (1, 28, 28), 10, 64, "adadelta", 1.0),
    "cnn-bn": (lambda d: Cnn(True, d), (1, 28, 28), 10, 64, "momentum", 0.05),
    "mlp": (lambda d: Mlp(784, 256, 10), (784,), 10, 32, "sgd", 0.01),
    "mlp-tiny": (lambda d: Mlp(16, 32, 4), (16,), 4, 8, "sgd", 0.01),
}


def make_optimizer(name, parameters, rate):
    if name == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate)
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=rate, fused=True)
    momentum = 0.9 if name == "momentum" else 0.0
    nesterov = momentum > 0
    return torch.optim.SGD(parameters, lr=rate, momentum=momentum, nesterov=nesterov, fused=True)


def read_idx(path):
    with gzip.open(path) as file:
        data = file.read()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def make_batches(shape, classes, batch, count):
    """x f32 [count, batch, ...] and y i64 [count, batch]; images where there are any."""
    rng = np.random.default_rng(0)
    if shape == (1, 28, 28) and os.path.isdir(DATA):
        rows = rng.permutation(60000)[: batch * count]
        rows = np.resize(rows, batch * count)
        x = read_idx(f"{DATA}/train-images-idx3-ubyte.gz")[rows].astype(np.float32) / 255
        y = read_idx(f"{DATA}/train-labels-idx1-ubyte.gz")[rows].astype(np.int64)
    else:
        x = rng.standard_normal((batch * count, *shape), dtype=np.float32)
        y = rng.integers(0, classes, batch * count)
    x = torch.from_numpy(x).reshape(count, batch, *shape).contiguous()
    return x, torch.from_numpy(y).reshape(count, batch).contiguous()


class Run:
    def __init__(self, args):
        make, shape, classes, batch, optimizer, rate = WORKLOADS[args.workload]
        torch.manual_seed(0)
        self.model = make(not args.no_dropout).train()
        self.x, self.y = make_batches(shape, classes, args.batch or batch, args.batches)
        if args.save_init:
            tensors = {k: v.contiguous() for k, v in self.model.state_dict().items()
                       if not k.endswith("num_batches_tracked")}
            save_file(tensors, args.save_init)
        if args.save_batches:
            save_file({"x": self.x, "y": self.y}, args.save_batches)
        if args.init:
            self.model.load_state_dict(load_file(args.init), strict=False)
        self.optimizer = make_optimizer(args.optimizer or optimizer, self.model.parameters(),
                                        args.lr or rate)
        self.done = 0

    def step(self):
        i = self.done % len(self.x)
        self.done += 1
        begin = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.nll_loss(self.model(self.x[i]), self.y[i])
        loss.backward()
        self.optimizer.step()
        return time.perf_counter() - begin, loss

    def steps(self, count):
        times, losses = [], []
        for _ in range(count):
            seconds, loss = self.step()
            times.append(1e3 * seconds)
            losses.append(loss.item())
        return times, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--batches", type=int, default=20, help="distinct batches in memory")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--optimizer", choices=["sgd", "momentum", "adadelta", "adamw"])
    parser.add_argument("--lr", type=float, default=0)
    parser.add_argument("--no-dropout", action="store_true")
    parser.add_argument("--init", help="start from these parameters")
    parser.add_argument("--save-init", help="write the first parameters")
    parser.add_argument("--save-batches", help="write the batches: x [N, B, ...], y [N, B]")
    parser.add_argument("--serve", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    run = Run(args)
    if not args.serve:
        times, losses = run.steps(args.steps)
        print(json.dumps({"workload": args.workload, "losses": losses,
                          "step_ms_median": float(np.median(times))}))
        return
    print("ready", flush=True)
    for line in sys.stdin:
        times, losses = run.steps(int(line))
        print(json.dumps({"times": times, "losses": losses}), flush=True)


if __name__ == "__main__":
    main()
