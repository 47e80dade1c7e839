#!/usr/bin/env python3
"""Keys of train/recipe.cpp that docs/recipes.md does not have."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
reader = (root / "tapeless/train/recipe.cpp").read_text()
page = (root / "docs/recipes.md").read_text()
keys = re.findall(r'\b(?:s|top)\.\w+\(\s*"(\w+)"', reader)
missing = [key for key in keys if not re.search(rf"`{key}`|\[{key}\]", page)]
sys.exit(f"docs/recipes.md lacks {', '.join(missing)}" if missing or not keys else 0)
