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
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError("expected an array without a mask, found a masked array: call its method `filled` first")
    if is_torch(array):
        return array.detach()
    if hasattr(array, "__dlpack__") or hasattr(array, "__cuda_array_interface__"):
        return array
    return numpy.asarray(array)


def output(array):
    """An array that a call writes to. A list stays a list, which is refused: the result would go to a copy of it."""
    if library(array) in ("jax", "jaxlib"):
        raise TypeError("out: expected an array that can be written, found one of JAX's")
    has_memory = is_torch(array) or isinstance(array, numpy.ndarray)
    return as_array(array) if has_memory else array


def numbers(array, name, kinds="fiub", expected="numbers"):
    """Numbers in host memory as an array of NumPy's, whose dtype is of one of `kinds`."""
    try:
        array = as_array(array)
        if on_device(array):
            raise ValueError("expected host memory, found memory of a CUDA device")
        array = numpy.asarray(array)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    if array.size and array.dtype.kind not in kinds:
        raise TypeError(f"{name}: expected {expected}, found {array.dtype}")
    return array


def doubles(array, name):
    """Numbers in host memory as float64, without a copy where they are that already."""
    return numpy.ascontiguousarray(numbers(array, name), numpy.float64)


def whole_numbers(array, name, most=2**32 - 1):
    """Whole numbers from 0 to `most`, shape (n,), as a list."""
    array = numbers(array, name, "iu", "whole numbers")
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one axis, found {array.ndim}")
    wrong = numpy.flatnonzero((array < 0) | (array > most))
    if wrong.size:
        at = wrong[0]
        raise ValueError(f"{name} {at}: {array[at]}: expected a whole number from 0 to {most}")
    return array.astype(numpy.int64).tolist()


def marks(array, name):
    """Truth values, shape (n,), as a list."""
    array = numbers(array, name)
    if array.dtype != bool and not numpy.isin(array, (0, 1)).all():
        raise ValueError(f"{name}: expected a truth value for each cell, found other numbers than 0 and 1")
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one axis, found {array.ndim}")
    return array.astype(bool).tolist()


def rectangles(array, name, columns=4):
    """Rectangles, shape (n, 4), or other things of so many numbers, as float64; none of an empty list."""
    array = doubles(array, name)
    if array.shape == (0,):
        return array.reshape(0, columns)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name}: expected shape [n, {columns}], found {list(array.shape)}")
    return array


def texts(values, name, count):
    """So many texts, as a list."""
    values = list(values)
    for at, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(f"{name} {at}: expected text, found {type(value).__name__}")
    if len(values) != count:
        raise ValueError(f"{name}: expected {count} values, found {len(values)}")
    return values


def column(values, name, count, default=None):
    """So many numbers, shape (count,), as float64; `default` where `values` is None."""
    if values is None and default is not None:
        return numpy.full(count, default, numpy.float64)
    values = doubles(values, name)
    if values.shape != (count,):
        raise ValueError(f"{name}: expected shape [{count}], found {list(values.shape)}")
    return values


def box(values, name):
    """The four edges of a rectangle, as floats."""
    array = doubles(values, name)
    if array.shape != (4,):
        raise ValueError(f"{name}: expected four numbers, xl, yl, xh and yh, found {values!r}")
    return tuple(array.tolist())


def both_doubles(x, y):
    """Positions along both axes, or none along both."""
    return None if x is None else doubles(x, "x"), None if y is None else doubles(y, "y")


def stream_of(array, stream):
    """The stream to work on: what the caller says; the current one of an array's library, or PyTorch's for the name
    of a CUDA device; else the legacy default one. `array` may be the name of a device."""
    if stream is not None:
        if array == "cpu" if isinstance(array, str) else not on_device(array):
            raise ValueError("stream: expected none, for the arrays are in host memory")
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
