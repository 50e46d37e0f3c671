"""Arrays in device memory, by DLPack and by `__cuda_array_interface__`, of PyTorch and CuPy."""

import threading

import numpy
import pytest

torch = pytest.importorskip("torch")

import placefield

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
TRANSFORMS = ["dct", "idct", "idxst", "dct2", "idct2", "idct_idxst", "idxst_idct"]


class Interface:
    """An array as Numba's and older CuPy's have it."""

    def __init__(self, tensor, **entries):
        self.tensor, self.shape = tensor, tuple(tensor.shape)
        entry = {"shape": self.shape, "typestr": f"<f{tensor.element_size()}", "data": (tensor.data_ptr(), False),
                 "version": 3, "strides": None, **entries}
        self.__cuda_array_interface__ = {key: value for key, value in entry.items() if value != "missing"}


def random(shape, dtype, device="cuda:0"):
    values = numpy.random.default_rng(11).standard_normal(shape)
    return torch.tensor(values.tolist(), dtype=dtype, device=device)


def on_host(array):
    """As NumPy has it, of any array on a device."""
    return numpy.array(torch.as_tensor(array, device="cuda:0").cpu().tolist())


def is_near(found, want, dtype):
    off = numpy.linalg.norm(on_host(found) - want) / numpy.linalg.norm(want)
    assert off < (2e-6 if dtype == torch.float32 else 1e-13), off


@on_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_are_those_of_the_host(name, dtype):
    transform = getattr(placefield, name)
    for shape in [(16, 24), (3, 20, 15), (2, 3, 32, 16), (7, 11)]:
        x = random(shape, dtype)
        want = transform(numpy.array(x.tolist(), str(dtype).split(".")[1]))
        found = transform(x)
        assert torch.is_tensor(found) and found.device == x.device and found.dtype == dtype
        is_near(found, want, dtype)
        is_near(transform(x.clone()), want, dtype)          # the same plan
        other = transform(Interface(x))                     # an Array: who made x takes nothing by DLPack
        assert isinstance(other, placefield.Array) and other.shape == shape
        assert torch.equal(torch.from_dlpack(other), found)
        assert torch.equal(torch.as_tensor(other, device="cuda:0"), found)     # by __cuda_array_interface__
    # A part that begins between the values that kernels read at once.
    padded = random((1 + 16 * 24,), dtype)
    part = padded[1:].view(16, 24)
    assert torch.equal(transform(part), transform(part.clone()))


@on_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape, pipeline", [
    ((64, 48), None), ((64, 48), "fused"), ((15, 22), None), ((8, 32), "row-column"),
])
def test_a_solve_is_that_of_the_host(dtype, shape, pipeline):
    rho = random(shape, dtype)
    bin_size = (2.0, 3.5)
    want = placefield.solve(numpy.array(rho.tolist(), str(dtype).split(".")[1]), bin_size, pipeline=pipeline)
    for given in (rho, Interface(rho), rho):
        found = placefield.solve(given, bin_size, pipeline=pipeline)
        for got, expected in zip(found, want):
            is_near(got, numpy.asarray(expected), dtype)
    assert torch.is_tensor(found.energy) and found.energy.dtype == torch.float64 and found.energy.shape == ()
    # From the host and back by the device.
    host = placefield.solve(rho.cpu(), bin_size, device="cuda:0", pipeline=pipeline)
    assert torch.equal(host.potential, found.potential.cpu()) and host.energy == found.energy.item()


@on_cuda
def test_cupys_arrays_stay_cupys():
    cupy = pytest.importorskip("cupy")
    x = cupy.random.default_rng(3).standard_normal((24, 32))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        late = x + 1.0
        found = placefield.dct2(late)
        assert isinstance(found, cupy.ndarray)
        want = placefield.dct2(cupy.asnumpy(late))
        stream.synchronize()
        is_near(found, want, torch.float64)
        phi = placefield.solve(late).potential
        assert isinstance(phi, cupy.ndarray)
        is_near(phi, placefield.solve(cupy.asnumpy(late)).potential, torch.float64)


@on_cuda
def test_many_plans_and_threads():
    """More shapes than plans are kept for, from several threads on streams of their own."""
    shapes = [(4 + 2 * k, 16) for k in range(12)]
    inputs = [random(shape, torch.float64) for shape in shapes]
    wants = [placefield.dct2(x.cpu()) for x in inputs]
    wrong = []

    def work(first):
        with torch.cuda.stream(torch.cuda.Stream()):
            for turn in range(24):
                k = (first + turn) % len(shapes)
                if not torch.allclose(placefield.dct2(inputs[k]).cpu(), wants[k], rtol=1e-10, atol=1e-10):
                    wrong.append(k)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(5 * k,)) for k in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


@on_cuda
def test_a_transform_is_captured_and_keeps_its_plan():
    x = random((32, 40), torch.float32)
    out = placefield.dct2(x)
    placefield.solve(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        placefield.dct2(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out, field = placefield.dct2(x), placefield.solve(x)
    for k in range(10):
        placefield.dct2(random((8 + 2 * k, 8), torch.float32))      # plans come and go
    x.mul_(2.0).add_(0.25)
    graph.replay()
    assert torch.equal(out, placefield.dct2(x)) and torch.equal(field.potential, placefield.solve(x).potential)
    with pytest.raises(RuntimeError, match="captur"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            placefield.dct2(torch.zeros(6, 34, device="cuda:0"))    # of a shape that has not run
    torch.cuda.synchronize()


@on_cuda
def test_replays_and_eager_work_share_no_memory():
    """A graph may be replayed on one stream while the same work, or another graph of it, runs on others."""
    shape, rounds = (512, 512), 40
    inputs = [random(shape, torch.float32) for _ in range(3)]
    wants = [placefield.solve(x).potential.clone() for x in inputs]
    graphs, fields = [], []
    for x in inputs[:2]:
        placefield.solve(x)     # makes the plan that the capture takes
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            fields.append([placefield.solve(x), placefield.solve(x)])
        graphs.append(graph)
    placefield.solve(inputs[2])
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(3)]
    differences = torch.zeros(3, device="cuda:0")
    for _ in range(rounds):
        for k, graph in enumerate(graphs):
            with torch.cuda.stream(streams[k]):
                graph.replay()
                for field in fields[k]:
                    differences[k] += (field.potential != wants[k]).sum()
        with torch.cuda.stream(streams[2]):
            differences[2] += (placefield.solve(inputs[2]).potential != wants[2]).sum()
    torch.cuda.synchronize()
    assert differences.tolist() == [0.0, 0.0, 0.0]


@on_cuda
def test_the_stream_of_an_array_is_waited_for():
    """As version 3 of the interface has it: the numbers are there once its stream has come so far."""
    x = random((64, 64), torch.float64)
    want = placefield.dct2(x + 1.0)
    for _ in range(5):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            big = torch.rand(3000, 3000, device="cuda:0")
            for _ in range(8):
                big = big @ big
            late = x + 1.0 + 0.0 * big[0, 0].clamp(0, 1).double().nan_to_num()
        found = placefield.dct2(Interface(late, stream=stream.cuda_stream))
        assert torch.equal(torch.from_dlpack(found), want)
    for stream in (1, 2, None, "missing"):
        assert torch.equal(torch.from_dlpack(placefield.dct2(Interface(x + 1.0, stream=stream))), want)


@on_cuda
def test_an_engine_takes_arrays_by_the_interface_from_any_thread(make):
    engine = make(device="cuda:0")
    pos = torch.tensor(engine.start().tolist(), dtype=torch.float64, device="cuda:0")
    want, found = engine.evaluate(pos).energy, []
    # A thread that has done nothing with CUDA has no context.
    thread = threading.Thread(target=lambda: found.append(engine.evaluate(Interface(pos)).energy))
    thread.start()
    thread.join()
    assert found == [want]
    out = torch.zeros_like(pos)
    engine.force(Interface(out))
    assert torch.equal(out, engine.force(torch.zeros_like(pos))) and out.abs().max() > 0


@on_cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_the_device_is_read_from_the_address(make):
    x = random((16, 16), torch.float64, "cuda:1")
    found = placefield.dct2(Interface(x))
    assert found.__dlpack_device__() == (2, 1)
    assert torch.equal(torch.from_dlpack(found), placefield.dct2(x))
    engine = make(device="cuda:0")
    pos = torch.tensor(engine.start().tolist(), dtype=torch.float64, device="cuda:1")
    with pytest.raises(ValueError, match="expected memory of CUDA device 0, found memory of CUDA device 1"):
        engine.evaluate(Interface(pos))


@on_cuda
def test_what_does_not_fit(make):
    x = random((16, 16), torch.float64)
    with pytest.raises(ValueError, match="stream is 0"):
        placefield.dct(Interface(x, stream=0))
    with pytest.raises(ValueError, match="mask"):
        placefield.dct(Interface(x, mask=Interface(x)))
    with pytest.raises(ValueError, match="contiguous"):
        placefield.dct(Interface(x, strides=(8, 128)))
    with pytest.raises(ValueError, match="contiguous"):
        placefield.dct2(x.t())
    with pytest.raises(TypeError, match="float32 or float64"):
        placefield.dct(Interface(x.int(), typestr="<i4"))
    with pytest.raises(ValueError, match="no memory of a CUDA device"):
        placefield.dct(Interface(x.cpu()))
    with pytest.raises(ValueError, match="axes"):
        placefield.dct2(x[0])
    with pytest.raises(ValueError, match="two axes"):
        placefield.solve(x[0])
    with pytest.raises(ValueError, match="device: cpu, but the density is on cuda:0"):
        placefield.solve(x, device="cpu")
    with pytest.raises(ValueError):
        placefield.dct(torch.empty(0, 16, device="cuda:0"))
    with pytest.raises((ValueError, RuntimeError), match="end"):
        placefield.dct(Interface(x, shape=(1 << 40, 16)))
    assert placefield.dct2(x).isfinite().all()


def test_what_can_be_told_without_a_device():
    class Fake:
        shape = (4,)
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}

    with pytest.raises((ValueError, RuntimeError), match="no CUDA|no memory|driver|device"):
        placefield.dct(Fake())
    Fake.__cuda_array_interface__ = {**Fake.__cuda_array_interface__, "stream": 0}
    with pytest.raises(ValueError, match="stream is 0"):
        placefield.dct(Fake())
    Fake.__cuda_array_interface__ = {**Fake.__cuda_array_interface__, "mask": object()}
    with pytest.raises(ValueError, match="mask"):
        placefield.dct(Fake())
