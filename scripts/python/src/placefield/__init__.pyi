from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._designs import Design as Design
from ._designs import Diff as Diff
from ._designs import Displacement as Displacement
from ._designs import Legality as Legality
from ._designs import Moved as Moved
from ._designs import Picture as Picture
from ._designs import Placement as Placement
from ._designs import Violation as Violation
from ._designs import Wirelength as Wirelength
from ._designs import diff as diff
from ._designs import heat_map as heat_map
from ._designs import legalize as legalize
from ._designs import maps as maps
from ._designs import place as place
from ._designs import profile as profile
from ._designs import read_design as read_design
from ._designs import refine as refine
from ._placefield import Array as Array
from ._placefield import Evaluation as Evaluation
from ._placefield import cuda_devices as cuda_devices

__version__: str
__all__: tuple[str, ...]

class Field(NamedTuple):
    potential: Any
    field_x: Any
    field_y: Any
    energy: Any

class Engine:
    def __init__(
        self,
        die: tuple[float, float, float, float],
        bins: int | tuple[int, int],
        width: ArrayLike,
        height: ArrayLike,
        x: ArrayLike | None = ...,
        y: ArrayLike | None = ...,
        *,
        fixed: ArrayLike | None = ...,
        row_height: float | None = ...,
        macros: Sequence[bool] | None = ...,
        fences: Sequence[ArrayLike] = ...,
        regions: Sequence[int] | NDArray[np.integer[Any]] | None = ...,
        target_density: float = ...,
        fillers: bool | tuple[int, float, float] = ...,
        seed: int = ...,
        dtype: DTypeLike = ...,
        device: str = ...,
        threads: int = ...,
        pipeline: str | None = ...,
    ) -> None: ...
    @classmethod
    def from_design(
        cls,
        design: Design,
        bins: int | tuple[int, int] | None = ...,
        *,
        target_density: float = ...,
        fillers: bool = ...,
        row_blockage: bool = ...,
        seed: int = ...,
        dtype: DTypeLike = ...,
        device: str = ...,
        threads: int = ...,
        pipeline: str | None = ...,
    ) -> Engine: ...
    @property
    def bins(self) -> tuple[int, int]: ...
    @property
    def bin_size(self) -> tuple[float, float]: ...
    @property
    def die(self) -> tuple[float, float, float, float]: ...
    @property
    def movable(self) -> int: ...
    @property
    def bodies(self) -> int: ...
    @property
    def regions(self) -> int: ...
    def region_of_bodies(self) -> NDArray[np.int64]: ...
    def evaluations(self) -> list[Evaluation]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> str: ...
    @property
    def pipeline(self) -> str: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def energy_weight(self) -> float: ...
    def sizes(self) -> NDArray[np.float64]: ...
    def region_target_densities(self) -> NDArray[np.float64]: ...
    def set_sizes(self, width: ArrayLike, height: ArrayLike) -> None: ...
    def set_fixed_cells(self, fixed: Sequence[bool], x: ArrayLike, y: ArrayLike) -> None: ...
    def set_blocked_area(self, area: ArrayLike | None) -> None: ...
    def set_target_densities(self, target_densities: ArrayLike | None) -> None: ...
    def refill(self) -> None: ...
    def start(self) -> NDArray[Any]: ...
    def evaluate(self, positions: Any, *, stream: int | None = ...) -> Evaluation: ...
    def evaluate_with_force(
        self, positions: Any, out: Any = ..., *, stream: int | None = ...
    ) -> tuple[Evaluation, Any]: ...
    def force(self, out: Any = ..., *, stream: int | None = ...) -> Any: ...
    def gradient(
        self,
        out: Any = ...,
        *,
        weight: float | Sequence[float] | NDArray[Any] = ...,
        accumulate: bool = ...,
        stream: int | None = ...,
    ) -> Any: ...
    def density(self) -> NDArray[Any]: ...
    def potential(self) -> NDArray[Any]: ...
    def field(self) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def device_map(self, name: str) -> Array: ...
    def exact(self) -> tuple[float, float]: ...
    def order_if_due(self, *, stream: int | None = ...) -> None: ...
    def read_evaluation(self, *, stream: int | None = ...) -> Evaluation: ...

def solve(
    density: Any,
    bin_size: tuple[float, float] = ...,
    *,
    device: str | None = ...,
    pipeline: str | None = ...,
    threads: int = ...,
    stream: int | None = ...,
) -> Field: ...
def dct(x: Any, *, threads: int = ..., stream: int | None = ...) -> Any: ...
def idct(x: Any, *, threads: int = ..., stream: int | None = ...) -> Any: ...
def idxst(x: Any, *, threads: int = ..., stream: int | None = ...) -> Any: ...
def dct2(x: Any, *, threads: int = ..., stream: int | None = ...) -> Any: ...
def idct2(x: Any, *, threads: int = ..., stream: int | None = ...) -> Any: ...
def idct_idxst(x: Any, *, threads: int = ..., stream: int | None = ...) -> Any: ...
def idxst_idct(x: Any, *, threads: int = ..., stream: int | None = ...) -> Any: ...
def dctn(
    x: Any,
    *,
    axes: int | Sequence[int] | None = ...,
    norm: str | None = ...,
    out: Any = ...,
    threads: int = ...,
) -> Any: ...
def idctn(
    x: Any,
    *,
    axes: int | Sequence[int] | None = ...,
    norm: str | None = ...,
    out: Any = ...,
    threads: int = ...,
) -> Any: ...
