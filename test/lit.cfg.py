"""Text tests: %tapeless runs the command, FileCheck reads its output, `not` expects failure.

Substitutions: %tapeless %python %data %source %build %cxx %cmake %unprivileged, and lit's own %s %t %T.
Features to REQUIRE: torch, avx512, fashion-mnist, sanitizer.
"""

import os
import subprocess
import sys

import lit.formats

site = {}
with open(lit_config.params["site"]) as site_file:
    exec(site_file.read(), site)

config.name = "tapeless"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tir", ".test"]
config.excludes = ["Inputs", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(site["build_dir"], "test", "lit")


def find_python():
    """The Python of the PyTorch tests: told, or the environment made by `make torch-env`."""
    local = os.path.join(site["source_dir"], ".venv", "bin", "python")
    told = os.environ.get("TAPELESS_PYTHON")
    return told or (local if os.path.exists(local) else sys.executable)


def has_torch(python):
    # Finding the package costs milliseconds, importing it seconds.
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    return subprocess.run([python, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


def has_cpu_flag(flag):
    try:
        with open("/proc/cpuinfo") as info:
            return any(flag in line.split() for line in info if line.startswith("flags"))
    except OSError:
        return False


def unprivileged():
    """Before a command: permissions of files hold for it, also where the tests run as root."""
    return "setpriv --bounding-set=-dac_override,-dac_read_search" if os.geteuid() == 0 else "env"


python = find_python()
data = "/usr/share/datasets"
if has_torch(python):
    config.available_features.add("torch")
if has_cpu_flag("avx512f"):
    config.available_features.add("avx512")
if os.path.isdir(os.path.join(data, "fashion-mnist")):
    config.available_features.add("fashion-mnist")
if site["sanitizer"]:
    config.available_features.add("sanitizer")

config.substitutions += [
    ("%tapeless", os.path.join(site["tools_dir"], "tapeless")),
    ("%python", python),
    ("%data", data),
    ("%source", site["source_dir"]),
    ("%build", site["build_dir"]),
    ("%cxx", site["cxx"]),
    ("%cmake", site["cmake"]),
    ("%unprivileged", unprivileged()),
]

llvm_tools = "/usr/lib/llvm-19/bin"
config.environment["PATH"] = os.pathsep.join([site["tools_dir"], llvm_tools, os.environ["PATH"]])
# Tests share no cache with the user and find no terminal.
config.environment["TAPELESS_CACHE"] = os.path.join(site["build_dir"], "test", "cache")
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=error"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "TAPELESS_DATA"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
