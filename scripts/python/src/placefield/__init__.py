"""Chip placement and the density engine of a global placer.

Cells are charges, their density is rho, the potential phi solves Poisson's equation with Neumann walls
around the die, and the field E = -grad phi pushes cells apart.

`read_design` reads a design, `place`, `legalize` and `refine` place it, `maps` and `Design.plot` show it. `Engine` is
for the author of a placer: density, field and force at positions of the caller's.

Maps have shape (nx, ny), y contiguous. Positions are lower-left corners in layout units: x of every
body, then y, as an array of shape (2, bodies) or (2 * bodies,). Bodies are the movable cells, then the
fillers. phi is in bin widths squared and E in bin widths: multiply by bin_x**2 and bin_x for layout units.

Arrays that an engine takes are NumPy's, PyTorch's, CuPy's, or any with ``__dlpack__`` or
``__cuda_array_interface__``. They are taken where they are, without a copy, so they must be contiguous and of the
engine's type; what does not fit is a TypeError or ValueError that says so. Columns and positions of a design are
float64 and are converted. Arrays that come back are NumPy's unless a function says otherwise. Threads may share an
engine or a design: they wait for one another.
Work on arrays in device memory goes to the current stream of PyTorch or CuPy, or that of the argument
`stream` (1: the legacy default one, 2: a thread's own), after what an array says it is to come after.

Options have the names of the program's, with _ for -. One that does not fit is a ValueError with its name.
"""

import math
import operator
import sys
from typing import NamedTuple

import numpy

from . import _placefield
from ._arrays import (
    as_array,
    box,
    doubles,
    empty,
    is_torch,
    lent,
    marks,
    numbers,
    on_device,
    output,
    rectangles,
    stream_of,
    whole_numbers,
)
from ._designs import (
    Design,
    Diff,
    Displacement,
    Legality,
    Moved,
    Picture,
    Placement,
    Violation,
    Wirelength,
    diff,
    heat_map,
    legalize,
    maps,
    place,
    profile,
    read_design,
    refine,
)
from ._placefield import Array, Evaluation, __version__, cuda_devices

__all__ = (
    "Array", "Design", "Diff", "Displacement", "Engine", "Evaluation", "Field", "Legality", "Moved", "Picture",
    "Placement", "Violation", "Wirelength", "cuda_devices", "dct", "dct2", "dctn", "diff", "heat_map", "idct", "idct2",
    "idct_idxst", "idctn", "idxst", "idxst_idct", "legalize", "maps", "place", "profile", "read_design", "refine",
    "solve",
)


class Field(NamedTuple):
    """What a solve gives: maps of shape (nx, ny), and a number, which on a device is an array without axes."""

    potential: object
    field_x: object
    field_y: object
    energy: object


class Engine:
    """Density, overflow, energy, potential, field and forces for the cells of one design.

    Parameters
    ----------
    die : (xl, yl, xh, yh), layout units
    bins : (nx, ny), or one number for both; bins need not be square nor powers of two
    width, height : sizes of the movable cells, shape (movable,)
    x, y : where they start, lower-left corners (default: those of the die)
    fixed : cells that stay, shape (fixed, 4): x, y, width, height
    row_height : that of a filler (default: the median height)
    macros : a truth value for every movable cell; matters below a target density of 1
    fences : unions of rectangles, each of shape (rectangles, 4): x, y, width, height. The cells of each make a
        density of their own, for which all outside their fence is taken; those of no fence make one more, for
        which the fences are taken
    regions : for each movable cell the number of its fence, or len(fences) for none (default: none)
    target_density : the largest share of a bin to be filled, above 0 and at most 1
    fillers : whether the free space is filled; or (count, width, height) of fillers of the caller's own,
        which with fences are the first region's
    seed : of the fillers' positions
    dtype : "float32" or "float64": of positions, maps and forces. Positions are on the die: on one so far from 0
        that float32 would round them by a noticeable part of a row, float32 is refused with ValueError
    device : "cpu", "cuda" or "cuda:N"
    threads : on the CPU; 0 takes all there are
    pipeline : "row-column", "fused" or "three-pass" (default: the fastest)

    Raises ValueError for what makes no engine, TypeError for an array of a wrong type, RuntimeError where CUDA
    cannot be used, MemoryError where the device's memory does not suffice.
    """

    __slots__ = ("_engine", "_torch", "__weakref__")

    def __init__(self, die, bins, width, height, x=None, y=None, *, fixed=None, row_height=None, macros=None,
                 fences=(), regions=None, target_density=1.0, fillers=False, seed=1000, dtype="float32", device="cpu",
                 threads=0, pipeline=None):
        self._torch = None      # what placefield.torch has found out
        own = None
        if not isinstance(fillers, (bool, numpy.bool_)):
            try:
                count, *size = fillers
                own = (*whole_numbers([count], "fillers"), *map(float, size))
            except (TypeError, ValueError):
                own = ()
            if len(own) != 3:
                raise ValueError(f"fillers: expected True, False or (count, width, height), found {fillers!r}")
        options = {"bins": bins, "target_density": target_density, "fillers": own is None and bool(fillers),
                   "seed": seed, "dtype": str(numpy.dtype(dtype)), "device": str(device), "threads": threads,
                   "pipeline": pipeline}
        width, die = doubles(width, "width"), box(die, "die")

        def column(values, default, name):
            return numpy.full(width.shape, default, numpy.float64) if values is None else doubles(values, name)

        self._engine = _placefield.Engine(
            die, width, column(height, 0.0, "height"), column(x, die[0], "x"), column(y, die[1], "y"),
            rectangles(() if fixed is None else fixed, "fixed"), row_height,
            None if macros is None else marks(macros, "macros"),
            [rectangles(rects, "fences").tolist() for rects in fences],
            None if regions is None else whole_numbers(regions, "regions"), own, options)

    @classmethod
    def from_design(cls, design, bins=None, *, target_density=1.0, fillers=False, row_blockage=False, seed=1000,
                    dtype="float32", device="cpu", threads=0, pipeline=None):
        """An engine for a design of `read_design`; bodies are its movable nodes, in their order. Without `bins` they
        are as many as DREAMPlace would choose."""
        options = {"bins": bins, "target_density": target_density, "fillers": fillers, "row_blockage": row_blockage,
                   "seed": seed, "dtype": str(numpy.dtype(dtype)), "device": str(device), "threads": threads,
                   "pipeline": pipeline}
        engine = cls.__new__(cls)
        engine._torch = None
        engine._engine = _placefield.Engine.from_design(design, options)
        return engine

    bins = property(lambda self: self._engine.bins, doc="Bins along x and y.")
    bin_size = property(lambda self: self._engine.bin_size, doc="Width and height of a bin, layout units.")
    die = property(lambda self: self._engine.die, doc="The die, (xl, yl, xh, yh).")
    movable = property(lambda self: self._engine.movable, doc="Movable cells: the first bodies.")
    bodies = property(lambda self: self._engine.bodies, doc="Movable cells and fillers.")
    regions = property(lambda self: self._engine.regions, doc="Fence regions: one without fences.")
    dtype = property(lambda self: numpy.dtype(self._engine.dtype), doc="Of positions, maps and forces.")
    device = property(lambda self: self._engine.device, doc='"cpu" or "cuda:N".')
    pipeline = property(lambda self: self._engine.pipeline, doc="How the field is solved.")
    warnings = property(lambda self: tuple(self._engine.warnings), doc="What was odd about the cells, one line each.")

    # What changes while a placer runs. It takes effect at the next evaluation, which gives what a new engine
    # would; plans and kernels are kept. After an error the engine is as it was.

    def sizes(self):
        """Widths and heights of all bodies, movable cells, then fillers: shape (2, bodies), layout units."""
        return numpy.array(self._engine.sizes()).reshape(2, -1)

    def region_target_densities(self):
        """The target density of every region, shape (regions,), one without fences: the given one, or with fillers
        the least at which the cells fit if that is larger. If bins have their own, it is their mean."""
        return numpy.array(self._engine.region_target_densities())

    def set_sizes(self, width, height):
        """Other sizes of all bodies, fillers included: shape (bodies,) each. Positions are lower-left corners,
        so move what is to grow about its centre."""
        self._engine.set_sizes(doubles(width, "width"),
                               doubles(height, "height"))

    def set_fixed_cells(self, fixed, x, y):
        """Has the movable cells that are marked in `fixed` stay at `x`, `y` from now on, and the others move:
        shape (movable,) each. Those that stay are bodies all the same, which feel no force."""
        self._engine.set_fixed_cells(marks(fixed, "fixed"), doubles(x, "x"), doubles(y, "y"))

    def set_blocked_area(self, area):
        """Area that is taken in every bin besides fixed cells, shape (nx, ny), layout units squared; None: none."""
        self._engine.set_blocked_area(None if area is None else doubles(area, "area"))

    def set_target_densities(self, target_densities):
        """A target density for every bin, shape (nx, ny), above 0 and at most 1; None: the engine's own."""
        self._engine.set_target_densities(
            None if target_densities is None else doubles(target_densities, "target_densities"))

    def refill(self):
        """Makes the fillers anew, as many as what is free now asks for: `bodies` changes."""
        self._engine.refill()
        self._torch = None

    def start(self):
        """Where the bodies start: shape (2, bodies), lower-left corners, those of fillers as drawn."""
        out = numpy.empty((2, self.bodies), self.dtype)
        self._engine.start(out)
        return out

    def evaluate(self, positions, *, stream=None):
        """One step: density, field and forces at `positions`, of which nothing is kept.

        `positions` has shape (2, bodies) or (2 * bodies,): x of every body, then y, in host memory or on
        the engine's device, where `stream` is the one to work on (default: PyTorch's current one). A body
        outside the die adds to no bin and feels no force. Waits, and returns an Evaluation. After an error the
        results of earlier positions are gone: asking for them raises RuntimeError.
        """
        positions = as_array(positions)
        return self._engine.evaluate(positions, stream=stream_of(positions, stream))

    def evaluate_with_force(self, positions, out=None, *, stream=None):
        """`evaluate` and `force` in one call, for threads that share an engine: an Evaluation, and the force at
        `positions` whatever other threads evaluate meanwhile.

        The force is of shape (2, bodies) in host memory unless `out` is given, which is written and returned.
        """
        positions = as_array(positions)
        if out is None:
            out = numpy.empty((2, self.bodies), self.dtype)
        stream = stream_of(positions, stream)
        return self._engine.evaluate(positions, force=as_array(out), stream=stream), out

    def region_of_bodies(self):
        """The region of every body: shape (bodies,)."""
        return numpy.array(self._engine.region_of_bodies(), numpy.int64)

    def evaluations(self):
        """The Evaluation of every region at the positions last evaluated: of its own cells, area and density."""
        return self._engine.evaluations()

    def force(self, out=None, *, stream=None):
        """The force on every body, the direction that spreads: layout area times bin widths.

        Of shape (2, bodies) unless `out`, an array of the engine's dtype, is given, which is written and returned.
        """
        return self.gradient(out, weight=1.0, stream=stream)

    def gradient(self, out=None, *, weight=-1.0, accumulate=False, stream=None):
        """`weight` times the force, written or added to `out`.

        -1 gives the direction in which density rises, as DREAMPlace has it; `energy_weight` the derivative
        of the energy, but for what the field varies within a bin. `weight` may be one number for each region.
        """
        weights = [] if numpy.ndim(weight) == 0 else [float(of_region) for of_region in weight]
        if out is None:
            out = numpy.zeros((2, self.bodies), self.dtype)
        target = output(out)
        self._engine.gradient(target, weight=1.0 if weights else weight, region_weights=weights,
                              accumulate=accumulate, stream=stream_of(target, stream))
        return out

    @property
    def energy_weight(self):
        """What the force is multiplied by to be the derivative of the energy: -2 / (bin area * bin width)."""
        width, height = self.bin_size
        return -2.0 / (width * height * width)

    def density(self):
        """rho of the last step, area in the bin over the bin's area: shape (nx, ny), or with several regions
        (regions, nx, ny), as of the other maps."""
        return self._map("density")

    def potential(self):
        """phi of the last step, bin widths squared: shape (nx, ny)."""
        return self._map("potential")

    def field(self):
        """E of the last step, bin widths: two arrays of shape (nx, ny), along x and y."""
        return self._map("field_x"), self._map("field_y")

    def device_map(self, name):
        """A copy of "potential", "field_x", "field_y" or "density" (less its background) on the engine's CUDA
        device, for torch.from_dlpack, cupy.asarray and the like."""
        return self._engine.device_map(name)

    def _map(self, name):
        shape = self.bins if self.regions == 1 else (self.regions, *self.bins)
        out = numpy.empty(shape, self.dtype)
        self._engine.read_map(name, out)
        return out

    def exact(self):
        """Overflow and largest density of the last positions with cells at their exact sizes."""
        return self._engine.exact()

    def order_if_due(self, *, stream=None):
        """Between replays of a CUDA graph with steps of this engine, on the stream of the replays (default:
        PyTorch's current one): keeps them fast."""
        self._engine.order_if_due(stream=stream_of(self.device, stream))

    def read_evaluation(self, *, stream=None):
        """The Evaluation of the last step on a CUDA device, on its stream (default: PyTorch's current one);
        waits for it."""
        return self._engine.read_evaluation(stream=stream_of(self.device, stream))

    def __repr__(self):
        return repr(self._engine)


def solve(density, bin_size=(1.0, 1.0), *, device=None, pipeline=None, threads=0, stream=None):
    """Potential and field of `density`, shape (nx, ny), float32 or float64.

    phi solves laplacian phi = -(rho - mean rho) with zero normal derivative; `bin_size` is the width and
    height of a bin, of which the ratio alone matters. A nearly flat density in float32 is best given less
    its mean, which has the same field. Returns a Field.

    A density in host memory is solved on the CPU, or on `device`, and waited for. One in memory of a CUDA device
    is solved there: the Field is there too, energy included, and nothing waits; numbers that are not finite are
    not refused. Its maps are of the density's library, or Arrays where that has no from_dlpack. Plans are kept,
    so that after a solve of the same shape one can be captured in a torch.cuda.graph. The graph then has that plan
    for itself: before the capture of another graph the shape is solved once more.
    """
    density = as_array(density)
    if len(density.shape) != 2:
        raise ValueError(f"density: expected two axes, found {len(density.shape)}")
    bin_size = tuple(map(float, bin_size))
    stream = stream_of(density, stream)
    if on_device(density):
        places = ["cuda"]
        if hasattr(density, "__dlpack_device__"):
            places.append(f"cuda:{density.__dlpack_device__()[1]}")
        if device is not None and str(device) not in places:
            raise ValueError(f"device: {device}, but the density is on {places[-1]}")
        out = []
        if is_torch(density):
            energy = density.new_empty((), dtype=sys.modules["torch"].float64)
            out = [density.new_empty(density.shape) for _ in range(3)] + [energy]
        made = _placefield.solve_on_device(density, out, bin_size, {"pipeline": pipeline}, stream=stream)
        return Field(*(out or lent(density, made)))
    out = empty(density, (3, *density.shape))
    options = {"device": None if device is None else str(device), "pipeline": pipeline, "threads": threads}
    energy = _placefield.solve(density, out, bin_size, options)
    return Field(out[0], out[1], out[2], energy)


def _transform(kind, x, threads, stream):
    x = as_array(x)
    stream = stream_of(x, stream)
    if on_device(x):
        out = [x.new_empty(x.shape)] if is_torch(x) else []
        made = _placefield.transform_on_device(kind, x, out, stream=stream)
        return (out or lent(x, made))[0]
    out = empty(x, tuple(x.shape))
    _placefield.transform(kind, x, out, {"threads": threads})
    return out


# Of arrays in memory of a CUDA device the transform is computed there, on `stream`, and the result is there.


def dct(x, *, threads=0, stream=None):
    """X_k = sum_n x_n cos(pi (n + 1/2) k / N) along the last axis: scipy.fft.dct(x, 2) / 2."""
    return _transform("dct", x, threads, stream)


def idct(x, *, threads=0, stream=None):
    """x_0 / 2 + sum_{n>=1} x_n cos(pi n (k + 1/2) / N) along the last axis: scipy.fft.dct(x, 3) / 2.

    idct(dct(x)) is N / 2 times x."""
    return _transform("idct", x, threads, stream)


def idxst(x, *, threads=0, stream=None):
    """sum_{n>=1} x_n sin(pi n (k + 1/2) / N) along the last axis."""
    return _transform("idxst", x, threads, stream)


def dct2(x, *, threads=0, stream=None):
    """The DCT along both of the last two axes."""
    return _transform("dct2", x, threads, stream)


def idct2(x, *, threads=0, stream=None):
    """The IDCT along both of the last two axes. idct2(dct2(x)) is nx * ny / 4 times x."""
    return _transform("idct2", x, threads, stream)


def idct_idxst(x, *, threads=0, stream=None):
    """The IDCT along x (the second last axis), the IDXST along y (the last one): gives E along y."""
    return _transform("idct_idxst", x, threads, stream)


def idxst_idct(x, *, threads=0, stream=None):
    """The IDXST along x (the second last axis), the IDCT along y (the last one): gives E along x."""
    return _transform("idxst_idct", x, threads, stream)


def _transform_n(kind, x, axes, norm, out, threads):
    array = numbers(x, "x")
    if array.dtype.itemsize > 8:
        raise TypeError(f"x: expected float64 or a shorter type, found {array.dtype}")
    if norm not in (None, "backward", "forward", "ortho"):
        raise ValueError(f"norm: expected backward, forward, ortho or None, found {norm!r}")
    dtype = array.dtype if array.dtype == "float32" else numpy.dtype("float64")
    count = array.ndim
    try:
        axes = range(count) if axes is None else [operator.index(axis) for axis in numpy.atleast_1d(axes).tolist()]
    except TypeError:
        raise TypeError(f"axes: expected whole numbers, found {axes!r}") from None
    if not all(-count <= axis < count for axis in axes) or len({axis % count for axis in axes}) < len(axes):
        raise ValueError(f"axes: expected different axes of {count}, found {list(axes)}")
    to = out.detach().numpy() if is_torch(out) else out
    if out is not None:
        if not isinstance(to, numpy.ndarray):
            raise TypeError(f"out: expected an array, found {type(out).__name__}")
        if (to.shape, to.dtype) != (array.shape, dtype):
            raise ValueError(f"out: expected shape {list(array.shape)} of {dtype}, "
                             f"found {list(to.shape)} of {to.dtype}")
        if not to.flags.writeable:
            raise ValueError("out: it is read-only")

    axes = sorted(axis % count for axis in axes)
    last = range(count - len(axes), count)
    values = numpy.array(numpy.moveaxis(array, axes, last), dtype, order="C")
    lengths = [values.shape[axis] for axis in last]
    forward, ortho = kind == "dctn", norm == "ortho"

    def scale_first(values, factor):
        for axis in last:
            numpy.moveaxis(values, axis, 0)[:1] *= factor

    if ortho and not forward:
        scale_first(values, math.sqrt(2))
    made = numpy.empty_like(values) if lengths else values
    if lengths:
        _placefield.transform(kind, values, made, {"threads": threads, "axes": len(lengths)})
    if ortho:
        made *= math.sqrt(math.prod(2 / n for n in lengths))
    else:
        made *= 2.0 ** len(lengths) if forward == (norm != "forward") else 1 / math.prod(lengths)
    if ortho and forward:
        scale_first(made, math.sqrt(0.5))
    made = numpy.moveaxis(made, last, axes)
    if out is not None:
        numpy.copyto(to, made)
        return out
    made = numpy.ascontiguousarray(made)
    return sys.modules["torch"].from_numpy(made) if is_torch(x) else made


def dctn(x, *, axes=None, norm=None, out=None, threads=0):
    """The DCT along several axes: scipy.fft.dctn(x, 2, axes=axes, norm=norm).

    x : numbers in host memory; all but float32 are transformed as float64
    axes : one or several, negative ones counted from the last (default: all)
    norm : "backward" (the default, or None), "forward" or "ortho", by SciPy's definitions; "backward" is
        2**len(axes) times what `dct` gives along each axis
    out : an array of the shape and type of the result, which is written and returned; it may be `x`
    """
    return _transform_n("dctn", x, axes, norm, out, threads)


def idctn(x, *, axes=None, norm=None, out=None, threads=0):
    """The inverse of `dctn` with the same `axes` and `norm`: scipy.fft.idctn(x, 2, axes=axes, norm=norm)."""
    return _transform_n("idctn", x, axes, norm, out, threads)
