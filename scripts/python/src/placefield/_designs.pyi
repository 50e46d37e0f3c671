from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _placefield

_Path = str | PathLike[str]
_Bins = int | tuple[int, int] | None
_Pair = tuple[float, float] | None
_Term = Callable[
    [NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], tuple[float, ArrayLike, ArrayLike]
]

class Picture(bytes):
    @property
    def format(self) -> str: ...
    def save(self, path: _Path) -> None: ...

class Violation(NamedTuple):
    fault: str
    cells: list[str]
    amount: float
    place: list[float]

class Legality(NamedTuple):
    legal: bool
    overlaps: int
    overlap_area: float
    off_row: int
    off_site: int
    outside: int
    outside_die: int
    outside_row: int
    orientation: int
    orientations_assigned: bool
    fixed_moved: int
    fence: int
    blocked: int
    halo: int
    wrong_row: int
    unplaced: int
    edge_spacing: int
    one_site_gap: int
    overfilled: int
    worst: list[Violation]
    def __bool__(self) -> bool: ...

class Moved(NamedTuple):
    cell: str
    distance: float
    before: list[float]
    after: list[float]

class Displacement(NamedTuple):
    cells: int
    moved: int
    turned: int
    mean: float
    median: float
    p95: float
    max: float
    farthest: list[Moved]

class Diff(NamedTuple):
    hpwl_before: float | None
    hpwl_after: float | None
    displacement: Displacement

class Wirelength(NamedTuple):
    value: float
    hpwl_weighted: float
    gradient: NDArray[np.float64]

class Design(_placefield.Design):
    @property
    def x(self) -> NDArray[np.float64]: ...
    @property
    def y(self) -> NDArray[np.float64]: ...
    @property
    def width(self) -> NDArray[np.float64]: ...
    @property
    def height(self) -> NDArray[np.float64]: ...
    @property
    def movable(self) -> NDArray[np.int64]: ...
    @property
    def fixed(self) -> NDArray[np.int64]: ...
    @property
    def net_start(self) -> NDArray[np.int64]: ...
    @property
    def net_weight(self) -> NDArray[np.float64]: ...
    @property
    def pin_node(self) -> NDArray[np.int64]: ...
    @property
    def pin_dx(self) -> NDArray[np.float64]: ...
    @property
    def pin_dy(self) -> NDArray[np.float64]: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def net_names(self) -> tuple[str, ...]: ...
    @property
    def orientation(self) -> tuple[str, ...]: ...
    @classmethod
    def from_arrays(
        cls,
        width: ArrayLike,
        height: ArrayLike,
        x: ArrayLike | None = ...,
        y: ArrayLike | None = ...,
        *,
        orientation: Sequence[str] | None = ...,
        fixed: ArrayLike = ...,
        overlappable: ArrayLike = ...,
        names: Sequence[str] | None = ...,
        net_start: ArrayLike | None = ...,
        pin_node: ArrayLike | None = ...,
        pin_dx: ArrayLike | None = ...,
        pin_dy: ArrayLike | None = ...,
        net_weight: ArrayLike | None = ...,
        net_names: Sequence[str] | None = ...,
        rows: ArrayLike = ...,
        row_orientation: Sequence[str] | None = ...,
        die: tuple[float, float, float, float] | None = ...,
        name: str = ...,
        units_per_micron: float | None = ...,
        row_blockage: bool = ...,
    ) -> Design: ...
    def with_positions(self, x: ArrayLike, y: ArrayLike) -> Design: ...
    def hpwl(self, x: ArrayLike | None = ..., y: ArrayLike | None = ..., *, weighted: bool = ...) -> float | None: ...
    def wirelength(
        self,
        x: ArrayLike,
        y: ArrayLike,
        gamma: float,
        *,
        ignore_net_degree: int | None = ...,
        weights: ArrayLike | None = ...,
    ) -> Wirelength: ...
    def legality(self, *, tolerance: float | None = ...) -> Legality: ...
    def scaled_hpwl(self, target_density: float = ...) -> dict[str, Any]: ...
    def plot(
        self,
        picture: str = ...,
        *,
        bins: _Bins = ...,
        target_density: float = ...,
        fillers: bool = ...,
        row_blockage: bool = ...,
        seed: int = ...,
        convention: str = ...,
        capacity: _Pair | str = ...,
        contours: int = ...,
        streamlines: bool = ...,
        format: str = ...,
        scale: str = ...,
        range: _Pair = ...,
        colors: str | None = ...,
        width: float | None = ...,
        font_size: float | None = ...,
        dpi: float | None = ...,
        no_title: bool = ...,
        threads: int = ...,
    ) -> Picture: ...

class Placement:
    design: Design
    hpwl: float | None
    hpwl_weighted: float | None
    stages: dict[str, dict[str, Any]]
    legality: Legality | None
    displacement: Displacement | None
    failed: list[dict[str, str]] | None
    kept: dict[str, Any] | None
    status: str | None
    iterations: int | None
    iteration: int | None
    overflow_smoothed: float | None
    overflow_exact: float | None
    overflow_standard_cells: float | None
    bins: tuple[int, int] | None
    target_density: float | None
    fillers: int | None
    seed: int | None
    limit: str | None
    candidates: list[dict[str, Any]] | None
    routability: list[dict[str, Any]] | None
    routability_end: dict[str, Any] | None
    history: dict[str, NDArray[np.float64]] | None
    warnings: list[str] | None

def read_design(
    path: _Path,
    *,
    lef: _Path | Sequence[_Path] | None = ...,
    pl: _Path | None = ...,
    net_weights: _Path | None = ...,
    pin_offset: str | None = ...,
    pin_position: str | None = ...,
    row_blockage: bool = ...,
    keep_fillers: bool = ...,
) -> Design: ...
def place(
    design: Design,
    *,
    until: str | None = ...,
    padding: int = ...,
    keep_placed: bool = ...,
    init: str = ...,
    stop_overflow: float = ...,
    raise_density: bool = ...,
    effort: str | None = ...,
    keep_density: float | None = ...,
    iterations: int = ...,
    time_limit: float | None = ...,
    seeds: int = ...,
    routability: bool = ...,
    capacity: _Pair | str = ...,
    routability_rounds: int | None = ...,
    routability_area: float | None = ...,
    checkpoint: _Path | None = ...,
    checkpoint_every: int = ...,
    resume: _Path | None = ...,
    bins: _Bins = ...,
    target_density: float | None = ...,
    row_blockage: bool = ...,
    seed: int = ...,
    gamma: float | None = ...,
    density_weight: float | None = ...,
    growth: float | None = ...,
    late_growth: float | None = ...,
    reference_rise: float | None = ...,
    momentum: float | None = ...,
    pressure: float | None = ...,
    ignore_net_degree: int | None = ...,
    no_fillers: bool = ...,
    no_precondition: bool = ...,
    noise: float = ...,
    dtype: DTypeLike = ...,
    device: str = ...,
    pipeline: str | None = ...,
    threads: int = ...,
    progress: Callable[[int, float, float], object] | None = ...,
    on_iteration: Callable[[int, NDArray[np.float64], NDArray[np.float64]], ArrayLike | bool | None]
    | None = ...,
    on_iteration_every: int = ...,
    terms: Sequence[_Term] = ...,
) -> Placement: ...
def legalize(
    design: Design, *, padding: int = ..., keep_placed: bool = ..., threads: int = ...
) -> Placement: ...
def refine(
    design: Design,
    *,
    rounds: int | None = ...,
    effort: str | None = ...,
    no_mirror: bool = ...,
    padding: int = ...,
    keep_placed: bool = ...,
    target_density: float = ...,
    bins: _Bins = ...,
    time_limit: float | None = ...,
    threads: int = ...,
    device: str = ...,
) -> Placement: ...
def diff(before: Design, after: Design) -> Diff: ...
def maps(
    design: Design,
    x: Any = ...,
    y: Any = ...,
    kinds: str | Sequence[str] = ...,
    grid: _Bins | str = ...,
    *,
    target_density: float = ...,
    fillers: bool = ...,
    row_blockage: bool = ...,
    seed: int = ...,
    convention: str = ...,
    capacity: _Pair | str = ...,
    dtype: DTypeLike | None = ...,
    pipeline: str | None = ...,
    threads: int = ...,
    stream: int | None = ...,
) -> Any: ...
def profile(
    values: Any, die: tuple[float, float, float, float], line: tuple[float, float, float, float]
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def heat_map(
    values: Any,
    die: tuple[float, float, float, float] | None = ...,
    *,
    kind: str = ...,
    title: str = ...,
    subtitle: str = ...,
    label: str = ...,
    mark: float | None = ...,
    outlines: ArrayLike | None = ...,
    arrows: tuple[Any, Any] | None = ...,
    contours: int = ...,
    streamlines: bool = ...,
    absent: str | None = ...,
    microns: float | None = ...,
    format: str = ...,
    scale: str = ...,
    range: _Pair = ...,
    colors: str | None = ...,
    width: float | None = ...,
    font_size: float | None = ...,
    dpi: float | None = ...,
    no_title: bool = ...,
) -> Picture: ...
