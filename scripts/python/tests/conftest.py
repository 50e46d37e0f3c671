"""Engines and densities that the tests share."""

import importlib.machinery
import importlib.util
import pathlib

import numpy
import pytest

import placefield

DIE, BINS = (5.0, -7.0, 45.0, 53.0), (20, 15)   # bins of 2 x 4, off the origin


@pytest.fixture
def cells():
    random = numpy.random.default_rng(7)
    n = 40
    width, height = random.uniform(0.5, 6.0, n), random.uniform(1.0, 9.0, n)
    x, y = random.uniform(8.0, 30.0, n), random.uniform(-5.0, 35.0, n)
    return {"width": width, "height": height, "x": x, "y": y}


@pytest.fixture
def make(cells):
    def make(**options):
        options = {**cells, "dtype": "float64", "threads": 2, "fixed": [(5.0, -7.0, 6.0, 20.0)], **options}
        return placefield.Engine(DIE, BINS, **options)

    return make


@pytest.fixture
def aux(tmp_path):
    """Forty cells in a chain, too many for the two bins that they start in."""
    widths = [2 + k % 3 for k in range(40)]
    rows = "".join(
        f"CoreRow Horizontal\n Coordinate : {10 * r}\n Height : 10\n Sitewidth : 1\n Sitespacing : 1\n"
        f" Siteorient : 1\n Sitesymmetry : 1\n SubrowOrigin : 0 NumSites : 60\nEnd\n" for r in range(6))
    files = {
        "d.aux": "RowBasedPlacement : d.nodes d.nets d.pl d.scl\n",
        "d.nodes": "UCLA nodes 1.0\nNumNodes : 41\nNumTerminals : 1\n"
                   + "".join(f"c{k} {w} 10\n" for k, w in enumerate(widths)) + "f 10 10 terminal\n",
        "d.nets": "UCLA nets 1.0\nNumNets : 40\nNumPins : 80\n" + "".join(
            f"NetDegree : 2 n{k}\nc{k} I : 0 0\n{'f' if k == 39 else f'c{k + 1}'} O : 0 0\n" for k in range(40)),
        "d.pl": "UCLA pl 1.0\n" + "".join(f"c{k} 30 20 : N\n" for k in range(40)) + "f 0 0 : N /FIXED\n",
        "d.scl": "UCLA scl 1.0\nNumRows : 6\n" + rows,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "d.aux"


@pytest.fixture
def spread(tmp_path):
    """Sixty cells of several sizes all over a die of 120 x 60 that is off the origin, a block, and nets of two to five
    pins with offsets from cells' centres, some turned."""
    random = numpy.random.default_rng(3)
    width, height = random.integers(2, 9, 60), numpy.where(numpy.arange(60) % 7 == 0, 20, 10)
    turns = random.choice(["N", "S", "FN", "E", "FW"], 60, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    at = numpy.stack([random.uniform(20, 130, 60), random.uniform(-30, 10, 60)]).round(3)
    nets, pins = [], 0
    for k in range(80):
        degree = random.integers(2, 6)
        nodes = [f"c{i}" for i in random.choice(60, degree - 1, replace=False)] + (["f"] if k % 9 == 0 else ["c5"])
        offsets = random.uniform(-1, 1, (degree, 2)).round(3)
        nets.append(f"NetDegree : {degree} n{k}\n" + "".join(
            f" {node} I : {dx} {dy}\n" for node, (dx, dy) in zip(nodes, offsets)))
        pins += degree
    rows = "".join(
        f"CoreRow Horizontal\n Coordinate : {-30 + 10 * r}\n Height : 10\n Sitewidth : 1\n Sitespacing : 1\n"
        f" Siteorient : 1\n Sitesymmetry : 1\n SubrowOrigin : 20 NumSites : 120\nEnd\n" for r in range(6))
    files = {
        "s.aux": "RowBasedPlacement : s.nodes s.nets s.wts s.pl s.scl\n",
        "s.nodes": "UCLA nodes 1.0\nNumNodes : 61\nNumTerminals : 1\n"
                   + "".join(f"c{k} {width[k]} {height[k]}\n" for k in range(60)) + "f 30 20 terminal\n",
        "s.nets": f"UCLA nets 1.0\nNumNets : 80\nNumPins : {pins}\n" + "".join(nets),
        "s.wts": "UCLA wts 1.0\n" + "".join(f"n{k} {1 + k % 3}\n" for k in range(80)),
        "s.pl": "UCLA pl 1.0\n" + "".join(f"c{k} {at[0, k]} {at[1, k]} : {turns[k]}\n" for k in range(60))
                + "f 90 0 : N /FIXED\n",
        "s.scl": "UCLA scl 1.0\nNumRows : 6\n" + rows,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "s.aux"


@pytest.fixture
def script():
    """A program of benchmarks/ as a module; scripts/gpu-pack copies these programs beside the package's folder."""
    def load(name):
        folders = pathlib.Path(__file__).parents
        path = next(path for path in (folders[2] / name, folders[3] / "benchmarks" / name) if path.is_file())
        loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(path))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        return module

    return load
