"""Designs: read, measured, drawn and placed, beside formulas in NumPy."""

import bz2
import gc
import gzip
import json
import lzma
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys

import numpy
import pytest

import placefield

# A schedule by which forty cells are spread, roughly, in some fifty iterations.
QUICK = {"bins": 8, "threads": 1, "growth": 1.5, "late_growth": 1.5, "density_weight": 0.2, "stop_overflow": 0.2}
EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def pins(design, x, y):
    """Where the pins lie, by the columns."""
    node = design.pin_node
    return x[node] + design.width[node] / 2 + design.pin_dx, y[node] + design.height[node] / 2 + design.pin_dy


def boxes(design, x, y):
    """Low and high ends of the nets, along x and along y."""
    first = design.net_start[:-1]
    return [(numpy.minimum.reduceat(at, first), numpy.maximum.reduceat(at, first)) for at in pins(design, x, y)]


def hpwl(design, x, y, weight=1.0):
    (xl, xh), (yl, yh) = boxes(design, x, y)
    return (weight * ((xh - xl) + (yh - yl))).sum()


def covered(low, high, edges):
    """By how much intervals cover the spaces between edges: shape (intervals, spaces)."""
    ends = numpy.minimum(high[:, None], edges[None, 1:]) - numpy.maximum(low[:, None], edges[None, :-1])
    return numpy.maximum(ends, 0.0)


def test_columns_are_numpys_and_cannot_be_written(spread):
    design = placefield.read_design(spread)
    assert (design.name, design.nodes, design.nets) == ("s", 61, 80)
    assert design.die == (20.0, -30.0, 140.0, 30.0)
    assert design.names[::30] == ("c0", "c30", "f") and design.net_names[79] == "n79"
    assert design.movable.tolist() == list(range(60)) and design.fixed.tolist() == [60]
    assert design.x[60] + 1.0 == 91.0 and len(design.y) == 61 and (2.0 * design.y[58:])[2] == 0.0
    assert design.orientation[60] == "N" and set(design.orientation) == {"N", "S", "FN", "E", "FW"}
    # One that lies on its side is as wide as the file says it is high.
    for turn, wide in (("E", 10.0), ("N", None)):
        k = [k for k, of in enumerate(design.orientation) if of == turn and k % 7][0]
        assert (design.width[k] == 10.0) == (wide is not None) and (design.height[k] == 10.0) == (wide is None)
    for column in (design.x, design.width, design.movable, design.net_start, design.pin_node, design.pin_dx):
        assert isinstance(column, numpy.ndarray) and not column.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 5
    assert design.x is design.x                      # read once
    assert numpy.asarray(design.x).ctypes.data == design.x.ctypes.data
    at, kept = design.x.ctypes.data, design.x
    del design
    gc.collect()
    assert kept.ctypes.data == at and kept[60] == 90.0
    assert design_without_nets_has_empty_columns(spread)


def design_without_nets_has_empty_columns(aux):
    text = aux.read_text()
    try:
        aux.write_text(text.replace("s.nets s.wts ", ""))
        bare = placefield.read_design(aux)
    finally:
        aux.write_text(text)
    return bare.nets == 0 and bare.net_start.tolist() == [0] and bare.hpwl() is None


def test_nets_as_columns_give_the_hpwl(spread):
    design = placefield.read_design(spread)
    assert design.net_start[-1] == len(design.pin_node) == design.pins
    assert design.hpwl() == pytest.approx(hpwl(design, design.x, design.y), rel=1e-12)
    weighted = hpwl(design, design.x, design.y, design.net_weight)
    assert design.hpwl(weighted=True) == pytest.approx(weighted, rel=1e-12) != design.hpwl()
    # Elsewhere: movable nodes alone, or all.
    random = numpy.random.default_rng(1)
    x, y = random.uniform(20, 130, 61), random.uniform(-30, 0, 61)
    assert design.hpwl(x, y) == pytest.approx(hpwl(design, x, y), rel=1e-12)
    assert design.hpwl(y, x) == pytest.approx(hpwl(design, y, x), rel=1e-12) != design.hpwl(x, y)
    x[60], y[60] = 90.0, 0.0
    assert design.hpwl(x[:60], y[:60]) == pytest.approx(hpwl(design, x, y), rel=1e-12)
    assert design.hpwl(x[:60].astype("float32"), list(y[:60])) == pytest.approx(hpwl(design, x, y), rel=1e-6)
    assert design.hpwl() == pytest.approx(hpwl(design, design.x, design.y), rel=1e-12)
    for call, text in [
        (lambda: design.hpwl(x), "x, y: expected both or none"),
        (lambda: design.hpwl(x[:7], y[:7]), r"x: expected shape \[60\] or \[61\], found \[7\]"),
        (lambda: design.hpwl(x, y[:60]), r"y: expected shape \[61\], found \[60\]"),
        (lambda: design.hpwl(x, numpy.where(numpy.arange(61) == 4, numpy.nan, y)), "y 4: NaN: expected a finite"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    for wrong in (x + 1j, ["a"] * 61, None):
        with pytest.raises((TypeError, ValueError), match="y: expected numbers, found|expected both or none"):
            design.hpwl(x, wrong)


def weighted_average(design, x, y, gamma):
    total = 0.0
    for at in pins(design, x, y):
        for k in range(design.nets):
            own = at[design.net_start[k]:design.net_start[k + 1]]
            e, n = numpy.exp((own - own.max()) / gamma), numpy.exp((own.min() - own) / gamma)
            total += design.net_weight[k] * ((own * e).sum() / e.sum() - (own * n).sum() / n.sum())
    return total


def test_wirelength_and_its_gradient(spread):
    design = placefield.read_design(spread)
    x, y = design.x[:60] + 0.5, design.y[:60]

    def value(x, y):
        return weighted_average(design, numpy.append(x, 90.0), numpy.append(y, 0.0), 4.0)

    found = design.wirelength(x, y, 4.0)
    assert found.value == pytest.approx(value(x, y), rel=1e-12)
    assert found.hpwl_weighted == pytest.approx(design.hpwl(x, y, weighted=True), rel=1e-12)
    assert found.value < found.hpwl_weighted < design.wirelength(x, y, 1e-3).value * (1 + 1e-6)
    assert found.gradient.shape == (2, 60) and found.gradient.flags.writeable
    for axis in (0, 1):
        for k in (0, 5, 31):
            step = 1e-4 * (numpy.arange(60) == k)
            moved = [value(x + s * step * (axis == 0), y + s * step * (axis == 1)) for s in (1.0, -1.0)]
            assert found.gradient[axis, k] == pytest.approx((moved[0] - moved[1]) / 2e-4, rel=1e-5, abs=1e-6)
    short = design.wirelength(x, y, 4.0, ignore_net_degree=3)
    assert short.value < found.value and short.hpwl_weighted == pytest.approx(found.hpwl_weighted, rel=1e-12)
    assert design.wirelength(x, y, 4.0).value == found.value
    for gamma in (0.0, -1.0, numpy.nan, None):
        with pytest.raises(ValueError, match="gamma: expected a length"):
            design.wirelength(x, y, gamma)
    with pytest.raises(ValueError, match=r"x: expected shape \[60\], found \[61\]"):
        design.wirelength(design.x, design.y, 4.0)


def test_pin_offsets_are_counted_from_where_they_are_said_to(spread):
    nets = spread.parent / "s.nets"
    center = placefield.read_design(spread)
    text = nets.read_text().splitlines()
    size = {f"c{k}": (w, h) for k, (w, h) in enumerate(zip(*_sizes(spread)))} | {"f": (30.0, 20.0)}
    for at, line in enumerate(text):
        words = line.split()
        if len(words) == 5 and words[0] in size:
            (w, h), (dx, dy) = size[words[0]], map(float, words[3:])
            text[at] = f" {words[0]} I : {dx + w / 2} {dy + h / 2}"
    nets.write_text("\n".join(text) + "\n")
    corner = placefield.read_design(spread, pin_offset="lower-left")
    assert corner.hpwl() == pytest.approx(center.hpwl(), rel=1e-12)
    assert numpy.allclose(corner.pin_dx, center.pin_dx) and numpy.allclose(corner.pin_dy, center.pin_dy)
    wrong = placefield.read_design(spread)
    assert wrong.hpwl() != pytest.approx(center.hpwl(), rel=1e-3)
    assert any("lower-left" in warning for warning in wrong.warnings)
    assert not any("lower-left" in warning for warning in corner.warnings + center.warnings)
    with pytest.raises(ValueError, match="pin_offset: expected center, lower-left, found 'left'"):
        placefield.read_design(spread, pin_offset="left")
    with pytest.raises(ValueError, match="pin_position is for .def designs"):
        placefield.read_design(spread, pin_position="mean")


def _sizes(aux):
    lines = [line.split() for line in (aux.parent / "s.nodes").read_text().splitlines() if line.startswith("c")]
    return [float(w) for _, w, _ in lines], [float(h) for _, _, h in lines]


def test_area_outside_rows_counts_as_fixed_where_asked(spread):
    scl = spread.parent / "s.scl"
    scl.write_text(scl.read_text().replace("NumSites : 120", "NumSites : 90", 1))
    free = placefield.maps(placefield.read_design(spread), kinds="density", grid=(12, 6), dtype="float64")[0]
    blocked = placefield.read_design(spread, row_blockage=True)
    less = placefield.maps(blocked, kinds="density", grid=(12, 6), dtype="float64")[0] - free
    # The lowest row ends 30 before the others: three bins of ten by ten.
    assert numpy.allclose(less[9:, 0], 1.0) and abs(less[:9]).max() < 1e-9 and abs(less[:, 1:]).max() < 1e-9
    one = placefield.Engine.from_design(blocked, (12, 6), dtype="float64")
    two = placefield.Engine.from_design(placefield.read_design(spread), (12, 6), dtype="float64", row_blockage=True)
    assert one.evaluate(one.start()).energy == two.evaluate(two.start()).energy


def test_a_placement_is_written_and_read_again(spread, tmp_path):
    design = placefield.read_design(spread)
    x, y = design.x[:60] + 3.0, design.y[:60] - 1.0
    moved = design.with_positions(x, y)
    assert type(moved) is placefield.Design
    assert numpy.array_equal(moved.x[:60], x) and numpy.array_equal(moved.y[:60], y) and moved.x[60] == 90.0
    assert numpy.array_equal(design.x[:60] + 3.0, x)
    assert moved.hpwl() == design.hpwl(x, y)
    moved.write_pl(tmp_path / "out.pl")
    again = placefield.read_design(spread, pl=tmp_path / "out.pl")
    assert numpy.array_equal(again.x, moved.x) and again.orientation == design.orientation
    found = placefield.diff(design, moved)
    assert (found.hpwl_before, found.hpwl_after) == (design.hpwl(), moved.hpwl())
    distance = found.displacement
    assert (distance.cells, distance.moved, distance.turned) == (60, 60, 0)
    assert distance.mean == pytest.approx(4.0) and distance.max == pytest.approx(4.0)
    far = distance.farthest[0]
    assert far.after[0] - far.before[0] == pytest.approx(3.0) and far.after[1] - far.before[1] == pytest.approx(-1.0)
    with pytest.raises(ValueError, match="not read from a .def file"):
        design.write_def(tmp_path / "out.def")


def test_legality_is_counted(spread, aux):
    design = placefield.read_design(spread)
    legality = design.legality()
    assert not legality and not legality.legal and legality.fixed_moved == 0
    x, y, w, h = design.x, design.y, design.width, design.height
    a, b = numpy.triu_indices(61, 1)
    along = [numpy.minimum(at[a] + size[a], at[b] + size[b]) - numpy.maximum(at[a], at[b])
             for at, size in ((x, w), (y, h))]
    area = numpy.where((along[0] > 1e-3) & (along[1] > 1e-3), along[0] * along[1], 0.0)
    assert legality.overlaps == numpy.count_nonzero(area)
    assert legality.overlap_area == pytest.approx(area.sum(), rel=1e-6)
    from_row = abs((y[:60] + 30.0) / 10.0 - numpy.round((y[:60] + 30.0) / 10.0)) * 10.0
    assert legality.off_row == numpy.count_nonzero(from_row > 1e-3)
    worst = [violation for violation in legality.worst if violation.fault == "overlap"]
    assert worst[0].amount == pytest.approx(area.max())
    assert worst[0].cells == [design.names[of[area.argmax()]] for of in (a, b)]
    # In a row beside one another, and a fixed cell away from its place.
    chain = placefield.read_design(aux)
    k = numpy.arange(40)
    x, y = 10.0 + 5.0 * (k % 10), 10.0 * (k // 10)
    assert chain.with_positions(x, y).legality()
    assert chain.with_positions(numpy.append(x, 0.0), numpy.append(y, 50.0)).legality().fixed_moved == 1
    assert chain.with_positions(y, x).legality().legal is False


def test_maps_of_cells_are_areas(spread):
    design = placefield.read_design(spread)
    grid, (xl, yl, xh, yh) = (24, 6), design.die
    x_edges, y_edges = numpy.linspace(xl, xh, 25), numpy.linspace(yl, yh, 7)
    by_x = covered(design.x, design.x + design.width, x_edges)
    by_y = covered(design.y, design.y + design.height, y_edges)
    want = numpy.einsum("ki,kj->ij", by_x, by_y) / (5.0 * 10.0)
    made = placefield.maps(design, kinds=["overflow", "cells"], grid=grid, target_density=0.8, dtype="float64")
    assert made.shape == (2, 24, 6) and made.dtype == numpy.float64
    # Of the fixed area as much counts as the target density leaves; the block alone covers no other.
    block = numpy.einsum("i,j->ij", by_x[60], by_y[60]) / 50.0
    assert abs(made[1] - (want - block + 0.8 * block)).max() < 1e-9
    assert abs(made[0] - numpy.maximum(made[1] - 0.8, 0.0)).max() < 1e-9 and made[0].max() > 0.0
    x, y = design.x[:60][::-1].copy(), design.y[:60].copy()
    elsewhere = placefield.maps(design, x, y, "cells", grid)
    assert elsewhere.dtype == numpy.float64 and elsewhere.shape == (1, 24, 6)
    moved = placefield.maps(design.with_positions(x, y), kinds="cells", grid=grid, dtype="float64")
    assert abs(elsewhere[0] - moved[0]).max() == 0.0
    assert placefield.maps(design, kinds="cells", grid=grid).dtype == numpy.float32
    assert placefield.maps(design, x.astype("float32"), y.astype("float32"), "cells", grid).dtype == numpy.float32


def test_maps_of_an_engine_are_its_own(spread):
    design = placefield.read_design(spread)
    engine = placefield.Engine.from_design(design, (16, 8), fillers=True, dtype="float64")
    engine.evaluate(engine.start())
    kinds = ["field_y", "density", "potential", "field_x"]
    made = placefield.maps(design, kinds=kinds, grid=(16, 8), fillers=True, dtype="float64")
    field_x, field_y = engine.field()
    for got, want in zip(made, (field_y, engine.density(), engine.potential(), field_x)):
        assert abs(got - want).max() < 1e-9 * abs(want).max()


def test_maps_of_congestion_are_by_their_formulas(spread):
    design = placefield.read_design(spread)
    grid, (xl, yl, xh, yh) = (12, 5), design.die
    x_edges, y_edges = numpy.linspace(xl, xh, 13), numpy.linspace(yl, yh, 6)
    (nxl, nxh), (nyl, nyh) = boxes(design, design.x, design.y)
    area = numpy.einsum("ki,kj->kij", covered(nxl, nxh, x_edges), covered(nyl, nyh, y_edges)) / (10.0 * 12.0)
    horizontal = (area / (nyh - nyl)[:, None, None]).sum(0)
    vertical = (area / (nxh - nxl)[:, None, None]).sum(0)
    kinds = ["demand_vertical", "rudy", "demand_horizontal", "pin_density"]
    made = placefield.maps(design, kinds=kinds, grid=grid, convention="openroad", capacity=(3.0, 2.0), dtype="float64")
    assert numpy.allclose(made[2], horizontal, rtol=1e-6) and numpy.allclose(made[0], vertical, rtol=1e-6)
    assert not numpy.allclose(horizontal, vertical, rtol=1e-2)
    assert numpy.allclose(made[1], 100.0 * 1.25 / 5.0 * (horizontal + vertical), rtol=1e-6)
    inside = [numpy.histogram2d(*pins(design, design.x, design.y), (x_edges, y_edges))[0]]
    assert numpy.array_equal(made[3], inside[0])
    # Two pins weigh 1 by RISA's table, more of them more.
    light = placefield.maps(design, kinds=["demand_horizontal", "rudy", "demand_vertical"], grid=grid,
                            capacity=(3.0, 2.0), dtype="float64")
    pairs = numpy.diff(design.net_start) <= 3
    few = (design.net_weight[:, None, None] * area / (nyh - nyl)[:, None, None])
    assert (light[0] >= few.sum(0) * (1 - 1e-6)).all() and (light[0] >= few[pairs].sum(0) * (1 - 1e-6)).all()
    assert numpy.allclose(light[1], numpy.maximum(light[0] / 3.0, light[2] / 2.0), rtol=1e-6)


def test_maps_that_cannot_be_made(spread):
    design = placefield.read_design(spread)
    for options, text in [
        ({"kinds": "heat"}, "kinds: expected some of density, .*, found 'heat'"),
        ({"kinds": "rudy", "convention": "ours"},
         "convention: expected circuitnet, dreamplace, openroad, found 'ours'"),
        ({"kinds": "rudy", "convention": "openroad"}, r"of LEF's layers, or by capacity=\(h, v\)"),
        ({"kinds": "rudy", "capacity": (1.0, 0.0)}, "capacity: expected two numbers above zero"),
        ({"kinds": "rudy", "grid": "gcells"}, "grid: the design has no GCELLGRID"),
        ({"kinds": "density", "grid": "gcells"}, "grid: gcells are for maps of congestion alone"),
        ({"kinds": "density", "grid": (0, 4)}, "bins"),
    ]:
        with pytest.raises(ValueError, match=text):
            placefield.maps(design, **options)


def png_size(picture):
    assert picture.startswith(b"\x89PNG\r\n\x1a\n") and picture.endswith(b"IEND\xaeB`\x82")
    return struct.unpack(">II", picture[16:24])


def test_plots_are_pictures(spread, tmp_path):
    design = placefield.read_design(spread)
    for picture in ("density", "cells", "overflow", "potential", "field_x", "field_y", "field", "force", "rudy",
                    "pin_density", "demand_vertical", "utilization_horizontal"):
        capacity = (2.0, 1.0) if picture.startswith("utilization") else None
        drawn = design.plot(picture, bins=None if picture == "cells" else (24, 12), capacity=capacity)
        assert isinstance(drawn, bytes) and drawn._repr_png_() == bytes(drawn) and drawn._repr_svg_() is None
        width, height = png_size(drawn)
        assert width > 1.5 * height                     # as the die is
    drawn.save(tmp_path / "rudy.png")
    assert (tmp_path / "rudy.png").read_bytes() == drawn
    # A map that is higher than wide, as text.
    high = placefield.heat_map(numpy.arange(12.0).reshape(2, 6), title="a < b", label="numbers", format="svg")
    text = high.decode()
    assert "a &lt; b" in text and "numbers" in text and high._repr_svg_() == text and high._repr_png_() is None
    width, height = png_size(placefield.heat_map(numpy.ones((4, 40), "float32"), kind="magnitude", range=(0, 2)))
    assert height > width
    assert placefield.heat_map(numpy.ones((4, 4)), format="pdf", width=88, font_size=8).startswith(b"%PDF")
    for options, text in [
        ({"kind": "hot"}, "kind: expected sequential, target"),
        ({"range": (2, 1)}, "range: expected two numbers, the lower first, found"),
        ({"outlines": [[0, 0, 1]]}, "outlines: expected shape"),
        ({"width": 1}, "1 mm"),
    ]:
        with pytest.raises(ValueError, match=text):
            placefield.heat_map(numpy.ones((4, 4)), **options)
    with pytest.raises(ValueError, match="values: expected two axes, found 1"):
        placefield.heat_map(numpy.ones(4))
    # Lines of the field, and a map along a line.
    assert "contours every" in design.plot("potential", contours=5, format="svg").decode()
    assert "arrow length" not in design.plot("field", streamlines=True, format="svg").decode()
    plane = numpy.add.outer(3.0 * (numpy.arange(32) + 0.5) / 32, (numpy.arange(16) + 0.5) / 16)
    distance, values = placefield.profile(plane, (10, 0, 50, 30), (20, 7.5, 40, 22.5))
    assert distance[0] == 0 and distance[-1] == 25
    numpy.testing.assert_allclose(values, 1.0 + 0.08 * distance, rtol=1e-12)
    with pytest.raises(ValueError, match="contours: expected"):
        design.plot("potential", contours=-1)
    drawn = design.plot("histogram", format="svg", target_density=0.7).decode()
    assert "bins by density" in drawn and ">target density<" in drawn
    with pytest.raises(ValueError, match="picture: expected histogram, density"):
        design.plot("heat")
    with pytest.raises(ValueError, match="demand over capacity needs the capacity"):
        design.plot("utilization_vertical", convention="circuitnet")


def test_notebooks_show_designs(spread):
    design = placefield.read_design(spread)
    page = design._repr_html_()
    assert "61 (60 movable, 1 fixed)" in page and f"{design.hpwl():.6e}" in page and "data:image/png;base64," in page
    placed = placefield.place(design, until="global", bins=16, iterations=3, threads=1)
    assert "overflow" in placed._repr_html_() and repr(placed).startswith("placefield.Placement('stopped', hpwl=")


def test_a_placement_goes_through_its_stages(aux, tmp_path):
    design = placefield.read_design(aux)
    assert (design.name, design.nodes, design.nets, design.pins) == ("d", 41, 40, 80)
    seen = []
    placed = placefield.place(design, **QUICK, progress=lambda *of: seen.append(of))
    assert placed.status == "converged" and placed.overflow_smoothed <= 0.2 and placed.bins == (8, 8)
    assert placed.iterations == len(seen) == placed.history["iteration"][-1] and seen[0][0] == 1
    assert numpy.allclose(placed.history["hpwl_weighted"][1:], [hpwl for _, hpwl, _ in seen])
    assert numpy.allclose(placed.history["overflow_smoothed"][1:], [overflow for *_, overflow in seen])
    assert list(placed.stages) == ["global", "legal", "detailed"] and placed.legality and placed.failed == []
    assert placed.design.legality() and placed.hpwl == placed.design.hpwl() == placed.stages["detailed"]["hpwl"]
    assert placed.hpwl == pytest.approx(hpwl(design, placed.design.x, placed.design.y), rel=1e-9)
    assert placed.stages["detailed"]["hpwl"] <= placed.stages["legal"]["hpwl"]
    # On rows and sites.
    x, y = placed.design.x[:40], placed.design.y[:40]
    assert numpy.array_equal(x, numpy.round(x)) and numpy.array_equal(y % 10.0, numpy.zeros(40))
    assert placed.displacement.cells == 40 and placed.displacement.mean > 0.0
    spread = placefield.place(design, until="global", **QUICK)
    assert spread.legality is None and list(spread.stages) == ["global"]
    assert spread.stages["global"]["hpwl"] == pytest.approx(placed.stages["global"]["hpwl"])
    legal = placefield.legalize(spread.design)
    assert legal.status == "converged" and legal.legality
    assert legal.hpwl == pytest.approx(placed.stages["legal"]["hpwl"])
    refined = placefield.refine(legal.design, bins=8, device="cpu")
    assert not refined.stages["detailed"]["on_device"]
    swapped = placefield.refine(legal.design, bins=8, effort="low")
    assert swapped.stages["detailed"]["shortened"]["insert"] == 0.0
    with pytest.raises(ValueError, match="effort"):
        placefield.refine(legal.design, effort="most")
    with pytest.raises(ValueError, match="device"):
        placefield.refine(legal.design, device="tpu")
    assert refined.status == "converged" and refined.legality and refined.hpwl <= legal.hpwl
    assert refined.stages["legal"]["hpwl"] == pytest.approx(legal.hpwl)
    with pytest.raises(ValueError, match="not legal"):
        placefield.refine(design)
    padded = placefield.legalize(spread.design, padding=1)
    cells = sorted(zip(*(of[:40] for of in (padded.design.y, padded.design.x, padded.design.width))))
    assert padded.legality and all(a[0] != b[0] or a[1] + a[2] + 1.0 <= b[1] for a, b in zip(cells, cells[1:]))


def test_options_of_a_placement(aux):
    design = placefield.read_design(aux)
    options = {**QUICK, "until": "global", "iterations": 20}
    one = placefield.place(design, **options)
    assert numpy.array_equal(one.design.x, placefield.place(design, **options).design.x)
    for other in ({"seed": 7}, {"gamma": 8.0}, {"density_weight": 1e-2}, {"no_fillers": True},
                  {"no_precondition": True}, {"noise": 0.5}, {"target_density": 0.7}, {"init": "file"},
                  {"dtype": "float64"}, {"growth": 1.2}, {"reference_rise": 1.0}):
        made = placefield.place(design, **{**options, **other})
        assert not numpy.array_equal(one.design.x, made.design.x), other
    several = placefield.place(design, **options, seeds=3)
    assert sorted(of["seed"] for of in several.candidates) == [1000, 1001, 1002]
    first = next(of for of in several.candidates if of["seed"] == 1000)
    assert first["hpwl_weighted"] == pytest.approx(one.history["hpwl_weighted"][one.iteration])
    assert [of["seed"] for of in several.candidates if of["is_result"]] == [several.seed]
    late = placefield.place(design, until="global", **QUICK, time_limit=0)
    assert late.status == "stopped" and late.iterations == 1
    # The descent ends by itself, but not at the target density that is asked for.
    options |= {"stop_overflow": 1.0, "target_density": 0.3, "iterations": 1000}
    full = placefield.place(design, **options)
    assert full.target_density > 0.3 and full.status == "stopped" and full.iterations < 1000
    raised = placefield.place(design, **options, raise_density=True)
    assert raised.target_density == full.target_density and raised.status == "converged"
    assert any("target density" in warning for warning in full.warnings)
    crowded = placefield.place(design, until="global", **QUICK, iterations=10, routability=True, routability_rounds=1,
                               target_density=1.0, capacity=(1e-6, 1e-6), routability_area=0.05)
    assert [of["round"] for of in crowded.routability] == [0, 1]
    assert crowded.routability[0]["added_area"] == 0.0 < crowded.routability[1]["added_area"] <= 0.05 + 1e-9
    # Without them it takes the command's.
    whole = placefield.place(design, until="global", iterations=3, threads=1)
    assert whole.bins == (16, 16) and whole.target_density == pytest.approx(0.95)
    for wrong, text in [
        ({"init": "middle"}, "init: expected center, file, found 'middle'"),
        ({"until": "routed"}, "until: expected global, legal, detailed, found 'routed'"),
        ({"stop_overflow": 2}, "stop_overflow: expected a number from 0 to 1, found 2"),
        ({"iterations": -1}, "iterations: expected a whole number from 0"),
        ({"seeds": 0}, "seeds: expected a whole number from 1"),
        ({"seeds": 2, "init": "file"}, "seeds needs starts that differ"),
        ({"seeds": 2, "checkpoint": "c"}, "checkpoint and resume are for one seed"),
        ({"init": "file", "resume": "c"}, "resume says where cells start"),
        ({"capacity": (1, 1)}, "capacity needs routability=True"),
        ({"routability_area": 0.1}, "routability_area needs routability=True"),
        ({"routability": True, "routability_area": -1}, "routability_area: expected a number from 0 to 10, found -1"),
        ({"growth": 1.0}, "growth: expected a number above 1 and at most 2, found 1.0"),
        ({"pressure": 0}, "pressure: expected a number from 1e-12 to 1e6, found 0"),
        ({"time_limit": "soon"}, "time_limit: expected a number of seconds from 0 to 1e9, found 'soon'"),
        ({"bins": "8x8"}, "bins: expected a whole number, or two"),
    ]:
        with pytest.raises(ValueError, match=text):
            placefield.place(design, **wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        placefield.place(design, speed=2)


@pytest.fixture
def chip(tmp_path):
    """Forty components of one row's height, ten of them in a fence; routing layers and gcells."""
    lef, path = tmp_path / "d.lef", tmp_path / "d.def"
    lef.write_text("UNITS DATABASE MICRONS 2000 ; END UNITS\n"
                   "LAYER m1 TYPE ROUTING ; DIRECTION HORIZONTAL ; PITCH 0.2 ; WIDTH 0.1 ; END m1\n"
                   "LAYER m2 TYPE ROUTING ; DIRECTION VERTICAL ; PITCH 0.4 ; WIDTH 0.1 ; END m2\n"
                   "SITE s CLASS CORE ; SIZE 0.2 BY 1 ; END s\nMACRO inv CLASS CORE ; SIZE 0.2 BY 1 ; SITE s ;\n"
                   "PIN A PORT LAYER m1 ; RECT 0 0 0.2 1 ; RECT 0 0 0.1 0.5 ; END END A\nEND inv\nEND LIBRARY\n")
    cells = "".join(f"- c{k} inv + UNPLACED ;\n" for k in range(40))
    nets = "".join(f"- n{k} ( c{k} A ) ( c{k + 1} A ) ;\n" for k in range(39))
    rows = "".join(f"ROW r{k} s 0 {2000 * k} N DO 40 BY 1 STEP 400 0 ;\n" for k in range(8))
    fence = "REGIONS 1 ;\n- r ( 8000 8000 ) ( 16000 16000 ) + TYPE FENCE ;\nEND REGIONS\n"
    group = f"GROUPS 1 ;\n- g {' '.join(f'c{k}' for k in range(10))} + REGION r ;\nEND GROUPS\n"
    path.write_text("VERSION 5.8 ;\nDIVIDERCHAR \"/\" ;\nBUSBITCHARS \"[]\" ;\nDESIGN d ;\n"
                    "UNITS DISTANCE MICRONS 2000 ;\nDIEAREA ( 0 0 ) ( 16000 16000 ) ;\n"
                    f"{rows}GCELLGRID X 0 DO 5 STEP 4000 ;\nGCELLGRID Y 0 DO 3 STEP 8000 ;\n"
                    f"{fence}COMPONENTS 40 ;\n{cells}"
                    f"END COMPONENTS\nNETS 39 ;\n{nets}END NETS\n{group}END DESIGN\n")
    return path, lef


def test_designs_in_lef_and_def(chip, tmp_path):
    path, lef = chip
    design = placefield.read_design(path, lef=[lef])
    assert (design.name, design.nodes, design.nets, design.units_per_micron) == ("d", 40, 39, 2000.0)
    assert design.die == (0.0, 0.0, 16000.0, 16000.0)
    placed = placefield.place(design, **QUICK)
    assert placed.legality and placed.failed == []
    x, y = placed.design.x, placed.design.y
    inside = (x >= 8000) & (y >= 8000)
    assert inside[:10].all() and not inside[10:].any()           # the fence is for its own, and for no others
    for out in (tmp_path / "out.def.gz", tmp_path / "out.def"):
        placed.design.write_def(out)
        again = placefield.read_design(out, lef=lef)
        assert numpy.array_equal(again.x, numpy.round(x)) and numpy.array_equal(again.y, numpy.round(y))
        assert again.orientation == placed.design.orientation
    assert gzip.decompress((tmp_path / "out.def.gz").read_bytes()) == (tmp_path / "out.def").read_bytes()
    (tmp_path / "again.def.xz").write_bytes(lzma.compress((tmp_path / "out.def").read_bytes()))
    assert numpy.array_equal(placefield.read_design(tmp_path / "again.def.xz", lef=lef).x, again.x)
    (tmp_path / "again.def.bz2").write_bytes(bz2.compress((tmp_path / "out.def").read_bytes()))
    assert numpy.array_equal(placefield.read_design(tmp_path / "again.def.bz2", lef=lef).x, again.x)
    assert numpy.array_equal(placefield.read_design(path, lef=lef, pl=tmp_path / "out.def").x, again.x)
    # The pin's two rectangles have their centres at 0.1, 0.5 and 0.05, 0.25; the cell's centre is at the first.
    mean = placefield.read_design(tmp_path / "out.def", lef=lef, pin_position="mean")
    upright = again.orientation.index("N")
    of = numpy.flatnonzero(again.pin_node == upright)[0]
    assert (again.pin_dx[of], again.pin_dy[of]) == (0.0, 0.0)
    assert (mean.pin_dx[of], mean.pin_dy[of]) == pytest.approx((-50.0, -250.0))
    # Four gcells by two, and the layers' tracks: five and 2.5 in a micrometre.
    kinds = ["demand_horizontal", "demand_vertical", "rudy"]
    made = placefield.maps(again, kinds=kinds, grid="gcells", convention="openroad", dtype="float64")
    assert made.shape == (3, 4, 2)
    assert numpy.allclose(made[2], 100.0 * 1.25 / (7.5 / 2000.0) * (made[0] + made[1]))
    with pytest.raises(ValueError, match="expected the LEF files"):
        placefield.read_design(path)
    with pytest.raises(ValueError, match="pin_position: expected center, mean, found 'left'"):
        placefield.read_design(path, lef=lef, pin_position="left")
    with pytest.raises(ValueError, match="pin_offset is for .aux designs"):
        placefield.read_design(path, lef=lef, pin_offset="center")


def test_files_that_are_wrong(aux, tmp_path):
    with pytest.raises(OSError, match="nowhere.aux"):
        placefield.read_design(tmp_path / "nowhere.aux")
    (tmp_path / "d.nodes").write_text("UCLA nodes 1.0\na two 10\n")
    with pytest.raises(ValueError, match=r"d\.nodes:2:3: expected"):
        placefield.read_design(aux)


def test_a_placement_goes_on_from_a_checkpoint(aux, tmp_path):
    design = placefield.read_design(aux)
    options, kept = {**QUICK, "until": "global", "stop_overflow": 0.0}, tmp_path / "checkpoint"
    placefield.place(design, **options, iterations=10, checkpoint=kept)
    whole, seen = placefield.place(design, **options, iterations=30), []
    rest = placefield.place(design, **options, iterations=30, resume=kept, progress=lambda *of: seen.append(of))
    assert numpy.array_equal(rest.design.x, whole.design.x) and [of[0] for of in seen] == list(range(11, 31))
    assert numpy.array_equal(rest.history["hpwl_weighted"], whole.history["hpwl_weighted"])
    with pytest.raises(ValueError, match="a checkpoint of seed 1000, expected 7"):
        placefield.place(design, **options, seed=7, resume=kept)
    with pytest.raises(OSError, match="nothing"):
        placefield.place(design, **options, resume=tmp_path / "nothing")
    late = placefield.place(design, **options, iterations=1, checkpoint=tmp_path / "nowhere" / "c")
    assert any("nowhere" in warning for warning in late.warnings)


def test_net_weights_change_between_iterations(aux):
    design, seen = placefield.read_design(aux), []
    options = {"bins": 8, "threads": 1, "dtype": "float64", "until": "global"}
    plain = placefield.place(design, **options)
    lengths = sum(high - low for low, high in boxes(design, plain.design.x, plain.design.y))
    longest, weights = lengths.argmax(), numpy.ones(40)
    weights[longest] = 50.0

    def heavier(iteration, x, y):
        seen.append((iteration, hpwl(design, x, y)))
        assert x.shape == y.shape == (41,) and not x.flags.writeable
        return weights.tolist() if iteration == 100 else None

    placed = placefield.place(design, **options, on_iteration=heavier, on_iteration_every=20)
    assert [iteration for iteration, _ in seen] == list(range(0, placed.iterations + 1, 20))
    # Every net weighs 1 at first, so that lengths agree with the records.
    assert placed.history["hpwl_weighted"][20] == pytest.approx(seen[1][1])
    assert numpy.array_equal(placed.design.net_weight, weights)
    now = sum(high - low for low, high in boxes(design, placed.design.x, placed.design.y))
    assert now[longest] < 0.5 * lengths[longest]
    assert placed.design.hpwl(weighted=True) == pytest.approx(hpwl(design, placed.design.x, placed.design.y, weights))
    for wrong, text in [([1.0], "net weights"), ([float("nan")] * 40, "net `0`: NaN"), ("heavy", "expected numbers")]:
        with pytest.raises((ValueError, TypeError), match=text):
            placefield.place(design, **options, on_iteration=lambda *_: wrong)
    with pytest.raises(ValueError, match="on_iteration is for one seed"):
        placefield.place(design, **options, on_iteration=heavier, seeds=2)


def test_a_callback_ends_the_descent(aux):
    design = placefield.read_design(aux)
    placed = placefield.place(design, **QUICK, progress=lambda iteration, *_: iteration < 12)
    assert placed.iterations == 12 and placed.status == "stopped"
    # The later stages follow.
    assert placed.legality and list(placed.stages) == ["global", "legal", "detailed"]
    same = placefield.place(design, **QUICK, on_iteration=lambda iteration, x, y: False if iteration == 12 else None)
    assert numpy.array_equal(same.design.x, placed.design.x)


def test_terms_join_the_objective(aux):
    design = placefield.read_design(aux)
    seen = []

    def anchor(x, y, nodes):
        """Pulls node 3 to the lower right."""
        assert x.shape == y.shape == nodes.shape and not x.flags.writeable
        at, by_x, by_y = numpy.flatnonzero(nodes == 3)[0], numpy.zeros_like(x), numpy.zeros_like(y)
        far = x[at] - 50.0, y[at]
        by_x[at], by_y[at] = 2.0 * far[0], 2.0 * far[1]
        seen.append(nodes)
        return far[0] ** 2 + far[1] ** 2, by_x, by_y

    options = {**QUICK, "until": "global"}
    for dtype in ("float32", "float64"):
        plain = placefield.place(design, **options, dtype=dtype).design
        pulled = placefield.place(design, **options, dtype=dtype, terms=[anchor]).design
        far = [abs(of.x[3] - 50.0) + of.y[3] for of in (plain, pulled)]
        assert far[1] < 8.0 < far[0], far
    assert all(numpy.array_equal(nodes, design.movable) for nodes in seen)

    def broken(x, y, nodes):
        raise KeyError("no gradient")

    with pytest.raises(KeyError, match="no gradient"):
        placefield.place(design, **options, terms=[anchor, broken])
    with pytest.raises(ValueError, match="gradient of a term: expected shape"):
        placefield.place(design, **options, terms=[lambda x, y, nodes: (0.0, x[1:], y)])
    with pytest.raises(ValueError, match="terms need device"):
        placefield.place(design, **options, terms=[anchor], device="cuda")


def test_wirelength_takes_weights(aux):
    design = placefield.read_design(aux)
    x, y = design.x[design.movable], design.y[design.movable]
    weights = numpy.arange(40.0)
    found = design.wirelength(x, y, 1e-3, weights=weights)
    assert found.hpwl_weighted == pytest.approx(hpwl(design, design.x, design.y, weights))
    own = design.wirelength(x, y, 1e-3)
    assert own.hpwl_weighted == pytest.approx(hpwl(design, design.x, design.y))
    with pytest.raises(ValueError, match="weights: expected shape"):
        design.wirelength(x, y, 1e-3, weights=[1.0])


def test_an_exception_in_progress_ends_a_placement(aux):
    def progress(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        placefield.place(placefield.read_design(aux), bins=(8, 8), threads=1, progress=progress)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_control_c_ends_a_placement(aux):
    design = placefield.read_design(aux)
    # A Python that a shell started in the background ignores Ctrl-C otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            placefield.place(design, bins=(8, 8), threads=1, stop_overflow=0.0,
                             progress=lambda *_: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)


def run_example(name, *arguments):
    done = subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_example_of_timing_shortens_the_longest_path():
    (own, own_hpwl), (driven, driven_hpwl) = [
        [float(word.strip(",")) for word in line.split() if word.strip(",").isdigit()] for line in run_example("timing.py")]
    assert driven < 0.95 * own and driven_hpwl < 1.3 * own_hpwl


def test_the_example_of_an_evaluation_runs(spread, tmp_path):
    lines = run_example("evaluate.py", spread, tmp_path / "pictures")
    design = placefield.read_design(spread)
    assert f"HPWL {design.hpwl():.6e}" in lines[1]
    for name in ("density.png", "overflow.png", "rudy.png"):
        png_size((tmp_path / "pictures" / name).read_bytes())


def test_overflow_off_the_die_is_the_librarys():
    """The numbers are those of the library, of C and of the command line."""
    folder = pathlib.Path(__file__).parents[3] / "tests/data/off_die"
    numbers = json.loads((folder / "numbers.json").read_text())
    design = placefield.read_design(folder / "t.aux")
    engine = placefield.Engine.from_design(design, tuple(numbers["bins"]), dtype="float64")
    step = engine.evaluate(engine.start())
    assert step.overflow == pytest.approx(numbers["overflow"], rel=1e-12)
    assert engine.exact()[0] == pytest.approx(numbers["overflow"], rel=1e-12)
    assert step.area_off_die == pytest.approx(numbers["area_off_die"], rel=1e-12)
    assert design.hpwl() == pytest.approx(numbers["hpwl"], rel=1e-12)


def test_the_loop_of_the_readme_spreads_the_cells(aux):
    readme = (EXAMPLES.parent / "README.md").read_text()
    (loop,) = [block.split("```")[0] for block in readme.split("```python\n") if "for _ in" in block]
    names = {"placefield": placefield, "design": placefield.read_design(aux)}
    exec(loop, names)
    engine, positions = names["engine"], names["positions"]
    assert engine.evaluate(engine.start()).overflow > 0.5
    step = engine.evaluate(positions)
    assert step.overflow < 0.1 and step.area_off_die == 0.0


def test_the_example_of_a_spreading_placer_runs(aux, tmp_path):
    lines = run_example("spread.py", aux, tmp_path / "out.pl")
    overflows = [float(line.split("overflow")[1].split()[0]) for line in lines if "overflow" in line]
    assert overflows[-1] < 0.5 * overflows[0]
    again = placefield.read_design(aux, pl=tmp_path / "out.pl")
    assert again.legality() and f"HPWL {again.hpwl():.6e}" in lines[-1]


COLUMNS = ("x", "y", "width", "height", "movable", "fixed", "net_start", "net_weight", "pin_node", "pin_dx", "pin_dy")


def test_designs_cannot_be_changed(spread):
    design = placefield.read_design(spread)
    for name in COLUMNS:
        column = getattr(design, name)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            column.flags.writeable = True
    for name in (*COLUMNS, "names", "net_names", "orientation", "warnings", "name", "die", "units_per_micron", "typo"):
        with pytest.raises(AttributeError, match=f"{name}: a design cannot be changed"):
            setattr(design, name, 2.0)
        with pytest.raises(AttributeError, match=name):
            delattr(design, name)
    for name in ("names", "net_names", "orientation", "warnings"):
        assert isinstance(getattr(design, name), tuple)


def test_options_of_reading_that_would_be_ignored_are_refused(spread):
    with pytest.raises(ValueError, match="keep_fillers is for .def designs"):
        placefield.read_design(spread, keep_fillers=True)
    with pytest.raises(ValueError, match="pl: expected one path, found"):
        placefield.read_design(spread, pl=[spread.parent / "s.pl", spread.parent / "s.pl"])


def test_pictures_are_refused_in_the_callers_words(spread, tmp_path):
    design = placefield.read_design(spread)
    for options, text in [
        ({"picture": "heat"}, "picture: expected histogram, density, .*, found 'heat'"),
        ({"bins": "many"}, "bins: expected a whole number, or two"),
        ({"bins": (1, 2, 3)}, "bins: expected a whole number, or two"),
        ({"font_size": 8}, "font_size: expected a width too"),
        ({"format": "jpg"}, "format: expected png, svg, pdf"),
    ]:
        with pytest.raises(ValueError, match=text):
            design.plot(**options)
    values = numpy.ones((4, 6))
    for options, text in [
        ({"die": (0, 0, 1)}, "die: expected four numbers"),
        ({"arrows": values[None]}, "arrows: expected two maps, along x and y, found 1"),
        ({"outlines": [(1, 2, 3)]}, r"outlines: expected shape \[n, 4\], found \[1, 3\]"),
        ({"font_size": 8}, "font_size: expected a width too"),
    ]:
        with pytest.raises(ValueError, match=text):
            placefield.heat_map(values, **options)
    assert placefield.heat_map(values, outlines=[]) == placefield.heat_map(values)


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_pictures_are_saved_under_names_of_their_format(tmp_path, format):
    picture = placefield.heat_map(numpy.ones((2, 3)), format=format)
    assert picture.format == format
    for ending in {"png", "svg", "pdf", "jpg"} - {format}:
        with pytest.raises(ValueError, match=f"a.{ending}: expected a name that ends in .{format}"):
            picture.save(tmp_path / f"a.{ending}")
    for name in (f"a.{format}", f"b.{format.upper()}", "c"):
        picture.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == picture
    assert len(list(tmp_path.iterdir())) == 3


def as_arrays(design):
    """What `from_arrays` takes to make this design of the fixture `spread`."""
    columns = {name: getattr(design, name) for name in COLUMNS if name != "movable"}
    return {**columns, "orientation": design.orientation, "names": design.names, "net_names": design.net_names,
            "name": design.name, "rows": [(20.0, -30.0 + 10.0 * r, 10.0, 1.0, 120) for r in range(6)]}


def test_designs_are_made_of_arrays(spread, tmp_path):
    read = placefield.read_design(spread)
    made = placefield.Design.from_arrays(**as_arrays(read))
    made.write_bookshelf(tmp_path / "again.aux")
    written = {path.suffix for path in tmp_path.glob("again.*")}
    assert written == {".aux", ".nets", ".nodes", ".pl", ".scl", ".wts"}
    for design in (made, placefield.read_design(tmp_path / "again.aux"), pickle.loads(pickle.dumps(made))):
        assert type(design) is placefield.Design
        for name in COLUMNS:
            assert numpy.allclose(getattr(design, name), getattr(read, name), rtol=0, atol=1e-12), name
        for name in ("names", "net_names", "orientation", "die", "nodes", "nets", "pins", "warnings"):
            assert getattr(design, name) == getattr(read, name), name
        assert design.hpwl() == pytest.approx(read.hpwl(), rel=1e-14)
        assert design.hpwl(weighted=True) == pytest.approx(read.hpwl(weighted=True), rel=1e-14)
        assert design.legality() == read.legality()
        one, two = (placefield.maps(of, kinds="density", grid=8, dtype="float64") for of in (design, read))
        assert abs(one - two).max() < 1e-12
    assert made.name == "s" and made.units_per_micron is None
    assert placefield.diff(made, read).displacement.moved == 0


def test_designs_of_arrays_need_only_sizes():
    small = placefield.Design.from_arrays([1, 2, 3], [1, 1, 1], die=(5, 6, 25, 16), name="small", units_per_micron=1000)
    assert small.x.tolist() == [5.0] * 3 and small.y.tolist() == [6.0] * 3 and small.die == (5.0, 6.0, 25.0, 16.0)
    assert (small.name, small.names, small.hpwl(), small.units_per_micron) == ("small", (), None, 1000.0)
    assert small.movable.tolist() == [0, 1, 2] and small.legality().unplaced == 3
    assert placefield.Engine.from_design(small, 4).bodies == 3
    with pytest.raises(ValueError, match="expected a name of one word, found nodes without names"):
        small.write_pl("out.pl")
    netted = placefield.Design.from_arrays([2, 4], [2, 2], [0, 10], [0, 0], net_start=[0, 2], pin_node=[0, 1],
                                           fixed=[1])
    assert netted.hpwl() == 11.0 and netted.fixed.tolist() == [1] and netted.movable.tolist() == [0]
    assert placefield.Design.from_arrays([], []).nodes == 0


def test_designs_of_arrays_are_placed(tmp_path):
    cells, rows = 40, [(0.0, 10.0 * r, 10.0, 1.0, 60) for r in range(6)]
    chain = numpy.stack([numpy.arange(cells), numpy.roll(numpy.arange(cells), 1)], axis=1).ravel()
    design = placefield.Design.from_arrays(
        numpy.full(cells, 3.0), numpy.full(cells, 10.0), rows=rows, names=[f"c{k}" for k in range(cells)],
        net_start=range(0, 2 * cells + 1, 2), pin_node=chain)
    placed = placefield.place(design, **QUICK)
    assert placed.legality and placed.hpwl > 0.0
    placed.design.write_bookshelf(tmp_path / "placed.aux")      # nets without names
    again = placefield.read_design(tmp_path / "placed.aux")
    assert numpy.array_equal(again.x, placed.design.x) and again.legality()


@pytest.mark.parametrize("change, error, text", [
    ({"width": [[1.0]]}, ValueError, r"width: expected shape \[nodes\], found \[1, 1\]"),
    ({"height": [1.0]}, ValueError, r"height: expected shape \[61\], found \[1\]"),
    ({"height": ["a"] * 61}, TypeError, "height: expected numbers"),
    ({"height": [-1.0] * 61}, ValueError, "height 0: -1: expected a finite number, not negative"),
    ({"y": None}, ValueError, "x, y: expected both or none"),
    ({"x": None, "y": None}, ValueError, "x, y: expected positions, for some nodes are fixed"),
    ({"x": [numpy.nan] * 61}, ValueError, "x 0: NaN: expected a finite number"),
    ({"orientation": ["N"]}, ValueError, "orientation: expected 61 values, found 1"),
    ({"orientation": ["R0"] * 61}, ValueError, "orientation 0: expected N, S, E, W, FN, FS, FE, FW, found 'R0'"),
    ({"fixed": [61]}, ValueError, "fixed 0: 61 is no node"),
    ({"fixed": [3, 3]}, ValueError, "fixed 1: 3 is named before"),
    ({"overlappable": [60]}, ValueError, "overlappable 0: 60 is named before"),
    ({"fixed": [True] * 61}, TypeError, "fixed: expected whole numbers, found bool"),
    ({"names": ["a"] * 61}, ValueError, "names 1: 'a' is also number 0"),
    ({"names": [b"a"] * 61}, TypeError, "names 0: expected text, found bytes"),
    ({"net_names": ["a"]}, ValueError, "net_names: expected 80 values, found 1"),
    ({"net_start": [0, 1]}, ValueError, "net_start: expected numbers that rise from 0 to the number of pins"),
    ({"net_start": None}, ValueError, "net_start: expected numbers that rise"),
    ({"net_weight": [-1.0] * 80}, ValueError, "net_weight 0: -1: expected a finite number, not negative"),
    ({"pin_dx": [0.0]}, ValueError, r"pin_dx: expected shape \["),
    ({"pin_node": None}, ValueError, "net_start: expected pin_node too"),
    ({"rows": [(1.0, 2.0)]}, ValueError, r"rows: expected shape \[n, 5\], found \[1, 2\]"),
    ({"rows": [(0.0, 0.0, 0.0, 1.0, 3)]}, ValueError, r"rows 0: .*: expected x, y, a height and a site width above 0"),
    ({"rows": [(0.0, 0.0, 1.0, 1.0, 2.5)]}, ValueError, "rows 0: .* a whole number of sites"),
    ({"row_orientation": ["N"]}, ValueError, "row_orientation: expected 6 values, found 1"),
    ({"die": (0.0, 0.0, 0.0, 1.0)}, ValueError, "die: .* has no area"),
    ({"die": 3}, ValueError, "die: expected four numbers"),
])
def test_arrays_that_make_no_design(spread, change, error, text):
    arrays = as_arrays(placefield.read_design(spread))
    with pytest.raises(error, match=text):
        placefield.Design.from_arrays(**{**arrays, **change})
    pins = {**arrays, "pin_node": numpy.where(arrays["pin_node"] == 5, 61, arrays["pin_node"])}
    with pytest.raises(ValueError, match="pin_node .*: 61: expected a node below 61"):
        placefield.Design.from_arrays(**pins)


def test_cells_with_a_position_stay(aux, tmp_path):
    whole = placefield.place(placefield.read_design(aux), **QUICK).design
    whole.write_pl(tmp_path / "all.pl")
    new = {f"c{k}" for k in range(0, 40, 5)}
    lines = (tmp_path / "all.pl").read_text().splitlines(keepends=True)
    (tmp_path / "d.pl").write_text("".join(line for line in lines if new.isdisjoint(line.split()[:1])))
    some = placefield.read_design(aux)
    assert some.legality().unplaced == 8
    kept = [k for k in range(40) if k % 5]

    def stay(made):
        same = numpy.array_equal(made.design.x[kept], whole.x[kept]), numpy.array_equal(made.design.y[kept], whole.y[kept])
        return made.legality and made.kept["cells"] == 32 and all(same)

    for made in (placefield.legalize(some, keep_placed=True), placefield.place(some, keep_placed=True, **QUICK)):
        assert stay(made) and stay(placefield.refine(made.design, keep_placed=True, bins=8))
    again = placefield.place(whole, keep_placed=True, **QUICK)
    assert again.status == "converged" and numpy.array_equal(again.design.x, whole.x)
