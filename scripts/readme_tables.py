"""What the scripts that fill README.md and src/three_pass.md share: results, Markdown tables, markers.

A table stands between `<!-- table NAME -->` and `<!-- end -->`.
"""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", ROOT / "src" / "three_pass.md"]


def load(name):
    return json.loads((RESULTS / name).read_text())


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def markers():
    """The names of all tables in the pages."""
    return [name for page in PAGES for name in re.findall(r"<!-- table (\S+) -->", page.read_text())]


def fill(tables, check):
    """Fills the pages' tables of these names; tells whether they were up to date.
    With `check`, only tells."""

    def filled(match):
        if match[1] not in tables:
            return match[0]
        return f"<!-- table {match[1]} -->\n{tables[match[1]]()}\n<!-- end -->"

    fresh = True
    for page in PAGES:
        old = page.read_text()
        new = re.sub(r"<!-- table (\S+) -->\n.*?<!-- end -->", filled, old, flags=re.S)
        fresh &= new == old
        if not check:
            page.write_text(new)
    return fresh
