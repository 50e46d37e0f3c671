"""Designs in other processes."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap

import numpy
import pytest

import placefield

COLUMNS = ("x", "y", "width", "height", "movable", "fixed", "net_start", "net_weight", "pin_node", "pin_dx", "pin_dy")


def same(one, two):
    assert type(one) is type(two) is placefield.Design
    for name in COLUMNS:
        assert numpy.array_equal(getattr(one, name), getattr(two, name)), name
    for name in ("name", "names", "net_names", "orientation", "warnings", "die", "units_per_micron"):
        assert getattr(one, name) == getattr(two, name), name
    assert one.legality() == two.legality() and one.hpwl() == two.hpwl()


def test_designs_are_pickled_whole(spread):
    design = placefield.read_design(spread, row_blockage=True)
    moved = design.with_positions(design.x[:60] + 0.1, design.y[:60])
    for of in (design, moved):
        same(pickle.loads(pickle.dumps(of)), of)
    same(copy.deepcopy(moved), moved)
    one, two = (placefield.maps(of, kinds="density", grid=8) for of in (moved, copy.copy(moved)))
    assert numpy.array_equal(one, two)
    placed = placefield.Placement(moved, 1.0, 1.0, {})
    same(pickle.loads(pickle.dumps(placed)).design, moved)


def test_a_pickled_design_needs_no_files(spread, tmp_path):
    state = pickle.dumps(placefield.read_design(spread))
    design = placefield.read_design(spread)
    for file in spread.parent.glob("s.*"):
        file.unlink()
    same(pickle.loads(state), design)


def test_states_that_are_none_are_refused(spread):
    _, (kind, state) = placefield.read_design(spread).__reduce__()
    unpickled = placefield.read_design(spread).__reduce__()[0]
    same(unpickled(kind, state), placefield.read_design(spread))
    with pytest.raises(ValueError, match="the design was pickled by placefield 9.9.9, not"):
        unpickled(kind, b"\x059.9.9" + state[6:])
    refused = 0
    for at in range(0, len(state), 97):
        for wrong in (state[:at], state[:at] + bytes([state[at] ^ 0x80]) + state[at + 1:]):
            try:
                unpickled(kind, wrong).hpwl()
            except (ValueError, MemoryError):
                refused += 1
    assert refused > 10


def wirelength(design):
    return design.hpwl(), design.legality().legal


def test_designs_are_sent_to_spawned_processes(spread):
    design = placefield.read_design(spread)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(wirelength, (design,)) == wirelength(design)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("before, said", [
    ("", "works"),
    ("work()", "RuntimeError: this process was forked from one in which placefield had worked"),
    ("engine.evaluate(engine.start())", "RuntimeError: this process was forked from"),
])
def test_a_forked_process_works_or_says_why_not(before, said):
    """The parent has worked, and so has threads that the child has not: the child would wait for them."""
    program = f"""
        import os, sys, numpy, placefield, warnings
        warnings.simplefilter("ignore")
        work = lambda: placefield.dct2(numpy.ones((64, 64)))
        make = lambda: placefield.Engine((0, 0, 8, 8), 8, [1.0], [1.0], dtype="float64")
        engine = make() if {before!r} else None
        {before or "pass"}
        child = os.fork()
        if child == 0:
            try:
                work()
                (engine or make()).evaluate([[1.0], [2.0]])
                print("works", flush=True)
            except Exception as error:
                print(f"{{type(error).__name__}}: {{error}}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        work()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(said), (done.stdout, done.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
@pytest.mark.parametrize("work", [
    "placefield.Engine((0, 0, 1, 1), 16384, [0.1], [0.1], dtype='float64')",
    "placefield.Engine((0, 0, 1, 1), 64, [0.1], [0.1], fillers=(2**31 - 9, 0.1, 0.1))",
    "placefield.Engine((0, 0, 1e4, 1e4), 64, [1.0], [2.0], fillers=True)",
    "placefield.maps(design, kinds=['rudy'] * 200, grid=2048)",
    "placefield.maps(design, kinds='density', grid=16384)",
    "placefield.maps(design, kinds='cells', grid=16384)",
    "placefield.Engine.from_design(design, 16384)",
    "placefield.place(design, bins=16384)",
    "placefield.dct2(flat)",
    "placefield.solve(flat)",
    "placefield.heat_map(flat)",
    "placefield.heat_map(numpy.ones((2, 2)), width=1000, font_size=8, dpi=400)",
])
def test_refused_memory_is_a_memory_error(spread, work):
    program = f"""
        import resource, numpy, placefield
        design = placefield.read_design({str(spread)!r})
        placefield.dct2(numpy.ones((64, 64)))
        flat = numpy.ones((10000, 10000)) if "flat" in {work!r} else None
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 700_000_000,) * 2)
        try:
            {work}
        except MemoryError as error:
            print(error)
        assert placefield.dct2(numpy.ones((8, 8)))[0, 0] == 64.0
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_pictures_of_too_many_pixels_are_refused():
    for format in ("png", "svg", "pdf"):
        with pytest.raises(ValueError, match="pixels: expected at most 268435456 in all: choose fewer dots per inch"):
            placefield.heat_map(numpy.ones((2, 2)), width=2000, font_size=2, dpi=2400, format=format)
