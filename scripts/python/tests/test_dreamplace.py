"""The copy of a design that benchmarks/dreamplace-place makes for DREAMPlace's reader."""

import subprocess
import sys

import pytest

import placefield

FILES = {
    "odd.aux": "RowBasedPlacement : odd.nodes odd.nets odd.wts odd.pl odd.scl\n",
    "odd.nodes": "UCLA nodes 1.0\n# a comment\nNumNodes : 5\nNumTerminals : 1\n"
                 "  a1 8.0 4.0\n  1|b 5 4\n  odd1 2 4\n  p1 1 1 terminal  :  R90 Y X\n  end 2 4\n",
    # 7.3 + 2.5 is 9.8 from the lower left corner: 10 as a whole number.
    "odd.nets": "UCLA nets 1.0\nNumNets : 3\nNumPins : 6\nNetDegree : 2\n  a1 O : 1 -2\n  1|b I : 7.3 1.0\n"
                "NetDegree : 2 n/1\n  p1 B\n  odd1 I : 0 2\n"
                "NetDegree : 2 n/1\n  end O : 0 0\n  end I : 0 0\n",
    "odd.pl": "UCLA pl 1.0\n  a1 0 0 : N\n  1|b 20.25 4 : FS\n  odd1 1e1 8 : N\n  p1 -3.6 7 : N\n  end 0 0 : N\n",
    "odd.scl": "UCLA scl 1.0\nNumRows : 2\n" + "".join(
        f"CoreRow Horizontal\n Coordinate : {y}\n Height : 4.0\n Sitewidth : 1\n Sitespacing : 1\n Siteorient : FS\n"
        f" Sitesymmetry : X Y\n SubrowOrigin : 0  NumSites : 40\nEnd\n" for y in (0, 4)),
}


@pytest.fixture
def odd(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "odd.aux"


def test_the_copy_is_the_design_in_words_that_dreamplace_reads(odd, script, tmp_path):
    aux, changed = script("dreamplace-place").readable(odd, tmp_path / "copy", "center")
    assert changed == ("2 names, 2 nets without a name of their own, 1 pins without an offset, "
                       "2 pins' offsets rounded, 1 fixed positions rounded, 1 movable cells turned to N")
    copy = placefield.read_design(aux)
    assert copy.movable.tolist() == [0, 1, 2, 4] and copy.fixed.tolist() == [3]
    # A name that is taken already is not given again.
    names = copy.names
    assert names[0] == "a1" and names[2:4] == ("odd1", "p1") and len(set(names)) == 5
    assert "1|b" not in names and "end" not in names
    columns = [column.tolist() for column in (copy.width, copy.height, copy.x, copy.y)]
    assert columns == [[8.0, 5.0, 2.0, 1.0, 2.0], [4.0, 4.0, 4.0, 1.0, 4.0], [0.0, 20.0, 10.0, -4.0, 0.0],
                       [0.0, 4.0, 8.0, 7.0, 0.0]]
    assert copy.die == placefield.read_design(odd).die
    # Net 1: pins at (5, 0) and (20 + 10, 4 + 3); net 2: half of the pad, 0.5, is rounded up to 1.
    assert copy.hpwl() == pytest.approx((30 - 5) + (7 - 0) + (11 - -3) + (12 - 8))
    words = {line.split()[0]: line.split() for line in aux.with_suffix(".pl").read_text().splitlines() if ":" in line}
    assert words["p1"][-1] == "/FIXED" and words["a1"][-1] == "N"
    nets = aux.with_suffix(".nets").read_text()
    named = [line.split()[-1] for line in nets.splitlines() if line.startswith("NetDegree")]
    assert len(named) == len(set(named)) == 3


def test_offsets_from_the_lower_left_corner_are_counted_from_the_centre(odd, script, tmp_path):
    aux, _ = script("dreamplace-place").readable(odd, tmp_path / "copy", "lower-left")
    copy = placefield.read_design(aux)
    # (1, -2), (20 + 7, 4 + 1); the pad's pin without an offset is at its centre, rounded up.
    assert copy.hpwl() == pytest.approx((27 - 1) + (5 - -2) + (10 - -3) + (10 - 8))


def test_what_dreamplace_cannot_hold_is_refused(odd, script, tmp_path):
    nodes = odd.with_suffix(".nodes")
    nodes.write_text(nodes.read_text().replace("8.0", "8.5"))
    readable = script("dreamplace-place").readable
    with pytest.raises(SystemExit, match="odd.nodes:5: DREAMPlace takes whole numbers for sizes and rows, found 8.5"):
        readable(odd, tmp_path / "copy", "center")
    with pytest.raises(SystemExit, match="No such file or directory: .*absent.aux"):
        readable(tmp_path / "absent.aux", tmp_path / "copy", "center")


@pytest.mark.parametrize("kind, line, right, wrong", [
    (".nodes", 5, "8.0 4.0", "8.0 four"), (".nodes", 6, "5 4", "5"), (".nets", 6, "7.3", "x7.3"),
    (".nets", 4, "NetDegree : 2", "NetDegree :"), (".pl", 3, "20.25 4", "20.25"), (".scl", 4, ": 0", ": zero")])
def test_a_line_that_is_none_is_named(odd, script, tmp_path, kind, line, right, wrong):
    file = odd.with_suffix(kind)
    file.write_text(file.read_text().replace(right, wrong, 1))
    with pytest.raises(SystemExit, match=f"odd{kind}:{line}: "):
        script("dreamplace-place").readable(odd, tmp_path / "copy", "center")


def test_dreamplace_starts_as_its_own_program(script, tmp_path):
    """Its program finds the modules beside it, its arguments, and a name that NumPy 2 no longer has."""
    (tmp_path / "Params.py").write_text("NAME = 'params'\n")
    program = tmp_path / "Placer.py"
    program.write_text("import numpy, sys, Params\n"
                       "print(numpy.string_ is numpy.bytes_, __name__, Params.NAME, sys.argv)\n")
    command = [sys.executable, "-c", script("dreamplace-place").START, str(program), "parameters.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=3) == ["True", "__main__", "params", f"{command[3:]}\n"]
