"""The package with NumPy alone."""

import json
import pathlib
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import placefield


def modes(nx, ny, p, q, bin_x, bin_y):
    """rho of one mode, and phi, Ex, Ey that belong to it."""
    u, v = numpy.pi * p / nx, numpy.pi * q / ny * bin_x / bin_y
    i, j = numpy.arange(nx)[:, None] + 0.5, numpy.arange(ny)[None, :] + 0.5
    a, b = numpy.pi * p / nx * i, numpy.pi * q / ny * j
    rho, square = numpy.cos(a) * numpy.cos(b), u * u + v * v
    return rho, rho / square, u * numpy.sin(a) * numpy.cos(b) / square, v * numpy.cos(a) * numpy.sin(b) / square


@pytest.mark.parametrize("dtype, close", [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("pipeline", [None, "row-column", "fused", "three-pass"])
def test_solve_is_poissons_equation(dtype, close, pipeline):
    rho, phi, ex, ey = modes(20, 15, 3, 2, 2.0, 5.0)
    field = placefield.solve((rho + 0.5).astype(dtype), (2.0, 5.0), pipeline=pipeline)
    for got, want in zip(field, (phi, ex, ey)):
        assert got.dtype == dtype and got.shape == (20, 15)
        assert abs(got - want).max() < close
    assert field.energy == pytest.approx((phi * rho).sum(), rel=1e-5)


def by_definition(kind, x):
    n = len(x)
    k, i = numpy.arange(n)[:, None], numpy.arange(n)[None, :]
    if kind == "dct":
        return (numpy.cos(numpy.pi * (i + 0.5) * k / n) * x).sum(1)
    wave = numpy.cos if kind == "idct" else numpy.sin
    table = wave(numpy.pi * i * (k + 0.5) / n)
    if kind == "idct":
        table[:, 0] = 0.5
    return (table * x).sum(1)


@pytest.mark.parametrize("kind", ["dct", "idct", "idxst"])
def test_lines(kind):
    x = numpy.random.default_rng(1).normal(size=(3, 4, 10))
    want = numpy.apply_along_axis(lambda line: by_definition(kind, line), 2, x)
    assert abs(getattr(placefield, kind)(x) - want).max() < 1e-12


@pytest.mark.parametrize("kind, along", [
    ("dct2", ("dct", "dct")), ("idct2", ("idct", "idct")), ("idct_idxst", ("idct", "idxst")),
    ("idxst_idct", ("idxst", "idct")),
])
def test_maps(kind, along):
    x = numpy.random.default_rng(2).normal(size=(2, 6, 9))
    want = x
    for axis, name in zip((1, 2), along):
        want = numpy.apply_along_axis(lambda line: by_definition(name, line), axis, want)
    assert abs(getattr(placefield, kind)(x) - want).max() < 1e-12
    assert abs(placefield.idct2(placefield.dct2(x)) - 6 * 9 / 4 * x).max() < 1e-12


def test_a_step(make, cells):
    engine = make(fillers=True, target_density=0.9)
    assert engine.bins == (20, 15) and engine.bin_size == (2.0, 4.0) and engine.movable == 40
    start = engine.start()
    assert start.shape == (2, engine.bodies) and engine.bodies > 40
    assert numpy.array_equal(start[0, :40], cells["x"]) and numpy.array_equal(start[1, :40], cells["y"])
    step = engine.evaluate(start)
    again = engine.evaluate(start.reshape(-1))
    assert (step.overflow, step.max_density, step.energy) == (again.overflow, again.max_density, again.energy)
    rho, phi, (ex, ey) = engine.density(), engine.potential(), engine.field()
    assert (phi * rho).sum() == pytest.approx(step.energy)
    # The library's own solve of the density that the engine made.
    field = placefield.solve(rho, engine.bin_size)
    for got, want in zip(field, (phi, ex, ey)):
        assert abs(got - want).max() < 1e-10
    force = engine.force()
    out = numpy.ones_like(force)
    assert engine.gradient(out, weight=-2.0, accumulate=True) is out
    assert abs(out - (1.0 - 2.0 * force)).max() < 1e-12
    assert engine.exact()[0] > 0.0
    # Moved along the force, cells overflow less.
    assert engine.evaluate(start + 0.05 * force).energy < step.energy


def test_positions_are_x_then_y(make):
    engine = make(fixed=None)
    here = engine.start()
    left, below = here.copy(), here.copy()
    left[0] = 6.0
    below[1] = -6.0
    engine.evaluate(left)
    assert engine.density()[10:].sum() == 0.0
    engine.evaluate(below)
    assert engine.density()[:, 8:].sum() == 0.0


def test_results_are_the_same_for_any_number_of_threads(make):
    one, two = make(threads=1, dtype="float32"), make(threads=2, dtype="float32")
    at = one.start()
    assert one.evaluate(at).energy == two.evaluate(at).energy
    assert numpy.array_equal(one.force(), two.force())


def test_sizes_of_cells_and_fillers_can_be_read_and_given_back(make, cells):
    engine = make(fillers=True, target_density=0.9)
    width, height = engine.sizes()
    assert width.shape == (engine.bodies,) and engine.bodies > 40
    assert numpy.array_equal(width[:40], cells["width"]) and numpy.array_equal(height[:40], cells["height"])
    assert len({*zip(width[40:], height[40:])}) == 1 and (width[40:] > 0).all() and (height[40:] > 0).all()
    before = engine.evaluate(engine.start()).energy
    engine.set_sizes(width, height)
    assert engine.evaluate(engine.start()).energy == before
    assert list(engine.region_target_densities()) == [0.9]
    # Cells that do not fit at the given density raise it.
    assert make(fillers=True, target_density=0.01).region_target_densities()[0] > 0.01


def test_a_changed_engine_is_as_one_made_so(make, cells):
    engine = make(fillers=False)
    at = engine.start()
    width, height = cells["width"] * 1.5, cells["height"]
    engine.set_sizes(width, height)
    with pytest.raises(RuntimeError):
        engine.force()
    inflated = engine.evaluate(at)
    assert inflated.energy == make(fillers=False, width=width).evaluate(at).energy
    assert inflated.energy != make(fillers=False, width=height, height=width).evaluate(at).energy
    taken = numpy.zeros(engine.bins)
    taken[3, 1] = 4.0
    engine.set_blocked_area(taken)
    assert engine.evaluate(at).energy != inflated.energy
    engine.set_blocked_area(None)
    targets = numpy.ones(engine.bins)
    targets[:10] = 0.25
    engine.set_target_densities(targets)
    assert engine.evaluate(at).overflow > inflated.overflow
    engine.set_target_densities(None)
    assert engine.evaluate(at).energy == inflated.energy
    stays = numpy.arange(40) == 7
    engine.set_fixed_cells(stays, at[0], at[1])
    energy = engine.evaluate(at).energy
    assert engine.force()[:, 7].tolist() == [0.0, 0.0] and engine.force()[0, 8] != 0.0
    assert engine.evaluate(at + 5.0 * stays).energy == energy

    filled = make(fillers=True)
    before = filled.bodies
    filled.set_blocked_area(numpy.full(filled.bins, 4.0))
    filled.refill()
    assert 40 < filled.bodies < before
    assert filled.start().shape == (2, filled.bodies)
    assert filled.evaluate(filled.start()).energy > 0.0


def test_changes_that_do_not_fit(make):
    engine = make()
    at = engine.start()
    energy = engine.evaluate(at).energy
    sizes = numpy.ones(engine.bodies)
    for call, text in [
        (lambda: engine.set_sizes(sizes[1:], sizes), "widths of bodies"),
        (lambda: engine.set_sizes(-sizes, sizes), "width of body 0"),
        (lambda: engine.set_sizes(sizes, sizes * numpy.nan), "height of body 0"),
        (lambda: engine.set_fixed_cells([True], sizes[:1], sizes[:1]), "fixed cells"),
        (lambda: engine.set_blocked_area(numpy.zeros((15, 20))), "area: expected shape"),
        (lambda: engine.set_blocked_area(-numpy.ones(engine.bins)), "blocked area of bin"),
        (lambda: engine.set_target_densities(numpy.zeros(engine.bins)), "target density of bin"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    assert engine.evaluate(at).energy == energy


@pytest.mark.parametrize("spoil, error, text", [
    (lambda p: p.astype("float32"), TypeError, "positions: expected float64, found float32"),
    (lambda p: p.astype("int64"), TypeError, "positions: expected float32 or float64, found int64"),
    (lambda p: p.astype(">f8"), TypeError, "positions: expected float32 or float64, found >f8"),
    (lambda p: p[:, :-1].copy(), ValueError, "positions: expected shape"),
    (lambda p: p.T, ValueError, "contiguous"),
    (lambda p: p[:, ::-1], ValueError, "contiguous"),
    (lambda p: numpy.where(numpy.arange(40) == 3, numpy.nan, p), ValueError,
     "x of body 3: NaN: expected a finite number"),
    (lambda p: None, TypeError, "positions: expected float32 or float64, found object"),
    (lambda p: "positions", TypeError, "positions: expected float32 or float64, found <U9"),
])
def test_positions_that_do_not_fit(make, spoil, error, text):
    engine = make()
    good = engine.start()
    engine.evaluate(good)
    with pytest.raises(error, match=text and text.replace("[", r"\[")):
        engine.evaluate(spoil(good))
    # Results of the positions before are not taken for those of the refused ones.
    for result in engine.force, engine.density, engine.potential, engine.field, engine.exact, engine.evaluations:
        with pytest.raises(RuntimeError, match="was asked for before"):
            result()
    assert engine.evaluate(good).energy > 0.0


def test_float32_is_refused_where_it_is_too_coarse(cells):
    far = 1e8

    def make(dtype):
        die = (far, far, far + 40.0, far + 30.0)
        return placefield.Engine(die, (20, 15), cells["width"], cells["height"], dtype=dtype)

    assert make("float64").start()[0, 0] == far
    with pytest.raises(ValueError, match="f32 holds coordinates of 1.0.*e8 in steps of 11.9.*: expected f64, or"):
        make("float32")


def test_area_off_the_die_is_overflow(make, cells):
    engine = make(fixed=None)
    area = cells["width"] * cells["height"]
    on_die = engine.evaluate(engine.start())
    away = engine.start()
    away[0, 3] = -1e6
    step = engine.evaluate(away)
    assert step.area_off_die == pytest.approx(area[3] + on_die.area_off_die)
    assert step.overflow >= step.area_off_die / area.sum()
    step = engine.evaluate(engine.start() - 1e6)
    assert (step.overflow, step.area_off_die) == pytest.approx((1.0, area.sum()))
    assert engine.exact()[0] == pytest.approx(1.0) and "area_off_die" in repr(step)


def test_threads_that_share_an_engine_get_their_own_forces(make):
    engine, alone = make(), make()
    starts = [engine.start() + shift for shift in (0.0, 3.0)]
    want = []
    for at in starts:
        step = alone.evaluate(at)
        want.append((step.energy, alone.force()))
    assert not numpy.array_equal(want[0][1], want[1][1])

    def run(which):
        out = numpy.empty_like(starts[which])
        for _ in range(200):
            step, force = engine.evaluate_with_force(starts[which], out)
            energy, of_alone = want[which]
            assert force is out and step.energy == energy and numpy.array_equal(force, of_alone)

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(run, which) for which in (0, 1)]:
            done.result()
    with pytest.raises(ValueError, match="out: it shares memory with positions"):
        engine.evaluate_with_force(starts[0], starts[0])


def test_outputs_that_do_not_fit(make):
    engine = make()
    with pytest.raises(RuntimeError, match=r"was asked for before .*: call evaluate\(positions\) first"):
        engine.force()
    start = engine.start()
    start.flags.writeable = False       # what is read alone may be so
    assert engine.evaluate(start).energy > 0.0
    fixed = numpy.zeros((2, 40))
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="out: it is read-only"):
        engine.force(fixed)
    with pytest.raises(ValueError, match="shape"):
        engine.force(numpy.zeros((40, 2)))
    with pytest.raises(TypeError, match="float64"):
        engine.force(numpy.zeros((2, 40), "float32"))
    with pytest.raises(ValueError):
        engine.gradient(weight=float("nan"))


@pytest.mark.parametrize("options, error, text", [
    ({"dtype": "float16"}, ValueError, "dtype: expected float32, float64, found 'float16'"),
    ({"device": "tpu"}, ValueError, "device: expected cpu, cuda or cuda:N, found 'tpu'"),
    ({"device": "cuda:4096"}, RuntimeError, "CUDA"),
    ({"pipeline": "fastest"}, ValueError, "pipeline: expected row-column, fused, three-pass, found 'fastest'"),
    ({"threads": 100000}, ValueError, "threads: expected a whole number from 0 to 1024, found 100000"),
    ({"threads": -1}, ValueError, "threads: expected a whole number from 0 to 1024, found -1"),
    ({"threads": "two"}, ValueError, "threads: expected a whole number from 0 to 1024, found 'two'"),
    ({"target_density": 2.0}, ValueError, "target_density: expected a target density above 0 and at most 1, found 2.0"),
    ({"seed": 0.5}, ValueError, "seed: expected a whole number"),
    ({"fixed": [(1.0, 2.0, 3.0)]}, ValueError, "fixed: expected shape"),
    ({"macros": [True]}, ValueError, "macro marks"),
])
def test_engines_that_cannot_be_made(make, options, error, text):
    with pytest.raises(error, match=text):
        make(**options)


def test_arguments_that_do_not_fit():
    with pytest.raises(ValueError, match="two axes"):
        placefield.solve(numpy.zeros(4))
    with pytest.raises(ValueError, match="density of bin 2: NaN"):
        placefield.solve(numpy.array([[0.0, 1.0], [numpy.nan, 0.0]]))
    with pytest.raises(TypeError, match="density: expected float32 or float64, found int64"):
        placefield.solve(numpy.zeros((2, 2), int))
    with pytest.raises(ValueError, match="has no area"):
        placefield.solve(numpy.zeros((2, 2)), (0.0, 1.0))
    with pytest.raises(ValueError):
        placefield.dct2(numpy.zeros(3))
    with pytest.raises(ValueError):
        placefield.dct(numpy.zeros((3, 0)))
    with pytest.raises(ValueError, match="die"):
        placefield.Engine((0, 0, 0, 1), (4, 4), [1.0], [1.0])
    assert placefield.Engine((0, 0, 2, 1), 4, [1.0], [1.0]).bins == (4, 4)
    wanted = r"bins: expected a whole number, or two as in \(512, 256\), found \(1, 2, 3\)"
    with pytest.raises(ValueError, match=wanted):
        placefield.Engine((0, 0, 1, 1), (1, 2, 3), [1.0], [1.0])
    with pytest.raises(ValueError, match="width of movable cell 0"):
        placefield.Engine((0, 0, 1, 1), (4, 4), [numpy.inf], [1.0])
    with pytest.raises(ValueError):
        placefield.Engine((0, 0, 1, 1), (4, 4), [1.0, 2.0], [1.0])


def test_threads_share_an_engine(make):
    engine = make()
    places = [engine.start() + 0.1 * k for k in range(4)]
    want = [engine.evaluate(at).energy for at in places]
    assert len(set(want)) == 4
    wrong, gate, interval = [], threading.Barrier(4), sys.getswitchinterval()

    def work(k):
        gate.wait()
        for _ in range(30):
            if engine.evaluate(places[k]).energy != want[k]:
                wrong.append(k)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_the_interpreter_is_released():
    """A thread counts while another one transforms: it could not with the interpreter held."""
    x, counted, done = numpy.zeros((2048, 2048)), [], threading.Event()

    def count():
        while not done.is_set():
            counted.append(1)
            done.wait(1e-4)

    thread = threading.Thread(target=count)
    thread.start()
    before = len(counted)
    for _ in range(3):
        placefield.dct2(x, threads=1)
    during = len(counted) - before
    done.set()
    thread.join()
    assert during > 10


def test_many_threads_import_it_at_once():
    program = """
        import threading
        gate = threading.Barrier(8)
        def work():
            gate.wait()
            import placefield
            placefield.dct([1.0, 2.0])
        threads = [threading.Thread(target=work) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        import sys
        assert "torch" not in sys.modules
        print("done")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_devices_are_counted():
    count, why = placefield.cuda_devices()
    assert count > 0 and why is None or count == 0 and "CUDA" in why


def test_the_stubs_name_what_there_is():
    import ast
    import pathlib

    from placefield import _designs, _placefield

    folder = pathlib.Path(placefield.__file__).parent
    public = [name for name, of in vars(_designs).items()
              if getattr(of, "__module__", None) == _designs.__name__ and name[0] != "_"]
    for module, names in ((placefield, placefield.__all__), (_placefield, dir(_placefield)), (_designs, public)):
        file = "__init__" if module is placefield else module.__name__.split(".")[-1]
        stub = ast.parse((folder / f"{file}.pyi").read_text())
        stubbed = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        stubbed |= {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert {name for name in names if not name.startswith("__")} <= stubbed
        for node in stub.body:
            if isinstance(node, ast.ClassDef):
                for member in node.body:
                    if isinstance(member, ast.FunctionDef) and member.name != "__init__":
                        assert hasattr(getattr(module, node.name), member.name), (node.name, member.name)


def test_outputs_that_the_caller_would_not_see_are_refused(make):
    engine = make()
    engine.evaluate(engine.start())
    rows = [[0.0] * 40, [0.0] * 40]
    for call in (lambda: engine.force(rows), lambda: engine.gradient(out=rows), lambda: engine.force(tuple(rows))):
        with pytest.raises(TypeError, match="out: expected an array .*, found (list|tuple)"):
            call()
    assert rows == [[0.0] * 40, [0.0] * 40]
    masked = numpy.ma.zeros((2, 40))
    for call in (lambda: engine.force(masked), lambda: engine.evaluate(masked),
                 lambda: engine.set_sizes(masked, masked)):
        with pytest.raises(TypeError, match="expected an array without a mask"):
            call()


def test_streams_are_for_device_memory(make):
    engine = make()
    at = engine.start()
    engine.evaluate(at)
    for call in (lambda: engine.evaluate(at, stream=1), lambda: engine.force(stream=1),
                 lambda: engine.read_evaluation(stream=1), lambda: placefield.dct([1.0], stream=1),
                 lambda: placefield.solve(numpy.ones((2, 2)), stream=1)):
        with pytest.raises(ValueError, match="stream: expected none, for the arrays are in host memory"):
            call()


def test_engines_cannot_be_assigned_to(make):
    engine = make()
    for name in ("bins", "die", "dtype", "warnings", "typo"):
        with pytest.raises(AttributeError):
            setattr(engine, name, 1)
    assert isinstance(engine.warnings, tuple)
    with pytest.raises(AttributeError):
        engine.evaluate(engine.start()).energy = 0.0


@pytest.mark.parametrize("options, error, text", [
    ({"fixed": [(1.0, 2.0), (3.0,)]}, ValueError, "fixed: "),
    ({"fixed": (1.0, 2.0, 3.0, 4.0)}, ValueError, r"fixed: expected shape \[n, 4\], found \[4\]"),
    ({"fixed": [("a", "b", "c", "d")]}, TypeError, "fixed: expected numbers, found <U1"),
    ({"fillers": 3}, ValueError, r"fillers: expected True, False or \(count, width, height\), found 3"),
    ({"fillers": (2, 1.0)}, ValueError, r"fillers: expected True, False or .*, found \(2, 1.0\)"),
    ({"fillers": (2.5, 1.0, 1.0)}, ValueError, "fillers: expected True, False or"),
    ({"fillers": (-1, 1.0, 1.0)}, ValueError, "fillers: expected True, False or"),
    ({"fillers": "yes"}, ValueError, "fillers: expected True, False or"),
    ({"regions": [0.5] * 40}, TypeError, "regions: expected whole numbers, found float64"),
    ({"regions": [0] * 39 + [-1]}, ValueError, "regions 39: -1: expected a whole number from 0 to 4294967295"),
    ({"regions": 1}, ValueError, "regions: expected one axis, found 0"),
    ({"fences": [(1.0, 2.0, 3.0, 4.0)]}, ValueError, r"fences: expected shape \[n, 4\], found \[4\]"),
    ({"macros": [7] * 40}, ValueError, "macros: expected a truth value for each cell"),
    ({"macros": ["no"] * 40}, TypeError, "macros: expected numbers"),
])
def test_arguments_are_refused_in_the_callers_words(make, options, error, text):
    with pytest.raises(error, match=text):
        make(**options)


def test_other_spellings_of_arguments_are_taken(make, cells):
    assert make(fillers=numpy.True_, target_density=0.9).bodies > 40 == make(fillers=numpy.False_).bodies
    assert make(fillers=[numpy.int32(3), 1, 2]).bodies == 43
    assert make(fixed=[]).bodies == make(fixed=numpy.empty((0, 4))).bodies == 40
    with pytest.raises(ValueError, match=r"die: expected four numbers, xl, yl, xh and yh, found \(1, 2, 3\)"):
        placefield.Engine((1, 2, 3), 4, **cells)
    with pytest.raises(ValueError, match="fixed: expected a truth value for each cell"):
        make().set_fixed_cells([7] * 40, cells["x"], cells["y"])


# By SciPy 1.17.1: dctn and idctn of these numbers along these axes.
GOLDEN = pathlib.Path(__file__).parents[3] / "tests" / "data" / "scipy_dctn.json"


@pytest.mark.parametrize("dtype, close", [("float64", 1e-14), ("float32", 1e-6)])
def test_dctn_is_scipys(dtype, close):
    for case in json.loads(GOLDEN.read_text())["cases"]:
        shape, axes = case["shape"], case["axes"]
        x = numpy.array(case["x"]).reshape(shape).astype(dtype)
        for name in ("dctn", "idctn"):
            for norm, want in case[name].items():
                want = numpy.array(want).reshape(shape)
                got = getattr(placefield, name)(x, axes=axes, norm=norm)
                assert got.dtype == dtype and got.shape == want.shape and got.flags.c_contiguous
                assert abs(got - want).max() <= close * abs(want).max(), (name, norm, shape, axes)
                out = numpy.zeros_like(x)
                assert getattr(placefield, name)(x, axes=axes, norm=norm, out=out) is out
                assert numpy.array_equal(out, got)
            default = getattr(placefield, name)(x, axes=axes)
            assert numpy.array_equal(default, getattr(placefield, name)(x, axes=axes, norm="backward"))


def test_dctn_takes_what_scipys_takes():
    x = numpy.random.default_rng(5).normal(size=(3, 4, 5))
    before = x.copy()
    for norm in (None, "forward", "ortho"):
        back = placefield.idctn(placefield.dctn(x, norm=norm), norm=norm)
        assert abs(back - x).max() < 1e-14 and numpy.array_equal(x, before)
    assert numpy.allclose(placefield.dctn(x, axes=-1), 2 * placefield.dct(x), rtol=1e-14)
    assert numpy.array_equal(placefield.dctn(x, axes=(2, 0)), placefield.dctn(x, axes=(-3, -1)))
    assert numpy.array_equal(placefield.dctn(x, axes=()), x)
    assert numpy.array_equal(placefield.dctn([[1, 2], [3, 4]]), placefield.dctn(numpy.array([[1.0, 2.0], [3.0, 4.0]])))
    # Any memory, also that of the input.
    want, turned = placefield.dctn(x, axes=0), numpy.zeros((5, 4, 3)).T
    placefield.dctn(x.T.copy().T, axes=0, out=turned)
    assert numpy.array_equal(turned, want)
    assert placefield.dctn(x, axes=0, out=x) is x and numpy.array_equal(x, want)
    large = numpy.random.default_rng(6).normal(size=(300, 200))
    assert numpy.array_equal(placefield.dctn(large, threads=1), placefield.dctn(large, threads=3))


@pytest.mark.parametrize("options, error, text", [
    ({"axes": 2}, ValueError, r"axes: expected different axes of 2, found \[2\]"),
    ({"axes": (0, -2)}, ValueError, r"axes: expected different axes of 2, found \[0, -2\]"),
    ({"axes": 0.5}, TypeError, "axes: expected whole numbers, found 0.5"),
    ({"norm": "orthogonal"}, ValueError, "norm: expected backward, forward, ortho or None, found 'orthogonal'"),
    ({"out": [[0.0] * 3] * 2}, TypeError, "out: expected an array, found list"),
    ({"out": numpy.zeros((3, 2))}, ValueError, r"out: expected shape \[2, 3\] of float64, found \[3, 2\] of float64"),
    ({"out": numpy.zeros((2, 3), "float32")}, ValueError, "out: expected shape .* of float64, found .* of float32"),
    ({"out": numpy.broadcast_to(0.0, (2, 3))}, ValueError, "out: it is read-only"),
    ({"x": numpy.ones((2, 3), complex)}, TypeError, "x: expected numbers, found complex128"),
    ({"x": numpy.ones((2, 3), numpy.longdouble)}, TypeError, "x: expected float64 or a shorter type"),
    ({"x": numpy.ones((2, 0))}, ValueError, "expected sizes of at least 1"),
])
def test_dctn_refuses(options, error, text):
    for transform in (placefield.dctn, placefield.idctn):
        with pytest.raises(error, match=text):
            transform(**{"x": numpy.ones((2, 3)), **options})


def test_threads_share_plans():
    """Several lengths, so that plans are dropped and made again, from threads at once."""
    inputs = [numpy.random.default_rng(n).normal(size=n) for n in (*range(5, 25), 20000)]
    want = [by_definition("dct", x) if len(x) < 100 else placefield.dct(x) for x in inputs]
    wrong = []

    def work():
        for _ in range(10):
            for x, result in zip(inputs, want):
                if abs(placefield.dct(x, threads=2) - result).max() > 1e-10:
                    wrong.append(len(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_plans_are_kept():
    """A transform whose plan is kept takes less than half the processor time of one that makes its plan."""
    x, others = numpy.ones(10007), [numpy.ones(n) for n in range(2, 12)]    # a prime takes long to plan

    def cost():
        start = time.process_time()
        placefield.dct(x)
        return time.process_time() - start

    planned, kept = [], []
    for _ in range(40):
        for other in others:        # more than are kept
            placefield.dct(other)
        planned.append(cost())
        kept.append(cost())
    assert min(kept) < min(planned) / 2
