"""Timing-driven placement: nets on long paths weigh more from one iteration to the next.

    python timing.py
"""

import numpy

import placefield

PATHS, CELLS = 24, 12
NETS = CELLS + 1


def pipeline():
    """Paths of cells of 4 x 10 from a pad at the left to a pad at the right, on rows of 200 sites; nets between the
    paths hold them together."""
    cells = PATHS * CELLS
    nets = []
    for path in range(PATHS):
        first, pad = path * CELLS, cells + 2 * path
        chain = [pad, *range(first, first + CELLS), pad + 1]
        nets += zip(chain[:-1], chain[1:])
    nets += [(cell, (cell * 65 + 31) % cells) for cell in range(cells)]
    left = [(0.0, 10.0 * path) for path in range(PATHS)]
    right = [(199.0, 10.0 * (path * 7 % PATHS)) for path in range(PATHS)]
    pads = [at for pair in zip(left, right) for at in pair]
    return numpy.array(nets), numpy.array(pads)


def lengths(design, nets, x, y):
    """The half-perimeter of every net of two cells, between their centres."""
    x, y = x + design.width / 2, y + design.height / 2
    return abs(numpy.diff(x[nets], axis=1)[:, 0]) + abs(numpy.diff(y[nets], axis=1)[:, 0])


def paths(design, nets, x, y):
    return lengths(design, nets, x, y)[:PATHS * NETS].reshape(PATHS, NETS).sum(axis=1)


def main():
    nets, pads = pipeline()
    cells = PATHS * CELLS
    # Pads have no image: cells may lie over them.
    size = [numpy.repeat((cell, pad), (cells, len(pads))) for cell, pad in ((4.0, 1.0), (10.0, 10.0))]
    at = numpy.concatenate((numpy.zeros((cells, 2)), pads))
    design = placefield.Design.from_arrays(
        *size, *at.T, overlappable=range(cells, cells + len(pads)), net_start=2 * numpy.arange(len(nets) + 1),
        pin_node=nets.ravel(), rows=[(0.0, 10.0 * row, 10.0, 1.0, 200) for row in range(PATHS)])
    weights = numpy.ones(len(nets))

    def reweigh(iteration, x, y):
        if iteration < 100:
            return None
        # A path's delay is taken as its length: the longer, the more its nets gain.
        long = paths(design, nets, x, y)
        gain = 1 + 0.2 * (long / long.max()) ** 8
        weights[:PATHS * NETS] = numpy.minimum(weights[:PATHS * NETS] * numpy.repeat(gain, NETS), 4)
        weights[:] /= weights.min()
        return weights

    for name, callback in [("without", None), ("with", reweigh)]:
        placed = placefield.place(design, on_iteration=callback, on_iteration_every=10)
        assert placed.legality, placed.legality
        made = placed.design
        print(f"{name} timing: longest path {paths(design, nets, made.x, made.y).max():.0f}, HPWL {made.hpwl():.0f}")


if __name__ == "__main__":
    main()
