"""spread.py DESIGN.aux OUT.pl: a placer of a few lines in NumPy. Cells follow wires and the density's force, are made
legal, and are written."""

import sys

import numpy
import placefield

design = placefield.read_design(sys.argv[1])
engine = placefield.Engine.from_design(design, fillers=True, dtype="float64")
xl, yl, xh, yh = engine.die
movable = engine.movable
positions = engine.start()                                    # x of every body, then y: cells, then fillers
positions[:, :movable] += numpy.random.default_rng(1).normal(0.0, 0.5 * min(engine.bin_size), (2, movable))
low, most = numpy.array([[xl], [yl]]), numpy.array([[xh], [yh]])
most = numpy.repeat(most, engine.bodies, axis=1)
most[:, :movable] -= design.width[design.movable], design.height[design.movable]

for iteration in range(101):
    positions = numpy.clip(positions, low, most)              # lower-left corners stay on the die
    step = engine.evaluate(positions)                         # density, field and force
    if iteration % 25 == 0:
        print(f"{iteration:4}  HPWL {design.hpwl(*positions[:, :movable]):.6e}  overflow {step.overflow:.4f}")
    force = engine.force()                                    # the direction that spreads
    direction = force / numpy.abs(force).mean()
    wires = design.wirelength(*positions[:, :movable], gamma=4.0 * engine.bin_size[0]).gradient
    weight = 0.3 * 0.97**iteration                            # wires pull less and less
    direction[:, :movable] -= weight * wires / numpy.abs(wires).mean()
    positions = positions + 0.3 * min(engine.bin_size) * direction

legal = placefield.legalize(design.with_positions(*positions[:, :movable]))
placed = placefield.refine(legal.design) if legal.legality else legal
placed.design.write_pl(sys.argv[2])
print(f"legal: {placed.legality.legal}, HPWL {placed.hpwl:.6e}")
