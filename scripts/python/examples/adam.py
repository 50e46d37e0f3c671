"""adam.py DESIGN.aux OUT.pl: PyTorch's Adam on wirelength plus density. Cells are then made legal, refined and written."""

import sys

import placefield
import torch
from placefield.torch import density_energy, wirelength

design = placefield.read_design(sys.argv[1])
engine = placefield.Engine.from_design(design, fillers=True, dtype="float64")
movable, (width, height) = engine.movable, engine.bin_size
positions = torch.from_numpy(engine.start())                  # x of every body, then y: cells, then fillers
torch.manual_seed(1)
positions[:, :movable] += torch.randn(2, movable, dtype=torch.float64) * min(width, height)
positions.requires_grad_()
adam = torch.optim.Adam([positions], lr=0.2 * min(width, height))
xl, yl, xh, yh = engine.die
weight = None

for iteration in range(201):
    adam.zero_grad()
    wires = wirelength(positions, design, gamma=4.0 * width)
    energy = density_energy(positions, engine)
    if weight is None:                                        # wires and density pull alike at first
        pull, push = (torch.autograd.grad(of, positions, retain_graph=True)[0].abs().sum() for of in (wires, energy))
        weight = 0.1 * pull / push
    (wires + weight * energy).backward()
    adam.step()
    with torch.no_grad():                                     # corners of the cells stay on the die
        positions[0].clamp_(xl, xh - float(design.width.min()))
        positions[1].clamp_(yl, yh - float(design.height.min()))
    weight *= 1.02
    if iteration % 50 == 0:
        overflow = engine.evaluate(positions).overflow
        print(f"{iteration:4}  HPWL {design.hpwl(*positions.detach()[:, :movable]):.6e}  overflow {overflow:.4f}")

legal = placefield.legalize(design.with_positions(*positions.detach()[:, :movable]))
refined = placefield.refine(legal.design)
refined.design.write_pl(sys.argv[2])
print(f"legal: {refined.legality.legal}, HPWL {legal.hpwl:.6e}, refined {refined.hpwl:.6e}")
