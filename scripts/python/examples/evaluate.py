"""evaluate.py DESIGN.aux [FOLDER]: a design in numbers and pictures."""

import pathlib
import sys

import placefield

design = placefield.read_design(sys.argv[1])
folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "pictures")
folder.mkdir(parents=True, exist_ok=True)

engine = placefield.Engine.from_design(design)
step = engine.evaluate(engine.start())
overflow, densest = engine.exact()
nx, ny = engine.bins
print(f"{design.name}: {len(design.movable)} movable cells, {design.nets} nets, {nx} x {ny} bins")
print(f"HPWL {design.hpwl():.6e}, overflow {step.overflow:.4f} smoothed, {overflow:.4f} exact")
print(f"densest bin {densest:.2f}")
print(f"legal: {design.legality().legal}")

for picture in "density", "overflow", "rudy":
    design.plot(picture).save(folder / f"{picture}.png")

# The same maps as arrays, and where demand for wires is highest.
density, rudy = placefield.maps(design, kinds=["density", "rudy"], grid=engine.bins)
i, j = divmod(rudy.argmax(), rudy.shape[1])
print(f"most wires in bin ({i}, {j}): RUDY {rudy[i, j]:.4f}, density there {density[i, j]:.2f}")
