from torch import Tensor

from . import Engine

__all__: tuple[str, ...]

def density_energy(pos: Tensor, engine: Engine, *, gradient: str = ...) -> Tensor: ...
def energy_and_gradient(pos: Tensor, engine: Engine, *, gradient: str = ...) -> tuple[Tensor, Tensor]: ...
