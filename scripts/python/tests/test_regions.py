"""Fence regions."""

import numpy
import pytest

# A fence of two rectangles and one of one, x, y, width, height, on the die (5, -7) to (45, 53).
FENCES = [[(11.0, -7.0, 8.0, 60.0), (19.0, 20.0, 8.0, 33.0)], [(30.0, -5.0, 14.0, 44.0)]]
REGIONS = [i % 3 for i in range(40)]


def test_regions_make_a_density_each(make, cells):
    engine = make(fences=FENCES, regions=REGIONS, fillers=True, target_density=0.9)
    assert engine.regions == 3
    region = engine.region_of_bodies()
    assert list(region[:40]) == REGIONS and set(region[40:]) == {0, 1, 2}
    whole = engine.evaluate(engine.start())
    parts = engine.evaluations()
    assert sum(part.energy for part in parts) == pytest.approx(whole.energy, rel=1e-12)
    assert max(part.max_density for part in parts) == whole.max_density
    area = cells["width"] * cells["height"]
    shares = [area[region[:40] == r].sum() for r in range(3)]
    over = sum(part.overflow * share for part, share in zip(parts, shares))
    assert over == pytest.approx(whole.overflow * area.sum(), rel=1e-12)
    density = engine.density()
    assert density.shape == (3, 20, 15) == engine.potential().shape == engine.field()[0].shape
    # The first fence does not reach the last column of bins, nor the second the first.
    assert (density[0, -1] > 0.899).all() and (density[1, 0] > 0.899).all()


def test_each_region_has_its_own_weight(make):
    engine = make(fences=FENCES, regions=numpy.array(REGIONS))
    engine.evaluate(engine.start())
    force, weights = engine.force(), numpy.array([2.0, -3.0, 0.5])
    assert numpy.array_equal(engine.gradient(weight=weights), weights[REGIONS] * force)
    with pytest.raises(ValueError, match="weights of regions: 2 values, expected 3"):
        engine.gradient(weight=[1.0, 2.0])


def test_the_energy_of_all_regions_has_a_gradient(make):
    engine = make(fences=FENCES, regions=REGIONS, threads=1)
    at, step = engine.start(), 1e-6
    out = numpy.empty_like(at)
    engine.evaluate(at)
    engine._engine._step_at(at, out, None)
    for axis, body in ((0, 3), (1, 4), (0, 5)):
        moved = [at.copy(), at.copy()]
        moved[0][axis, body] -= step
        moved[1][axis, body] += step
        low, high = (engine.evaluate(there).energy for there in moved)
        assert out[axis, body] == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("options, text", [
    ({"fences": [[]], "regions": [0] * 40}, "fence 0: no rectangles"),
    ({"fences": FENCES, "regions": [3] * 40}, "movable cell 0: region 3: expected a number below 3"),
    ({"fences": FENCES, "regions": [0] * 39}, "regions of movable cells: 39 values, expected 40"),
    ({"fences": [FENCES[0], FENCES[0]], "regions": [0] * 40}, "fences 0 and 1 overlap"),
    ({"fences": [[(60.0, 0.0, 1.0, 1.0)]], "regions": [0] * 40}, "lies outside the die"),
    ({"fences": [[(20.0, 0.0, 1.0, 1.0)]], "regions": [0] * 40}, "only 1 is free"),
])
def test_fences_that_cannot_be(make, options, text):
    with pytest.raises(ValueError, match=text):
        make(**options)


def test_without_fences_there_is_one_region(make):
    engine = make()
    evaluation = engine.evaluate(engine.start())
    assert engine.regions == 1 and not engine.region_of_bodies().any()
    assert [part.energy for part in engine.evaluations()] == [evaluation.energy]
    assert numpy.array_equal(engine.gradient(weight=[2.0]), engine.gradient(weight=2.0))
