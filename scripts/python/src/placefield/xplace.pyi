from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

__all__: tuple[str, ...]

class ElectronicDensityLayer:
    num_bin_x: int
    num_bin_y: int
    unit_len: list[float]
    overflow_helper: tuple[int, int, Callable[[Tensor], Tensor]]
    expand_ratio: Tensor
    sorted_maps: Any
    cache_node_weight: Tensor | None

    def __init__(self, unit_len: Sequence[float] | Tensor | None = ..., inference_mode: bool = ...,
                 num_bin_x: int = ..., num_bin_y: int = ..., device: Any = ...,
                 overflow_helper: tuple[int, int, Callable[[Tensor], Tensor]] | None = ...,
                 expand_ratio: Tensor | None = ..., sorted_maps: Any = ..., scale_w_k: bool = ...,
                 deterministic: bool = ...) -> None: ...
    def to(self, device: Any) -> ElectronicDensityLayer: ...
    def merged_density_loss_grad(self, node_pos: Tensor, node_size: Tensor, init_density_map: Tensor,
                                 node_weight: Tensor | None = ..., calc_overflow: bool = ...
                                 ) -> tuple[Tensor, Tensor | None, Tensor]: ...
    def direct_calc_overflow(self, node_pos: Tensor, node_size: Tensor, init_density_map: Tensor,
                             node_weight: Tensor | None = ...) -> Tensor: ...
