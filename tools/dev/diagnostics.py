"""Finds the messages of errors in C++ sources, for check_tree.py."""

import re

# Calls that raise or collect an error of the user: compile_error(loc, "..."), a stage's own
# fail("...") or report_error(...), and Diagnostic{loc, "..."}.
CALLEE = r"(?:\w+_)?error|fail|\w+_fail|throw_\w+|(?!Internal)\w*Error|Diagnostic"
RAISES = re.compile(rf"\b(?:{CALLEE})\s*[({{]")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
ADJACENT = re.compile(r'"\s*\n?\s*"')
SHORTEST = 6


def call_text(text, start):
    """The text from an opening bracket to its partner, strings respected."""
    depth, position = 0, start
    while position < len(text):
        literal = LITERAL.match(text, position)
        if literal:
            position = literal.end()
            continue
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[position], 0)
        position += 1
        if depth == 0:
            break
    return text[start:position]


def constant_part(literal):
    """The longest run of the message that is not a placeholder."""
    plain = literal.replace("{{", "\0").replace("}}", "\1")
    plain = re.sub(r"\\(.)", lambda m: {"n": "{}", "t": "{}"}.get(m[1], m[1]), plain)
    parts = re.split(r"\{[^}]*\}", plain)
    longest = max(parts, key=len).strip()
    return longest.replace("\0", "{").replace("\1", "}")


def messages(text):
    """The constant parts of all messages in one source file."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
    found = set()
    for call in RAISES.finditer(text):
        body = ADJACENT.sub("", call_text(text, call.end() - 1))
        literals = LITERAL.findall(body)
        parts = [part for part in map(constant_part, literals) if len(part) >= SHORTEST]
        if parts:
            found.add(parts[0])
    return found


def untested(sources, tests):
    """`file: message` for each message that the text of the tests does not contain."""
    return [
        f"{file}: {message}"
        for file, text in sources.items()
        for message in messages(text)
        if message not in tests
    ]
