#!/usr/bin/env python3
"""Relative links of the pages whose targets are not there."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pages = [root / "README.md", *root.glob("docs/*.md"), *root.glob("tapeless/**/README.md")]


def prose(page):
    return re.sub(r"```.*?```|`[^`\n]*`(?!\])", "", page.read_text(), flags=re.S)


broken = [
    f"{page.relative_to(root)}: {target}"
    for page in pages
    for target in re.findall(r"\]\(([^)#\s]+)", prose(page))
    if "://" not in target and not (page.parent / target).exists()
]
sys.exit("\n".join(broken) if broken or len(pages) < 3 else 0)
