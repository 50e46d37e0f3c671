"""placefield's density in DREAMPlace: its class `ElectricPotential`, with energy and gradient from an engine.

DREAMPlace's objective takes its density from the name `electric_potential` in its module PlaceObj:

    from types import SimpleNamespace
    import PlaceObj
    from placefield.dreamplace import plugged

    density = plugged(PlaceObj.electric_potential.ElectricPotential)
    PlaceObj.electric_potential = SimpleNamespace(ElectricPotential=density)

The class in DREAMPlace's own module stays as it is, for its constructor names itself there.
`benchmarks/dreamplace-compare` compares and times both densities in an installation of DREAMPlace.
"""

import numpy
import torch

from . import Engine
from .torch import density_energy

__all__ = ("plugged",)


class _Bodies(torch.autograd.Function):
    """The positions of movable cells and fillers, out of DREAMPlace's (movable cells, fixed ones, fillers; x, then y)."""

    @staticmethod
    def forward(ctx, pos, movable, fillers):
        ctx.fixed = pos.numel() // 2 - movable - fillers
        ctx.parts = movable, fillers + movable, fillers
        first, between, last = ctx.parts
        return torch.cat(pos.split([first, ctx.fixed, between, ctx.fixed, last])[::2])

    @staticmethod
    def backward(ctx, gradient):
        first, between, last = gradient.split(ctx.parts)
        still = gradient.new_zeros(ctx.fixed)
        return torch.cat([first, still, between, still, last]), None, None


def plugged(base):
    """A subclass of DREAMPlace's class ElectricPotential, `base`, whose energy and gradient come from placefield.

    The engine is made at the first call, and again after `reset`. Fence regions and the modes of DREAMPlace that draw
    or count the density are left to `base`.
    """

    class Plugged(base):
        def reset(self):
            super().reset()
            self.engine = None

        def bodies(self, pos):
            """The positions that the engine takes."""
            m, f = self.num_movable_nodes, self.num_filler_nodes
            return pos if pos.numel() == 2 * (m + f) else _Bodies.apply(pos, m, f)

        def forward(self, pos, mode="density"):
            if mode != "density" or self.region_id is not None:
                return super().forward(pos, mode)
            if self.engine is None:
                m, f, t = self.num_movable_nodes, self.num_filler_nodes, self.num_terminals
                size = torch.stack([self.node_size_x, self.node_size_y], 1).double().cpu().numpy()
                corner = pos.detach().view(2, -1).t().double().cpu().numpy()
                # Without a mask an engine chooses macros by size, but DREAMPlace has none.
                mask = self.movable_macro_mask
                macros = [False] * m if mask is None else mask.tolist()
                self.engine = Engine(
                    (self.xl, self.yl, self.xh, self.yh), (self.num_bins_x, self.num_bins_y), size[:m, 0], size[:m, 1],
                    fixed=numpy.hstack([corner, size])[m:m + t], macros=macros,
                    target_density=float(self.target_density), fillers=(f, *size[-1]) if f else False,
                    dtype=str(pos.dtype).split(".")[1], device=str(pos.device),
                    threads=0 if pos.is_cuda else torch.get_num_threads())
            return density_energy(self.bodies(pos), self.engine, gradient="dreamplace")

    return Plugged
