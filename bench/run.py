"""Step times of Tapeless and PyTorch eager, side by side: A B A B, medians over the counted steps.

The same first weights and batches for both; before any time is taken, the losses without dropout
are compared. Without PyTorch, only our own times are printed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# The peer's rate, and without what eager's optimizer has no word for: decay of weights but not of
# biases.
SET = {"cnn-bn": ["--set", "optimizer.weight_decay=0", "--set", "optimizer.lr=0.05"]}
ROWS = [("mlp-tiny", 8), ("mlp", 32), ("cnn", 64), ("cnn", 256), ("cnn-bn", 64)]


def find_torch_python():
    local = os.path.join(ROOT, ".venv", "bin", "python")
    for python in (os.environ.get("TAPELESS_PYTHON"), local, sys.executable):
        if not python or not os.path.exists(python):
            continue
        probe = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
        if subprocess.run([python, "-c", probe]).returncode == 0:
            return python
    return None


def ours(args, workload, batch, threads, steps, files, extra=()):
    command = [args.tapeless, "bench", os.path.join(ROOT, "recipes", workload + ".toml"),
               "--batch", str(batch), "--threads", str(threads), "--steps", str(steps),
               "--json", "-", *SET.get(workload, []), *extra]
    if files:
        command += ["--init", files[0], "--batches", files[1]]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peer_command(python, workload, batch, threads, *more):
    return [python, os.path.join(HERE, "peers", "torch_eager.py"), workload,
            "--batch", str(batch), "--threads", str(threads), *more]


class Peer:
    """A served peer, idle while ours runs: its threads sleep by the time that ours has started."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit("the PyTorch peer did not start")

    def times(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["times"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def worst_difference(ours_losses, peer_losses):
    return max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(ours_losses, peer_losses))


def measure(args, python, workload, batch, threads, folder):
    files = [os.path.join(folder, f"{workload}.{batch}.{kind}.safetensors")
             for kind in ("init", "batches")]
    shot = peer_command(python, workload, batch, threads, "--no-dropout", "--steps", "10",
                        "--save-init", files[0], "--save-batches", files[1])
    peer_losses = json.loads(subprocess.run(shot, check=True, capture_output=True,
                                            text=True).stdout)["losses"]
    mine = ours(args, workload, batch, threads, 10, files, ["--no-dropout"])
    peer = Peer(peer_command(python, workload, batch, threads, "--serve", "--init", files[0]))
    peer.times(args.warmup)
    a, b = [], []
    for _ in range(args.rounds):
        a.append(ours(args, workload, batch, threads, args.steps, files)["step_ms_median"])
        b.append(statistics.median(peer.times(args.steps)))
    peer.close()
    return {"workload": workload, "batch": batch, "threads": threads,
            "tapeless_ms": statistics.median(a), "torch_ms": statistics.median(b),
            "ratio": statistics.median(a) / statistics.median(b),
            "loss_difference": worst_difference(mine["losses"], peer_losses)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tapeless", default=os.path.join(ROOT, "build", "bin", "tapeless"))
    parser.add_argument("--only", help="workloads, separated by commas")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--steps", type=int, default=20, help="counted steps a round")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one object a row")
    args = parser.parse_args()
    python = find_torch_python()
    if not python:
        print("PyTorch is not importable (make torch-env): our own times only")
    rows = [r for r in ROWS if not args.only or r[0] in args.only.split(",")]
    print(f"{'workload':<10}{'batch':>6}{'threads':>8}{'tapeless ms':>13}{'eager ms':>10}"
          f"{'ratio':>8}{'losses differ by':>18}")
    with tempfile.TemporaryDirectory() as folder:
        for workload, batch in rows:
            for threads in map(int, args.threads.split(",")):
                if not python:
                    mine = ours(args, workload, batch, threads, args.steps, None)
                    print(f"{workload:<10}{batch:>6}{threads:>8}{mine['step_ms_median']:>13.3f}")
                    continue
                row = measure(args, python, workload, batch, threads, folder)
                if args.json:
                    print(json.dumps(row), flush=True)
                    continue
                print(f"{workload:<10}{batch:>6}{threads:>8}{row['tapeless_ms']:>13.3f}"
                      f"{row['torch_ms']:>10.3f}{row['ratio']:>8.2f}"
                      f"{row['loss_difference']:>18.1e}", flush=True)


if __name__ == "__main__":
    main()
