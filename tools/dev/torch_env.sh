#!/usr/bin/env bash
# Makes .venv with PyTorch for the comparison tests. Without it those tests are skipped, which is
# said here and is no failure.
set -euo pipefail
cd "$(dirname "$0")/../.."

wanted=(torch==2.13.0 numpy safetensors)
if [ -f .venv/torch-env ] && [ "$(cat .venv/torch-env)" = "${wanted[*]}" ]; then exit 0; fi

echo "Making .venv with ${wanted[*]}"
if python3 -m venv .venv &&
  .venv/bin/python -m pip install -q --disable-pip-version-check "${wanted[@]}" </dev/null; then
  echo "${wanted[*]}" >.venv/torch-env
else
  echo "PyTorch could not be installed: the tests that compare with it will be skipped."
fi
