"""Designs: read, measured, drawn and placed."""

import base64
import dataclasses
import functools
import html
import pathlib
from typing import NamedTuple

import numpy

from . import _placefield
from ._arrays import (
    as_array,
    both_doubles,
    box,
    column,
    doubles,
    is_torch,
    lent,
    on_device,
    rectangles,
    stream_of,
    texts,
    whole_numbers,
)


class Picture(bytes):
    """The bytes of a picture file. A notebook shows it; `save(path)` writes it."""

    @property
    def format(self):
        """"png", "svg" or "pdf"."""
        return "png" if self.startswith(b"\x89PNG") else "pdf" if self.startswith(b"%PDF") else "svg"

    def save(self, path):
        """Writes the file. Raises ValueError if the path has an ending of another format."""
        path = pathlib.Path(path)
        ending = path.suffix.lower()
        if ending not in ("", f".{self.format}"):
            raise ValueError(f'{path}: expected a name that ends in .{self.format}, for the picture is of that format: '
                             f'other formats are drawn by the argument format="png", "svg" or "pdf"')
        path.write_bytes(self)

    def _repr_png_(self):
        return bytes(self) if self.format == "png" else None

    def _repr_svg_(self):
        return self.decode() if self.format == "svg" else None

    def __repr__(self):
        return f"<placefield.Picture of {len(self)} bytes, {self.format}>"


class Violation(NamedTuple):
    """One fault of one cell, or of two that overlap."""

    fault: str
    cells: list
    amount: float
    place: list


class Legality(NamedTuple):
    """How legal a placement is, by the names of the command's JSON. It is true where the placement is legal.

    Counts of cells but for `overlaps` and `halo`, which are pairs; `overlap_area` in layout units squared;
    `worst` has the ten worst of every fault, as Violation.
    """

    legal: bool
    overlaps: int
    overlap_area: float
    off_row: int
    off_site: int
    outside: int
    outside_die: int
    outside_row: int
    orientation: int
    orientations_assigned: bool
    fixed_moved: int
    fence: int
    blocked: int
    halo: int
    wrong_row: int
    unplaced: int
    edge_spacing: int
    one_site_gap: int
    overfilled: int
    worst: list

    def __bool__(self):
        return self.legal


class Moved(NamedTuple):
    """A cell that moved: the places are of its centre."""

    cell: str
    distance: float
    before: list
    after: list


class Displacement(NamedTuple):
    """How far the movable cells moved, |dx| + |dy| of their centres in layout units."""

    cells: int
    moved: int
    turned: int
    mean: float
    median: float
    p95: float
    max: float
    farthest: list


class Diff(NamedTuple):
    """What is between two placements of one design: HPWL of both (None without nets), and how far cells moved."""

    hpwl_before: float
    hpwl_after: float
    displacement: Displacement


class Wirelength(NamedTuple):
    """Weighted-average wirelength and weighted HPWL, layout units, and the gradient of the first, shape (2, movable):
    by x, then by y."""

    value: float
    hpwl_weighted: float
    gradient: object


def _legality(found):
    return found and Legality(**{**found, "worst": [Violation(**worst) for worst in found["worst"]]})


def _displacement(found):
    return found and Displacement(**{**found, "farthest": [Moved(**far) for far in found["farthest"]]})


def _column(name, doc):
    """A column of a design, read once and then kept."""

    def read(design):
        return design._column(name)

    read.__doc__ = doc
    return functools.cached_property(read)


class Design(_placefield.Design):
    """A design: nodes, where they lie, nets and rows. Columns are arrays of NumPy's, by node, net or pin, and cannot be
    written; positions are lower-left corners in layout units.

    Net `k` has the pins `net_start[k]` to `net_start[k + 1]`; pin `p` lies at the centre of node `pin_node[p]`,
    moved by `pin_dx[p]` and `pin_dy[p]`. So a net's bounding box is that of
    ``x[node] + width[node] / 2 + pin_dx`` and the same along y.

    A design does not change: `with_positions` gives another one.
    """

    x = _column("x", "Left edges: shape (nodes,).")
    y = _column("y", "Bottom edges: shape (nodes,).")
    width = _column("width", "Widths, as the nodes lie: shape (nodes,).")
    height = _column("height", "Heights, as the nodes lie: shape (nodes,).")
    movable = _column("movable", "Indices of the movable nodes, in the order of an engine's bodies.")
    fixed = _column("fixed", "Indices of the nodes that stay and block the area under them.")
    net_start = _column("net_start", "First pin of every net, and the number of pins at the end: shape (nets + 1,).")
    net_weight = _column("net_weight", "Weights of the nets: shape (nets,).")
    pin_node = _column("pin_node", "The node of every pin: shape (pins,).")
    pin_dx = _column("pin_dx", "How far right of its node's centre every pin lies, as the node does: shape (pins,).")
    pin_dy = _column("pin_dy", "How far above its node's centre every pin lies, as the node does: shape (pins,).")

    @functools.cached_property
    def names(self):
        """Names of the nodes, a tuple; empty if they have none."""
        return tuple(self._names())

    @functools.cached_property
    def net_names(self):
        """Names of the nets, a tuple; empty where the files give none."""
        return tuple(self._net_names())

    @functools.cached_property
    def orientation(self):
        """How the nodes lie, a tuple: N, S, E, W, FN, FS, FE or FW."""
        return tuple(self._orientations())

    @classmethod
    def from_arrays(cls, width, height, x=None, y=None, *, orientation=None, fixed=(), overlappable=(), names=None,
                    net_start=None, pin_node=None, pin_dx=None, pin_dy=None, net_weight=None, net_names=None, rows=(),
                    row_orientation=None, die=None, name="design", units_per_micron=None, row_blockage=False):
        """A design of the caller's, without files. Arguments are as the attributes of the same names.

        width, height : as the nodes lie, shape (nodes,)
        x, y : lower-left corners, shape (nodes,) (default: the corner of the die, unless there are fixed nodes)
        orientation : how the nodes lie, N, S, E, W, FN, FS, FE or FW (default: N)
        fixed : indices of the nodes that stay and block the area under them
        overlappable : indices of the nodes that stay, and that others may lie over
        names : of the nodes, each its own (default: none, and then no placement of it can be written)
        net_start, pin_node : first pin of every net and the number of pins, shape (nets + 1,); the node of every pin,
            shape (pins,) (default: the nets are not known)
        pin_dx, pin_dy : from the centre of the pin's node, as the node lies, shape (pins,) (default: 0)
        net_weight, net_names : shape (nets,) (default: 1; no names)
        rows : x, y, height, width of a site and number of sites, shape (rows, 5)
        row_orientation : of the sites (default: N)
        die : the area of the design, (xl, yl, xh, yh); `Design.die` is the bounding box of the rows, if there are some
        name, units_per_micron, row_blockage : as of `read_design`

        Lengths are layout units. Raises ValueError or TypeError, with the argument's name, for what does not fit.
        """
        width = doubles(width, "width")
        if width.ndim != 1:
            raise ValueError(f"width: expected shape [nodes], found {list(width.shape)}")
        count = len(width)
        rows, die = rectangles(rows, "rows", 5), None if die is None else box(die, "die")
        fixed, overlappable = whole_numbers(fixed, "fixed"), whole_numbers(overlappable, "overlappable")
        if (x is None) != (y is None):
            raise ValueError("x, y: expected both or none of them")
        if x is None and (fixed or overlappable):
            raise ValueError("x, y: expected positions, for some nodes are fixed")
        corner = rows[:, :2].min(axis=0) if len(rows) else die or (0.0, 0.0)
        arrays = {
            "name": name, "width": width, "height": column(height, "height", count),
            "x": column(x, "x", count, corner[0]), "y": column(y, "y", count, corner[1]), "placed": x is not None,
            "orientation": ["N"] * count if orientation is None else texts(orientation, "orientation", count),
            "fixed": fixed, "overlappable": overlappable,
            "names": [] if names is None else texts(names, "names", count),
            "rows": rows, "die": die, "units_per_micron": units_per_micron, "row_blockage": row_blockage,
            "row_orientation": ["N"] * len(rows) if row_orientation is None
                               else texts(row_orientation, "row_orientation", len(rows)),
            "pin_node": None,
        }
        of_nets = {"net_start": net_start, "pin_dx": pin_dx, "pin_dy": pin_dy, "net_weight": net_weight,
                   "net_names": net_names}
        if pin_node is None:
            for given, value in of_nets.items():
                if value is not None:
                    raise ValueError(f"{given}: expected pin_node too")
        else:
            pin_node = whole_numbers(pin_node, "pin_node")
            net_start = whole_numbers(() if net_start is None else net_start, "net_start")
            if net_start[:1] != [0] or net_start[-1] != len(pin_node) or sorted(net_start) != net_start:
                raise ValueError(f"net_start: expected numbers that rise from 0 to the number of pins, {len(pin_node)}")
            nets, pins = len(net_start) - 1, len(pin_node)
            arrays |= {
                "net_start": net_start, "pin_node": pin_node, "pin_dx": column(pin_dx, "pin_dx", pins, 0.0),
                "pin_dy": column(pin_dy, "pin_dy", pins, 0.0),
                "net_weight": column(net_weight, "net_weight", nets, 1.0),
                "net_names": [] if net_names is None else texts(net_names, "net_names", nets),
            }
        return cls(_placefield.design_of_arrays(arrays))

    def __setattr__(self, name, value):
        raise AttributeError(f"{name}: a design cannot be changed: `with_positions` returns another one")

    def __reduce__(self):
        return _unpickled, (type(self), self._state())

    def __delattr__(self, name):
        raise AttributeError(f"{name}: a design cannot be changed")

    def with_positions(self, x, y):
        """The design with its nodes at `x`, `y`: of the movable nodes in their order, shape (movable,), or of all
        nodes, shape (nodes,)."""
        return Design(self._with_positions(doubles(x, "x"), doubles(y, "y")))

    def hpwl(self, x=None, y=None, *, weighted=False):
        """Half-perimeter wirelength of all nets of two pins or more, layout units; None where nets are not known.

        With the nodes at `x`, `y`, as `with_positions` takes them, or where the design has them; every net once, or
        `weighted` by its weight.
        """
        found = self._hpwl(*both_doubles(x, y))
        return found and found[1 if weighted else 0]

    def wirelength(self, x, y, gamma, *, ignore_net_degree=None, weights=None):
        """Weighted-average wirelength with the movable nodes at `x`, `y`, shape (movable,) each, and its gradient.

        `gamma` is the smoothing length, layout units: the value tends to the weighted HPWL as it tends to 0. Per net
        and axis it is sum(x e) / sum(e) - sum(x n) / sum(n) with e = exp((x - max x) / gamma) and
        n = exp((min x - x) / gamma) (Hsu, Chang and Balabanov, DAC 2011). Nets of more than `ignore_net_degree`
        pins are left out of it, not of the HPWL. `weights` are net weights, shape (nets,) (default: the design's).
        Returns a Wirelength.
        """
        x, y = doubles(x, "x"), doubles(y, "y")
        gradient = numpy.empty((2, len(self.movable)))
        options = {"gamma": gamma, "ignore_net_degree": ignore_net_degree,
                   "weights": None if weights is None else doubles(weights, "weights")}
        return Wirelength(*self._wirelength(x, y, gradient, options), gradient)

    def legality(self, *, tolerance=None):
        """How legal the placement is: overlaps, rows, sites, the die, orientations, fences, blockages, and fixed cells
        that are not where the design's own placement has them. `tolerance` is what counts as none, as a share of the
        smallest site pitch (default: 1/1000). Returns a Legality."""
        return _legality(self._legality({"tolerance": tolerance}))

    def scaled_hpwl(self, target_density=1.0):
        """The ISPD 2006 contest's score, a dictionary: HPWL scaled by what is above `target_density` in bins of ten
        rows."""
        return self._scaled_hpwl(target_density)

    def plot(self, picture="density", *, bins=None, target_density=1.0, fillers=False, row_blockage=False,
             seed=1000, convention="dreamplace", capacity=None, contours=0, streamlines=False, format="png",
             scale="clipped", range=None, colors=None, width=None, font_size=None, dpi=None, no_title=False, threads=0):
        """A picture of the design as it lies, by the names of `placefield plot`: "density", "cells", "overflow",
        "potential", "field_x", "field_y", "field", "force", "histogram", or one of congestion: "rudy", "pin_rudy",
        "rudy_long", "rudy_short", "macro_region", "cell_density", "pin_density", "demand_horizontal",
        "demand_vertical", "utilization_horizontal", "utilization_vertical".

        Options are those of `maps` and of `heat_map`. Returns a Picture, which a notebook shows.
        """
        title, label, kind = (("bins by density", "density (area / bin area)", "target") if picture == "histogram"
                              else _placefield.map_label(picture, convention))
        bins = self._fine_bins() if picture == "cells" and bins is None else bins
        options = {"bins": bins, "target_density": target_density, "fillers": fillers, "row_blockage": row_blockage,
                   "seed": seed, "convention": convention, "capacity": capacity, "dtype": "float64",
                   "threads": threads}
        if picture == "force":
            made = _placefield.forces(self, options)
        else:
            kinds = {"field": ["field_x", "field_y"], "histogram": ["cells"]}.get(picture, [picture])
            made = _placefield.maps(self, None, None, kinds, options)
        values, arrows = (numpy.hypot(*made), tuple(made)) if len(made) == 2 else (made[0], None)
        subtitle = f"{values.shape[0]} × {values.shape[1]} {'areas' if picture == 'force' else 'bins'}"
        if picture == "overflow" and not values.any():
            subtitle += "; no bin is above the target"
        style = {"title": f"{self.name}: {title}", "subtitle": subtitle, "label": label, "format": format,
                 "range": range, "width": width, "font_size": font_size, "dpi": dpi, "no_title": no_title,
                 "mark": {"density": target_density, "histogram": target_density, "cells": 1.0,
                          "utilization_horizontal": 1.0, "utilization_vertical": 1.0}.get(picture)}
        if picture == "histogram":
            return Picture(_placefield.histogram(as_array(values), style))
        return heat_map(values, self.die, kind=kind, outlines=self._outlines(), arrows=arrows, scale=scale,
                        colors=colors, microns=self.units_per_micron, contours=contours, streamlines=streamlines,
                        absent="no cells" if picture == "force" else None, **style)

    def _fine_bins(self, pixels=1280):
        xl, yl, xh, yh = self.die
        unit = max(xh - xl, yh - yl) / pixels
        return max(round((xh - xl) / unit), 1), max(round((yh - yl) / unit), 1)

    def _length(self, length):
        microns = self.units_per_micron
        return f"{length:.6e} layout units" if microns is None else f"{length / microns:.6e} µm"

    def _repr_html_(self):
        return _page(f"Design {self.name}", {
            "nodes": f"{self.nodes} ({len(self.movable)} movable, {len(self.fixed)} fixed)",
            "nets": f"{self.nets}, {self.pins} pins",
            "HPWL": "none" if self.nets == 0 else self._length(self.hpwl()),
            **{"warning": warning for warning in self.warnings[:1]},
        }, self)


def _unpickled(kind, state):
    return kind(_placefield.design_of_state(state))


def _page(title, rows, design):
    """A table, and the cells of a design beside it."""
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
                   for name, value in rows.items())
    try:
        picture = base64.b64encode(design.plot("cells", no_title=True)).decode()
    except ValueError:          # a design without a die
        return f"<b>{html.escape(title)}</b><table>{rows}</table>"
    image = f'<img src="data:image/png;base64,{picture}" style="max-width: 480px" alt="cells">'
    return f"<b>{html.escape(title)}</b><table>{rows}</table>{image}"


@dataclasses.dataclass(frozen=True, repr=False)
class Placement:
    """A placement that `place`, `legalize` or `refine` made. What a function does not make is None.

    design : the design as it is placed now
    hpwl, hpwl_weighted : of that, layout units
    stages : what came out of "global", "legal" and "detailed", as far as they ran: HPWL, seconds and the like
    legality, displacement : Legality of the result; how far cells went from the global placement on, a Displacement
    failed : cells for which no legal place was found, and why
    kept : with `keep_placed`, the number of cells that kept their places and their legality
    status : "converged", "stopped", "plateau" or "diverged", as the command says: of the global stage, or how
        `legalize` or `refine` ended
    iterations, iteration : those done, and the one whose placement is the result
    overflow_smoothed, overflow_exact, overflow_standard_cells : of the global placement; the last where macros move
    bins, target_density, fillers, seed : what was taken; `target_density` is higher than asked for where cells
        do not fit otherwise, and status is "stopped" then, unless `raise_density`
    limit : what keeps overflow from falling, of a plateau
    candidates : every global placement of each seed and variant, where there are several: how far it came, and
        its HPWL in the legal stage, or where it ended before
    routability : congestion before the first round in which cells grew, and after each
    routability_end : `result`, the round of the result, and `reason`, why no other round followed
    history : arrays by iteration: iteration, hpwl_weighted, wirelength, overflow_smoothed, max_smoothed, energy,
        gamma, lambda, step
    warnings : what was odd about design and options, one line each
    """

    design: Design
    hpwl: float
    hpwl_weighted: float
    stages: dict
    legality: Legality = None
    displacement: Displacement = None
    failed: list = None
    kept: dict = None
    status: str = None
    iterations: int = None
    iteration: int = None
    overflow_smoothed: float = None
    overflow_exact: float = None
    overflow_standard_cells: float = None
    bins: tuple = None
    target_density: float = None
    fillers: int = None
    seed: int = None
    limit: str = None
    candidates: list = None
    routability: list = None
    routability_end: dict = None
    history: dict = None
    warnings: list = None

    def __repr__(self):
        values = [f"{self.status!r}", f"hpwl={self.hpwl}"]
        if self.overflow_smoothed is not None:
            values += [f"overflow_smoothed={self.overflow_smoothed:.6f}", f"iterations={self.iterations}"]
        if self.legality is not None:
            values.append(f"legal={self.legality.legal}")
        return f"placefield.Placement({', '.join(values)})"

    def _repr_html_(self):
        rows = {"status": self.status, "HPWL": f"{self.hpwl} layout units"}
        if self.overflow_smoothed is not None:
            rows["overflow"] = f"{self.overflow_smoothed:.6f} smoothed, {self.overflow_exact:.6f} exact"
        if self.legality is not None:
            rows["legal"] = "yes" if self.legality else "no"
        return _page(f"Placement of {self.design.name}", rows, self.design)


def _placement(design, made):
    """What `_placefield.place` and the like give, as a Placement."""
    placed, report = made
    report["legality"] = _legality(report.get("legality"))
    report["displacement"] = _displacement(report.get("displacement"))
    if "history" in report:
        report["history"] = {name: numpy.array(values) for name, values in report["history"].items()}
        report["bins"] = tuple(report["bins"])
    report["warnings"] = [*design.warnings, *report.get("warnings", ())]
    return Placement(Design(placed), **report)


def read_design(path, *, lef=None, pl=None, net_weights=None, pin_offset=None, pin_position=None, row_blockage=False,
                keep_fillers=False):
    """Reads a design: the Bookshelf files that an .aux file names, or a .def file (.gz, .xz, .bz2) with its LEF files.

    lef : LEF file of a .def design, or a list of them, the one with the technology first
    pl : one .pl or .def file whose placement is read in place of the design's own
    net_weights : a file of net weights, a name and a weight on each line; other nets keep the design's
    pin_offset : where the .nets file counts pin offsets from, "center" (the default) or "lower-left", as
        IBM-PLACE and UMpack designs have it; `design.warnings` says where the other would suit better
    pin_position : where a LEF pin is, "center" of its bounding box (the default) or "mean" of its rectangles
    row_blockage : whether area outside every row counts as fixed, in all that is made of the design
    keep_fillers : whether filler cells (CLASS CORE SPACER) of a .def design are movable cells; by default they are
        left out

    Raises OSError for a file that cannot be read, ValueError with file, line and column for one that is wrong.
    """
    options = {"lef": lef, "pl": pl, "net_weights": net_weights, "pin_offset": pin_offset, "pin_position": pin_position,
               "row_blockage": row_blockage, "keep_fillers": keep_fillers}
    return Design(_placefield.read_design(path, options))


def place(design, *, until=None, padding=0, keep_placed=False, init="center", stop_overflow=0.07, raise_density=False, iterations=2000,
          time_limit=None, seeds=1, effort=None, keep_density=None, routability=False, capacity=None,
          routability_rounds=None, routability_area=None, checkpoint=None, checkpoint_every=100, resume=None, bins=None, target_density=None, row_blockage=False,
          seed=1000, gamma=None, density_weight=None, growth=None, late_growth=None, reference_rise=None, momentum=None,
          pressure=None, ignore_net_degree=None, no_fillers=False, no_precondition=False, noise=0.0, dtype="float32",
          device="cpu", pipeline=None, threads=0, progress=None, on_iteration=None, on_iteration_every=1, terms=()):
    """Places a design: spreads its cells, makes them legal and shortens wires. Options have the
    names and defaults of those of `placefield place`. `effort` has another default; `device` and `dtype` are --engine and
    --precision. Frames, pages and pictures are the command's alone.

    until : the last stage, "global", "legal" or "detailed" (default: the last there is)
    padding : sites that stay free at either side of every cell once it is legal
    keep_placed : keep cells that have a position exactly where they are, and place only the others beside them
    init : where cells start, "center" of the die, or "file": where the design has them
    stop_overflow : smoothed overflow at which the global placement is done
    raise_density : be content with a higher target density than asked for where cells do not fit at that one
    iterations, time_limit : most iterations; seconds after which the best so far is the result
    seeds : compare so many seeds, from `seed` on, at a smoothed overflow of 0.4; the quarter with the shortest wires
        goes on, and the shortest legal placement is refined (where macros move, all go on)
    effort : "low" (default; the command's is "medium"), "medium" or "high": how many variants are placed and made legal.
        The one with the shortest wires is refined. None with `on_iteration`, `terms`, `checkpoint` or `resume`, nor
        where the command places none. Also whether refinement inserts cells where many others give way. `progress` is also called in variants
    keep_density : density beyond which detailed placement fills no bin that is not fuller already (default: none)
    routability : continue in rounds in which cells grow if wires need more tracks than there are. Detailed placement
        then minimises wirelength plus wire beyond the tracks. `capacity` is that of `maps`; the default without LEF
        has the tracks that 5 % of the bins exceed. `routability_rounds` is the largest number of rounds, and
        `routability_area` the largest area added, as a share of the cells' area
    checkpoint, resume : file for the global placement in progress, every `checkpoint_every` iterations and when it
        ends, and one to go on from, of the same design and options
    bins : one number or two (default: about one mean cell in each at most, or DREAMPlace's choice where macros move)
    target_density : above 0 and at most 1 (default: 0.95, or as little more as the cells need)
    row_blockage : as of `Engine`
    gamma, density_weight, growth, late_growth, reference_rise, momentum, pressure, ignore_net_degree, no_fillers,
    no_precondition, noise : schedules and parts of the objective, for experiments: `placefield place --help`
    dtype, device, pipeline, threads : as of `Engine`
    progress : called with iteration, weighted HPWL and smoothed overflow after every iteration. If it returns False,
        the descent ends and the later stages follow. An exception in it, and Ctrl-C, end the placement.
    on_iteration : called with iteration, x and y before the first iteration and after every `on_iteration_every`-th.
        x and y are the lower-left corners of all nodes, shape (nodes,). It returns new net weights, shape (nets,),
        None to keep the present ones, or False as `progress` does. The later stages and the design that is returned
        have the last weights. For one seed, without checkpoint and resume.
    terms : terms of the objective beside wirelength and density, on the CPU. Each is called at every evaluation with x
        and y, the lower-left corners of the movable nodes, and the indices of these nodes; beside legal macros those
        of the other nodes. It returns its value and its gradient by x and by y, in layout units times net weight. Its
        gradient is added to the wirelength's before the preconditioner.

    Cells keep to their fences. Returns a Placement.
    """
    options = dict(locals(), dtype=str(numpy.dtype(dtype)), device=str(device))

    def answered(*at):
        answer = on_iteration(*at)
        return answer if answer is None or answer is False else doubles(answer, "net weights from on_iteration")

    def added(term):
        def call(*at):
            value, by_x, by_y = term(*at)
            return float(value), doubles(by_x, "gradient of a term"), doubles(by_y, "gradient of a term")
        return call

    if on_iteration is not None:
        options["on_iteration"] = answered
    options["terms"] = [added(term) for term in terms]
    return _placement(options.pop("design"), _placefield.place(design, options))


def legalize(design, *, padding=0, keep_placed=False, threads=0):
    """Gives every movable cell a legal place near its own: rows, sites, fences, `padding` free sites at either side.
    With `keep_placed` only cells without a position move. Cells without a position start at the median of their nets.
    Returns a Placement; cells for which there is no place stay where they were and are in `failed`."""
    options = {"padding": padding, "keep_placed": keep_placed, "threads": threads}
    return _placement(design, _placefield.legalize(design, options))


def refine(design, *, rounds=None, effort=None, no_mirror=False, padding=0, keep_placed=False, target_density=1.0,
           bins=None, time_limit=None, threads=0, device="cpu"):
    """Shortens the wires of a legal placement, which stays legal: detailed placement. Options are those of
    `placefield refine`; no bin is filled beyond `target_density` that was not before. With `keep_placed` cells that the
    files of the design place stay, and those move that got their positions later. `device` is as of `Engine`; every
    device has the same result. Returns a Placement.

    Raises ValueError where the placement is not legal.
    """
    options = dict(locals(), device=str(device))
    return _placement(options.pop("design"), _placefield.refine(design, options))


def diff(before, after):
    """What is between two placements of one design: returns a Diff."""
    return Diff(before.hpwl(), after.hpwl(), _displacement(_placefield.diff(before, after)))


def maps(design, x=None, y=None, kinds=("density",), grid=None, *, target_density=1.0, fillers=False,
         row_blockage=False, seed=1000, convention="dreamplace", capacity=None, dtype=None, pipeline=None, threads=0,
         stream=None):
    """Maps of a placement, as one array of shape (kinds, nx, ny).

    x, y : where the nodes lie, as `Design.with_positions` takes them (default: where the design has them)
    kinds : names of maps, each a plane of the result:
        "density", "potential", "field_x", "field_y" : of an engine, in bin widths, as `placefield eval --maps` writes
        "cells", "overflow" : density of the cells alone at their exact sizes, and what is above the target of it
        "rudy", "pin_rudy", "rudy_long", "rudy_short", "macro_region", "cell_density", "pin_density" : congestion
        "demand_horizontal", "demand_vertical" : wires per layout unit across them
    grid : bins, one number or two (default: DREAMPlace's choice); of congestion also "gcells", those of the DEF file
    target_density, fillers, row_blockage, seed, pipeline : of the engine, as of `Engine`
    convention : whose formulas congestion follows, "circuitnet", "dreamplace" or "openroad"
    capacity : horizontal and vertical routing tracks per layout unit, or the LEF layers whose tracks count, each with
        the share of them that wires may use: "metal1-metal6,metal1:0.2" (default: all LEF layers)
    dtype : "float32" or "float64" (default: that of `x`, or float32)
    threads : 0 takes all there are

    The formulas are in the documentation of the crate's module `congestion`. The result is a tensor of PyTorch's where
    `x` is one, which has no gradient. Of positions in host memory it is made on the CPU.

    Of positions in memory of a CUDA device, float32 or float64, maps of congestion are made there, with the bits of the
    CPU's: the result is there too, of the library of `x` or an Array where that has no from_dlpack, and nothing waits
    but the first call. Work is enqueued to `stream` (default: the current one of the library of `x`), which must not be
    capturing. Tables of the design are kept on the device for calls with the same bins, convention and capacity.
    Numbers that are not finite are not refused: their cells and nets are left out. Of the other kinds an Engine has
    the maps.
    """
    if dtype is None:
        found = str(getattr(x, "dtype", "float32")).split(".")[-1]
        dtype = found if found in ("float32", "float64") else "float32"
    stream = stream_of(x if on_device(x) else y, stream)
    options = {"grid": grid, "target_density": target_density, "fillers": fillers, "row_blockage": row_blockage,
               "seed": seed, "convention": convention, "capacity": capacity, "dtype": str(numpy.dtype(dtype)),
               "pipeline": pipeline, "threads": threads}
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if on_device(x) or on_device(y):
        made = _placefield.maps_on_device(design, as_array(x), as_array(y), kinds, options, stream=stream)
        return lent(x, [made])[0]
    made = _placefield.maps(design, *both_doubles(x, y), kinds, options)
    if is_torch(x):
        import torch
        return torch.from_numpy(made)
    return made


def heat_map(values, die=None, *, kind="sequential", title="", subtitle="", label="", mark=None, outlines=None,
             arrows=None, contours=0, streamlines=False, absent=None, microns=None, format="png", scale="clipped",
             range=None, colors=None, width=None, font_size=None, dpi=None, no_title=False):
    """A map over the die as a picture.

    values : shape (nx, ny), float32 or float64
    die : (xl, yl, xh, yh), layout units (default: of bins of 1 x 1)
    kind : what the values are: "sequential", "target" (`mark` is the target), "magnitude", "overflow" or "diverging"
    title, subtitle, label : two lines above the map, and what stands at the colour bar
    outlines : rectangles, shape (n, 4): x, y, width, height
    arrows : two maps of a field, along x and y
    contours : lines of equal value, so many between the extremes
    streamlines : draw the field of `arrows` by lines along it
    absent : the meaning of NaN as a value, such as "no cells"
    microns : layout units in a micrometre, for axes in micrometres
    format : "png", "svg" or "pdf"
    scale, range, colors, width, font_size, dpi, no_title : as of `placefield plot`: how values become colours
        ("linear", "clipped" or "log"), the values at their ends, the colour map ("viridis", "magma", "grey",
        "red-blue" or "purple-green"), millimetres and points on paper

    Returns a Picture, which a notebook shows.
    """
    values = as_array(values)
    arrows = (None, None) if arrows is None else tuple(map(as_array, arrows))
    if len(arrows) != 2:
        raise ValueError(f"arrows: expected two maps, along x and y, found {len(arrows)}")
    options = {"die": None if die is None else box(die, "die"), "kind": kind, "title": title,
               "subtitle": subtitle, "label": label, "mark": mark,
               "outlines": None if outlines is None else rectangles(outlines, "outlines"),
               "arrows_x": arrows[0], "arrows_y": arrows[1], "contours": contours, "streamlines": streamlines,
               "absent": absent, "microns": microns, "format": format, "scale": scale, "range": range,
               "colors": colors, "width": width, "font_size": font_size, "dpi": dpi, "no_title": no_title}
    return Picture(_placefield.heat_map(values, options))


def profile(values, die, line):
    """A map along a line between two points, as `placefield plot --cut` draws it.

    values : shape (nx, ny), float32 or float64
    die : (xl, yl, xh, yh), layout units
    line : (x0, y0, x1, y1), layout units; beyond the die values are those of its edge

    Returns distances from the first point, layout units, and values: two arrays of one shape, interpolated between
    the centres of bins, two values at least for every bin.
    """
    return tuple(_placefield.profile(as_array(values), box(die, "die"), tuple(map(float, line))))
