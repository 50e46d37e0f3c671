from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._placefield import Array as Array
from ._placefield import Design as Design
from ._placefield import Evaluation as Evaluation
from ._placefield import Placement as Placement
from ._placefield import cuda_devices as cuda_devices
from ._placefield import place as place
from ._placefield import read_bookshelf as read_bookshelf

__version__: str
__all__: tuple[str, ...]

class Field(NamedTuple):
    potential: Any
    field_x: Any
    field_y: Any
    energy: float

class Engine:
    def __init__(
        self,
        die: tuple[float, float, float, float],
        bins: tuple[int, int],
        width: ArrayLike,
        height: ArrayLike,
        x: ArrayLike | None = ...,
        y: ArrayLike | None = ...,
        *,
        fixed: ArrayLike | None = ...,
        row_height: float | None = ...,
        macros: Sequence[bool] | None = ...,
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
        bins: tuple[int, int],
        *,
        target_density: float = ...,
        fillers: bool = ...,
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
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> str: ...
    @property
    def pipeline(self) -> str: ...
    @property
    def energy_weight(self) -> float: ...
    def start(self) -> NDArray[Any]: ...
    def evaluate(self, positions: Any, *, stream: int | None = ...) -> Evaluation: ...
    def force(self, out: Any = ..., *, stream: int | None = ...) -> Any: ...
    def gradient(
        self, out: Any = ..., *, weight: float = ..., accumulate: bool = ..., stream: int | None = ...
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
    device: str = ...,
    pipeline: str | None = ...,
    threads: int = ...,
) -> Field: ...
def dct(x: Any, *, threads: int = ...) -> Any: ...
def idct(x: Any, *, threads: int = ...) -> Any: ...
def idxst(x: Any, *, threads: int = ...) -> Any: ...
def dct2(x: Any, *, threads: int = ...) -> Any: ...
def idct2(x: Any, *, threads: int = ...) -> Any: ...
def idct_idxst(x: Any, *, threads: int = ...) -> Any: ...
def idxst_idct(x: Any, *, threads: int = ...) -> Any: ...
