"""Density and potential of cells in two heaps, and a loop that spreads them by the density's force."""

import numpy
import placefield

random = numpy.random.default_rng(1)
cells = 2000
width, height = random.integers(2, 9, cells), numpy.full(cells, 8)
engine = placefield.Engine((0, 0, 640, 480), (64, 48), width, height, fixed=[(280, 200, 80, 80)], dtype="float64")
positions = numpy.concatenate([random.normal(150, 40, cells), random.normal(240, 40, cells)])
most = numpy.concatenate([640.0 - width, 480.0 - height])          # lower-left corners stay on the die

for iteration in range(201):
    step = engine.evaluate(positions)                              # density, field and force
    if iteration % 50 == 0:
        print(f"{iteration:4}  overflow {step.overflow:.4f}  densest bin {step.max_density:.2f}  energy {step.energy:.4e}")
    force = engine.force().reshape(-1)                             # the direction that spreads
    positions = numpy.clip(positions + 2.0 * force / numpy.abs(force).mean(), 0.0, most)

rho, phi = engine.density(), engine.potential()                    # maps of shape (64, 48)
print(f"density {rho.min():.2f} to {rho.max():.2f}, potential {phi.min():.2f} to {phi.max():.2f} bin widths squared")
