"""placefield's density in Xplace's loop: a layer with the methods and attributes that the loop uses.

In a copy of Xplace, after the first lines of `src/run_placement_nesterov.py`,

    from utils import *
    from src import *
    from functools import partial

one more puts this layer in place of Xplace's own, and nothing else changes:

    from placefield.xplace import ElectronicDensityLayer
"""

import math

import torch

from . import Engine
from .torch import _step

__all__ = ("ElectronicDensityLayer",)

# Of the least size that Xplace stretches cells to, what single precision may be off by.
_SLACK = 1e-5


class ElectronicDensityLayer:
    """Density, its gradient and overflow at Xplace's positions: centres of all movable cells, then fillers, in pairs,
    from the die's lower left corner, float32.

    The arguments are those of Xplace's own layer. `unit_len` is the width and height of a bin (default: of a die that
    is the unit square); `overflow_helper` has the numbers of the first and last movable cell and a function from the
    map of their density (a share of the bin's area) to the overflow; `expand_ratio` is for each body its area over
    that of its stretched size, or the target density where it is a macro. `sorted_maps` and `deterministic` are taken
    and need nothing: every result has the same bits in every run.

    The engine is made at the first call, and again after sizes, `expand_ratio`, `cache_node_weight` or the map of
    fixed area have changed. A body whose `cache_node_weight` is not positive has no density and no gradient.
    """

    def __init__(self, unit_len=None, inference_mode=True, num_bin_x=100, num_bin_y=100, device="cuda:0",
                 overflow_helper=None, expand_ratio=None, sorted_maps=None, scale_w_k=True, deterministic=False):
        if overflow_helper is None:
            raise ValueError("overflow_helper: expected first and last movable cell and a function, found None")
        if not scale_w_k:
            raise ValueError("scale_w_k: expected True: False solves another equation where bins are not square")
        self.num_bin_x, self.num_bin_y = num_bin_x, num_bin_y
        self.unit_len = [1.0 / num_bin_x, 1.0 / num_bin_y] if unit_len is None else [float(side) for side in unit_len]
        self.overflow_helper, self.expand_ratio, self.sorted_maps = overflow_helper, expand_ratio, sorted_maps
        self.cache_node_weight = None
        self._made_of, self._engine, self._evaluated = None, None, False

    def to(self, device):
        """The layer itself: it works where the positions are."""
        return self

    def merged_density_loss_grad(self, node_pos, node_size, init_density_map, node_weight=None, calc_overflow=True):
        """The energy, the overflow, or None unless it is asked for, and the gradient by positions, of the shape of
        `node_pos` and in Xplace's unit: by a coordinate counted in bins, with the bin's area as 1."""
        self._prepare(node_pos, node_size, init_density_map, node_weight)
        gradient = torch.empty_like(self._corners)
        energy = self._step(node_pos, gradient)
        return energy, self._overflow() if calc_overflow else None, gradient.t()

    def direct_calc_overflow(self, node_pos, node_size, init_density_map, node_weight=None):
        """The overflow at the positions last differentiated at, or where it has been asked for since, at `node_pos`."""
        self._prepare(node_pos, node_size, init_density_map, node_weight)
        if not self._evaluated:
            self._step(node_pos, None)
        self._evaluated = False
        return self._overflow()

    def _step(self, node_pos, gradient):
        """The energy at these positions, and in `gradient`, unless it is None, what Xplace has of it."""
        torch.sub(node_pos.detach().t(), self._half_sizes, out=self._corners)
        self._evaluated = True
        return _step(self._corners, self._engine, self._weight, gradient)

    def _overflow(self):
        """The engine's overflow as Xplace's function counts it."""
        if self._corners.is_cuda:
            share = self._engine.read_evaluation().overflow
        else:
            share = self._engine.evaluations()[0].overflow
        return self._corners.new_tensor(share * self._overflow_scale)

    def _prepare(self, node_pos, node_size, init_density_map, node_weight):
        if node_weight is not None:
            self.cache_node_weight = node_weight
        elif self.cache_node_weight is None:
            self.cache_node_weight = node_size.new_ones(len(node_size))
        of = node_size, self.expand_ratio, self.cache_node_weight, init_density_map
        versions = [tensor._version for tensor in of]
        made, then = self._made_of or ((), None)
        if then != versions or any(a is not b for a, b in zip(made, of)):
            self._made_of = None
            self._make(node_pos.detach(), *(tensor.detach() for tensor in of))
            self._made_of = of, versions

    def _make(self, node_pos, stretched, ratio, weight, init_density_map):
        bodies, (first, movable, overflow_of) = len(node_pos), self.overflow_helper
        if first != 0:
            raise ValueError(f"overflow_helper: expected the movable cells first, found {first} bodies before them")
        bins = self.num_bin_x, self.num_bin_y
        target, slope = self._overflow_line(overflow_of, init_density_map)
        least = stretched.new_tensor(self.unit_len).double() * math.sqrt(2)
        stretched, ratio = stretched.double(), ratio[:bodies].double()
        # A stretched side times the ratio is a side that is stretched to the same, and to the same density.
        short = stretched <= least * (1 + _SLACK)
        size = torch.where(short, least, stretched)
        none = weight[:bodies] <= 0
        macros = (ratio != 1) & ~short.any(1) & ~none
        if (stretched < least * (1 - _SLACK)).any() or ((ratio - target)[macros].abs() > 1e-3).any():
            raise ValueError("expand_ratio: expected that of cells stretched to the square root of 2 bins (clamp_node)")
        shrunk = torch.where(macros | none, torch.ones_like(ratio), ratio)
        x_is_short = short[:, 0] & ~none
        width = torch.where(x_is_short, size[:, 0] * shrunk, size[:, 0])
        height = torch.where(x_is_short, size[:, 1], size[:, 1] * shrunk)
        sizes = torch.where(none, torch.zeros_like(width), torch.stack([width, height]))
        width, height = sizes.cpu().numpy()
        bin_area = self.unit_len[0] * self.unit_len[1]
        die = 0.0, 0.0, bins[0] * self.unit_len[0], bins[1] * self.unit_len[1]
        fillers = bodies - movable
        self._engine = Engine(
            die, bins, width[:movable], height[:movable], macros=macros[:movable].tolist(), target_density=target,
            fillers=(fillers, width[-1], height[-1]) if fillers else False, dtype="float32",
            device=str(node_pos.device), threads=0 if node_pos.is_cuda else torch.get_num_threads())
        self._engine.set_sizes(width, height)
        # Xplace's map is of shares of the bin times the target density, by which an engine multiplies too.
        self._engine.set_blocked_area((init_density_map.double() / target * bin_area).cpu().numpy())
        self._half_sizes = (sizes / 2).to(torch.float32)
        self._corners = torch.empty_like(self._half_sizes)
        self._weight = -1.0 / bin_area
        self._overflow_scale = float((width * height)[:movable].sum()) / bin_area * slope
        self._evaluated = False

    @staticmethod
    def _overflow_line(overflow_of, init_density_map):
        """The target density, and what one bin's area of overflow adds: the function sums what a map has above the
        target density and multiplies it, so that the overflows of two constant maps tell both."""
        two, three = (float(overflow_of(torch.full_like(init_density_map, density))) for density in (2.0, 3.0))
        # In single precision: six digits are right.
        return min(round(2.0 - two / (three - two), 6), 1.0), (three - two) / init_density_map.numel()
