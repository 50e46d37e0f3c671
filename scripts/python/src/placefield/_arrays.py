"""Arrays of other libraries on their way in, and ours on their way out."""

import sys

import numpy


def library(array):
    return type(array).__module__.split(".")[0]


def is_torch(array):
    return library(array) == "torch"


def empty(like, shape):
    """An array like `like`, of another shape."""
    if is_torch(like):
        return like.new_empty(shape)
    return numpy.empty(shape, like.dtype)


def as_array(array):
    """Lists and the like as arrays; arrays, wherever they are, as they are."""
    if is_torch(array):
        return array.detach()
    if hasattr(array, "__dlpack__") or hasattr(array, "__cuda_array_interface__"):
        return array
    return numpy.asarray(array)


def doubles(array, name):
    """Numbers in host memory as float64, without a copy where they are that already."""
    array = as_array(array)
    if on_device(array):
        raise ValueError(f"{name}: expected host memory, found memory of a CUDA device")
    array = numpy.asarray(array)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: expected numbers, found {array.dtype}")
    return numpy.ascontiguousarray(array, numpy.float64)


def both_doubles(x, y):
    """Positions along both axes, or none along both."""
    return None if x is None else doubles(x, "x"), None if y is None else doubles(y, "y")


def stream_of(array, stream):
    """The stream to work on: what the caller says; the current one of an array's library, or PyTorch's for the name
    of a CUDA device; else the legacy default one."""
    if stream is not None:
        return stream
    if library(array) == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr or 1
    device = array if isinstance(array, str) else array.device if is_torch(array) else "cpu"
    torch = sys.modules.get("torch")
    if torch is not None and str(device).startswith("cuda"):
        return torch.cuda.current_stream(device).cuda_stream or 1
    return 1


def on_device(array):
    """Whether an array is in memory of a CUDA device."""
    if hasattr(array, "__dlpack_device__"):
        return array.__dlpack_device__()[0] == 2
    return hasattr(array, "__cuda_array_interface__")


def lent(like, arrays):
    """Arrays of this library's as those of the library that `like` is of, where that takes them by DLPack."""
    take = getattr(sys.modules.get(library(like)), "from_dlpack", None)
    return arrays if take is None else [take(array) for array in arrays]
