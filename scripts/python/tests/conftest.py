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
def script():
    """A program of scripts/ as a module."""
    def load(name):
        path = pathlib.Path(__file__).parents[2] / name
        loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(path))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        return module

    return load
