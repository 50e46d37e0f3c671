"""What the scripts that fill the README share: results, Markdown tables, markers.

A table stands between `<!-- table NAME -->` and `<!-- end -->`.
"""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"


def load(name):
    return json.loads((RESULTS / name).read_text())


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def markers():
    """The names of all tables in the README."""
    return re.findall(r"<!-- table (\S+) -->", README.read_text())


def fill(tables, check):
    """Fills the README's tables of these names; tells whether it was up to date.
    With `check`, only tells."""
    old = README.read_text()

    def filled(match):
        if match[1] not in tables:
            return match[0]
        return f"<!-- table {match[1]} -->\n{tables[match[1]]()}\n<!-- end -->"

    new = re.sub(r"<!-- table (\S+) -->\n.*?<!-- end -->", filled, old, flags=re.S)
    if not check:
        README.write_text(new)
    return new == old
