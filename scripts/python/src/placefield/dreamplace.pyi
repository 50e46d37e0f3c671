from typing import Any

__all__: tuple[str, ...]

def plugged(base: type[Any]) -> type[Any]: ...
