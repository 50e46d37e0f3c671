"""`placefield.torch`, on the CPU and, where there is one, on a CUDA device."""

import logging
import os
import pathlib
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

import placefield
from placefield.dreamplace import plugged
from placefield.torch import density_energy, energy_and_gradient, wirelength
from placefield.xplace import ElectronicDensityLayer

CUDA = [] if not torch.cuda.is_available() else ["cuda:0"]
DEVICES = ["cpu", *CUDA]
on_cuda = pytest.mark.skipif(not CUDA, reason="needs an NVIDIA GPU")


def tensor(engine, device, dtype=torch.float64, grad=True):
    start = engine.start().reshape(-1)
    return torch.tensor(start.tolist(), dtype=dtype, device=device).requires_grad_(grad)


@pytest.mark.parametrize("device", DEVICES)
def test_energy_and_gradient_are_the_engines(make, device):
    engine = make(device=device)
    pos = tensor(engine, device)
    energy = density_energy(pos, engine)
    (3.0 * energy).backward()
    step = make().evaluate(engine.start())
    assert energy.shape == () and energy.dtype == pos.dtype
    assert energy.item() == pytest.approx(step.energy, rel=1e-12)
    reference = make()
    reference.evaluate(engine.start())
    want = torch.tensor(reference.force().reshape(-1).tolist(), dtype=torch.float64) * (3.0 * engine.energy_weight)
    assert torch.allclose(pos.grad.cpu(), want, rtol=1e-9, atol=1e-9 * float(want.abs().max()))
    pos.grad = None
    density_energy(pos, engine, gradient="dreamplace").backward()
    assert torch.allclose(pos.grad.cpu(), want / (-3.0 * engine.energy_weight), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_on_the_same_tensors_see_what_is_in_them(make, device, dtype):
    """On CUDA addresses that return are replayed; of more tensors than are kept, and after the engine was changed."""
    engine, other = (make(device=device, dtype=str(dtype).split(".")[1]) for _ in range(2))
    places = [tensor(engine, device, dtype) for _ in range(11)]
    for count in (1, 2, 11):
        for turn in range(5):
            for k, at in enumerate(places[:count]):
                with torch.no_grad():
                    at += 0.3 * k + 0.1
                energy, gradient = energy_and_gradient(at, engine)
                assert not gradient.requires_grad and gradient.shape == at.shape
                fresh = at.detach().clone().requires_grad_()    # of another address, by another engine
                want = density_energy(fresh, other)
                want.backward()
                assert energy.item() == want.item() and torch.equal(gradient, fresh.grad)
                again = density_energy(at, engine)
                (again * 2.0).backward()
                assert again.item() == want.item() and torch.equal(at.grad, 2.0 * fresh.grad)
                at.grad = None
    width, height = (engine.start() * 0 + 2.0).astype("float64")
    before = energy_and_gradient(places[0], engine)[0].item()
    for changed in (engine, other):
        changed.set_sizes(width, height)
    for _ in range(3):
        energy, gradient = energy_and_gradient(places[0], engine)
        want = other.evaluate(places[0])
        assert energy.item() == torch.tensor(want.energy, dtype=dtype).item() != before
        force = other.gradient(torch.zeros_like(gradient), weight=other.energy_weight)
        assert torch.equal(gradient, force)


@pytest.mark.parametrize("device", DEVICES)
def test_an_energy_alone_and_one_differentiated_twice_over(make, device):
    engine = make(device=device)
    pos = tensor(engine, device)
    with torch.no_grad():
        alone = [density_energy(pos, engine).item() for _ in range(3)]
    energy = density_energy(pos, engine)
    assert alone == [energy.item()] * 3
    energy.backward(retain_graph=True)
    once = pos.grad.clone()
    energy.backward()
    assert torch.equal(pos.grad, once + once) and once.abs().max() > 0


def test_gradcheck(make):
    """The energy is a square of positions as long as no cell's edge crosses a bin's: central
    differences are exact there, whatever the step."""
    engine = make(fillers=False, target_density=0.9)
    pos = tensor(engine, "cpu")
    assert torch.autograd.gradcheck(lambda p: density_energy(p, engine, gradient="exact"), (pos,), eps=1e-4,
                                    atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_the_field_gradient_is_near_the_derivative(make, device):
    """Of cells that are large beside a bin."""
    engine = placefield.Engine((0, 0, 64, 64), (64, 64), [12.0, 9.0, 14.0], [10.0, 15.0, 8.0], [10.0, 17.0, 40.0],
                               [12.0, 15.0, 30.0], dtype="float64", device=device)
    pos = tensor(engine, device)
    density_energy(pos, engine).backward()
    step = 1e-3
    for at in range(6):
        up, down = pos.detach().clone(), pos.detach().clone()
        up[at] += step
        down[at] -= step
        want = float(density_energy(up, engine) - density_energy(down, engine)) / (2 * step)
        assert float(pos.grad[at]) == pytest.approx(want, rel=0.05)


@pytest.mark.parametrize("device", DEVICES)
def test_a_later_forward_does_not_spoil_an_earlier_backward(make, device):
    engine = make(device=device)
    first, second = tensor(engine, device), tensor(engine, device)
    with torch.no_grad():
        second += 1.5
    energy = density_energy(first, engine)
    want = torch.autograd.grad(density_energy(first, engine), first)[0]
    other = density_energy(second, engine)
    assert torch.equal(torch.autograd.grad(energy, first)[0], want)
    assert not torch.equal(torch.autograd.grad(other, second)[0], want)


@pytest.mark.parametrize("device", DEVICES)
def test_a_tensor_may_die_before_backward(make, device):
    engine = make(device=device)
    leaf = tensor(engine, device)
    energy = density_energy(leaf * 1.0, engine)     # the product lives in the graph alone
    junk = [torch.full_like(leaf, 7.0) for _ in range(8)]
    energy.backward()
    del junk
    want = torch.autograd.grad(density_energy(leaf, engine), leaf)[0]
    assert torch.equal(leaf.grad, want)


def test_what_does_not_fit(make):
    engine = make()
    pos = tensor(engine, "cpu")
    with pytest.raises(TypeError, match="positions: expected torch.float64, found torch.float32"):
        density_energy(pos.float(), engine)
    with pytest.raises(ValueError, match="shape"):
        density_energy(pos[:-1], engine)
    with pytest.raises(ValueError, match="contiguous"):
        density_energy(torch.zeros(2 * pos.numel(), dtype=pos.dtype)[::2], engine)
    with pytest.raises(ValueError, match="x of body 2: NaN"):
        density_energy(pos.detach().index_fill(0, torch.tensor([2]), float("nan")), engine)
    with pytest.raises(ValueError, match="gradient: expected field"):
        density_energy(pos, engine, gradient="numerical")
    energy = density_energy(pos, engine)
    (grad,) = torch.autograd.grad(energy, pos, create_graph=True)
    with pytest.raises(RuntimeError):
        grad.sum().backward()
    with pytest.raises(ValueError, match="memory of cpu"):
        density_energy(pos.to("meta"), engine)


def test_tensors_go_in_without_a_copy(make):
    engine = make()
    pos = tensor(engine, "cpu", grad=False)
    out = torch.zeros_like(pos)
    assert engine.evaluate(pos).energy == engine.evaluate(engine.start()).energy
    assert engine.force(out) is out
    assert out.tolist() == engine.force().reshape(-1).tolist()
    rho = torch.tensor(engine.density().tolist(), dtype=torch.float64)
    assert torch.is_tensor(placefield.solve(rho, engine.bin_size).potential)
    with pytest.raises(ValueError, match="contiguous"):
        placefield.dct2(rho.t())


def test_an_optimiser_spreads_cells(make):
    engine = make(dtype="float32")
    pos = tensor(engine, "cpu", torch.float32)
    optimiser = torch.optim.SGD([pos], lr=0.0)
    before = density_energy(pos, engine).item()
    for _ in range(20):
        optimiser.zero_grad()
        density_energy(pos, engine).backward()
        optimiser.param_groups[0]["lr"] = 0.2 / float(pos.grad.abs().mean())
        optimiser.step()
    assert density_energy(pos, engine).item() < 0.7 * before


@on_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_cuda_graph_replays_the_step(make, dtype):
    engine = make(device="cuda:0", dtype=str(dtype).split(".")[1])
    pos = tensor(engine, "cuda:0", dtype)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            pos.grad = None
            density_energy(pos, engine).backward()
    torch.cuda.current_stream().wait_stream(side)
    pos.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        energy = density_energy(pos, engine)
        energy.backward()
    for shift in (0.0, 1.0, -2.0, 30.0):
        with torch.no_grad():
            pos += shift
        graph.replay()
        got = (energy.item(), pos.grad.clone())
        plain = pos.detach().clone().requires_grad_()
        again = density_energy(plain, engine)
        again.backward()
        assert got[0] == again.item() and torch.equal(got[1], plain.grad)
        engine.order_if_due(stream=torch.cuda.current_stream().cuda_stream)


@on_cuda
def test_streams_are_kept_in_order(make):
    """Positions that a slow kernel on another stream writes are those that the step sees."""
    engine = make(device="cuda:0")
    want = float(density_energy(tensor(engine, "cuda:0") + 1.0, engine))
    for _ in range(5):
        stream = torch.cuda.Stream()
        pos = tensor(engine, "cuda:0", grad=False)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            big = torch.rand(3000, 3000, device="cuda:0")
            for _ in range(5):
                big = big @ big
            moved = pos + 1.0 + 0.0 * big[0, 0].clamp(0, 1).double().nan_to_num()
            energy = density_energy(moved, engine)
        stream.synchronize()
        assert energy.item() == want


@on_cuda
def test_cuda_arrays_of_others(make):
    engine = make(device="cuda:0")
    pos = tensor(engine, "cuda:0", grad=False)
    host = make()
    step = engine.evaluate(pos)
    assert step.energy == pytest.approx(host.evaluate(host.start()).energy, rel=1e-12)
    force = engine.force(torch.zeros_like(pos))
    want = torch.tensor(host.force().reshape(-1).tolist(), dtype=torch.float64)
    assert torch.allclose(force.cpu(), want, rtol=1e-9, atol=1e-9)

    class Interface:
        """As Numba's arrays have it."""

        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    assert engine.evaluate(Interface(pos)).energy == step.energy
    phi = torch.from_dlpack(engine._engine.device_map("potential"))
    assert phi.device.type == "cuda" and phi.shape == (20, 15)
    assert torch.allclose(phi.cpu(), torch.tensor(host.potential().tolist(), dtype=torch.float64), rtol=1e-9, atol=1e-9)
    lent = engine.device_map("field_x")
    assert lent.__cuda_array_interface__["shape"] == (20, 15)
    del lent
    with pytest.raises(ValueError, match="expected memory of cuda:0, found cpu"):
        density_energy(tensor(engine, "cpu"), engine)
    with pytest.raises(TypeError):
        engine.evaluate(pos.float())
    with pytest.raises(ValueError):
        make().evaluate(pos)


class Potential(torch.nn.Module):
    """DREAMPlace's class as its placer calls it: fixed cells lie between the movable ones and the fillers."""

    def __init__(self, cells, mask=None):
        super().__init__()
        self.xl, self.yl, self.xh, self.yh = 5.0, -7.0, 45.0, 53.0
        self.num_bins_x, self.num_bins_y, self.target_density = 20, 15, 0.9
        self.num_movable_nodes, self.num_terminals, self.num_filler_nodes = 40, 2, 3
        self.region_id, self.movable_macro_mask = None, mask
        self.node_size_x = torch.tensor([*cells["width"], 6.0, 1.0, 3.0, 3.0, 3.0], dtype=torch.float64)
        self.node_size_y = torch.tensor([*cells["height"], 20.0, 1.0, 5.0, 5.0, 5.0], dtype=torch.float64)
        self.reset()

    def reset(self):
        self.resets = getattr(self, "resets", 0) + 1


FIXED = [(5.0, -7.0, 6.0, 20.0), (30.0, 20.0, 1.0, 1.0)]
FILLERS = [[8.0, 20.0, 33.0], [1.0, 9.0, 40.0]]


def dreamplaces_positions(cells):
    (fixed_x, fixed_y), (filler_x, filler_y) = list(zip(*FIXED))[:2], FILLERS
    return torch.tensor([*cells["x"], *fixed_x, *filler_x, *cells["y"], *fixed_y, *filler_y], dtype=torch.float64,
                        requires_grad=True)


def engine_of_dreamplaces(cells, macros):
    """The same density without DREAMPlace, evaluated, and its step. Of bins of 2 x 4, so that x is not y."""
    engine = placefield.Engine((5.0, -7.0, 45.0, 53.0), (20, 15), **cells, fixed=FIXED, macros=macros,
                               target_density=0.9, fillers=(3, 3.0, 5.0), dtype="float64")
    at = torch.tensor([*cells["x"], *FILLERS[0], *cells["y"], *FILLERS[1]], dtype=torch.float64)
    return engine, engine.evaluate(at)


def test_dreamplaces_tensors_give_the_engines_energy_and_gradient(cells):
    operator, pos = plugged(Potential)(cells), dreamplaces_positions(cells)
    energy = operator(pos)
    (2.0 * energy).backward()
    engine, step = engine_of_dreamplaces(cells, [False] * 40)
    assert energy.item() == pytest.approx(step.energy, rel=1e-12)
    want = -2.0 * torch.tensor(engine.force().tolist(), dtype=torch.float64)
    found = pos.grad.view(2, 45)
    assert torch.allclose(found[:, :40], want[:, :40], rtol=1e-12)
    assert torch.allclose(found[:, 42:], want[:, 40:], rtol=1e-12)
    assert not found[:, 40:42].any() and want.abs().min() > 0
    # Sizes that change are told by a reset.
    with torch.no_grad():
        operator.node_size_x[:40] *= 1.5
    operator.reset()
    assert operator.resets == 2 and operator(pos).item() != pytest.approx(step.energy, rel=1e-3)


def test_macros_are_those_of_dreamplaces_mask(cells):
    """No mask means none, also where an engine of its own choice would take a cell for one."""
    cells["width"][7], cells["height"][7] = 20.0, 24.0
    marks = [k in (3, 7) for k in range(40)]
    energies = {}
    cases = (("none", None, [False] * 40), ("marked", torch.tensor(marks), marks), ("by size", None, None))
    for name, mask, macros in cases:
        energies[name] = engine_of_dreamplaces(cells, macros)[1].energy
        if name != "by size":
            found = plugged(Potential)(cells, mask)(dreamplaces_positions(cells)).item()
            assert found == pytest.approx(energies[name], rel=1e-12)
    assert len({round(energy, 6) for energy in energies.values()}) == 3


def test_the_compared_operator_has_dreamplaces_macros(script, aux):
    nodes = aux.with_suffix(".nodes")
    nodes.write_text(nodes.read_text().replace("c5 4 10\n", "c5 30 30\n").replace("c6 2 10\n", "c6 60 20\n"))
    problem = script("dreamplace-compare").problem
    args = SimpleNamespace(design=aux, bins=(16, 16), target_density=0.8, dtype="float64", device="cpu", seed=1)
    mask = problem(args)[0]["movable_macro_mask"]
    # More than ten times the mean area, and more than two rows high: not the one of two rows.
    assert mask.dtype == torch.bool and mask.nonzero().flatten().tolist() == [5]
    args.target_density = 1.0
    assert problem(args)[0]["movable_macro_mask"] is None


def test_dreamplaces_iterations_are_told(script, capfd):
    compare = script("dreamplace-compare")

    def metric(iteration, overflow):
        return SimpleNamespace(iteration=iteration, hpwl=torch.tensor(2e7), overflow=torch.tensor([0.9, overflow]))

    with compare.silent() as out, compare.progress(out, "placefield, seed 1000") as progress:
        progress.say("places")
        handler = logging.getLogger().handlers[-1]
        for iteration in range(3):
            handler.due -= 100.0 * (iteration == 1)
            logging.info("optimizer step 1 ms")
            logging.info(metric(iteration, 0.5))
            os.write(1, b"lost")
    logging.info(metric(9, 0.1))
    written = capfd.readouterr()
    assert written.out == "" and written.err.splitlines() == [
        "placefield, seed 1000: places", "placefield, seed 1000: iteration 1, HPWL 2.0000e+07, overflow 0.5000"]


class Xplace:
    """Xplace's problem as its loop has it, with bins of 1/16 x 1/8, and its layer's sums in float64."""

    def __init__(self, device, target=0.8):
        random = torch.Generator().manual_seed(5)
        self.bins, self.target, self.movable = (16, 8), target, 9
        self.unit = torch.tensor([1 / 16, 1 / 8])
        real = 0.02 + 0.2 * torch.rand((12, 2), generator=random)
        real[4] = torch.tensor([0.4, 0.5])
        real[5] = torch.tensor([0.3, 0.05])
        real[9:] = torch.tensor([0.05, 0.125])
        size = real.clamp(min=self.unit * 2 ** 0.5)
        self.ratio = (real.prod(1) / size.prod(1)).to(device)
        if target < 1:
            self.ratio[4] = target
        self.size, self.area = size.to(device), float(real[:9].prod(1).sum())
        self.pos = (size / 2 + (1 - size) * torch.rand((12, 2), generator=random)).to(device).requires_grad_()
        fixed = torch.zeros(self.bins)
        fixed[2:5, 1:3], fixed[5, 1:3] = 1.0, 0.25
        self.fixed = (fixed * target).to(device)

    def overflow_of(self, density):
        above = ((density - self.target) * float(self.unit.prod())).clamp_(min=0.0).sum()
        return above / self.area

    def layer(self):
        return ElectronicDensityLayer(
            unit_len=self.unit.to(self.pos.device), num_bin_x=16, num_bin_y=8, device=self.pos.device,
            overflow_helper=(0, 9, self.overflow_of), expand_ratio=self.ratio, sorted_maps=(None, None, None),
            deterministic=True).to(self.pos.device)

    def expected(self, weight=1.0):
        """Energy, overflow and gradient."""
        pos, size = (array.detach().cpu().double() / self.unit for array in (self.pos, self.size))
        weight = self.ratio.cpu().double() * weight
        shares, waves, fields = [], [], []
        for axis, n in enumerate(self.bins):
            edge = torch.arange(n, dtype=torch.float64)
            low, high = (pos + sign * size / 2 for sign in (-1, 1))
            inside = torch.minimum(high[:, axis, None], edge + 1) - torch.maximum(low[:, axis, None], edge)
            shares.append(inside.clamp(min=0))
            # The basis of cosines over bins' centres, x's with lengths in widths of a bin.
            k = torch.arange(n, dtype=torch.float64) * torch.pi / n
            waves.append(torch.cos((edge[:, None] + 0.5) * k) * torch.where(k > 0, 2 / n, 1 / n).sqrt())
            fields.append(torch.sin((edge[:, None] + 0.5) * k) * torch.where(k > 0, 2 / n, 1 / n).sqrt())
        density = [self.fixed.cpu().double() + torch.einsum("b,bx,by->xy", weight[:m], shares[0][:m], shares[1][:m])
                   for m in (9, 12)]
        x = torch.pi / 16 * torch.arange(16)[:, None]
        y = torch.pi / 8 * torch.arange(8) * float(self.unit[0] / self.unit[1])
        square = (x ** 2 + y ** 2).double()
        square[0, 0] = torch.inf
        phi = waves[0].t() @ density[1] @ waves[1] / square
        field = fields[0] @ (phi * x) @ waves[1].t(), waves[0] @ (phi * y) @ fields[1].t()
        gradient = torch.stack([-torch.einsum("b,bx,by,xy->b", weight, *shares, of) for of in field], 1)
        return float((waves[0] @ phi @ waves[1].t() * density[1]).sum()), float(self.overflow_of(density[0])), gradient

    def check(self, layer, weight=1.0):
        want, overflow, gradient = self.expected(weight)
        with torch.no_grad():
            found = layer.merged_density_loss_grad(self.pos, self.size, self.fixed, calc_overflow=False)
        assert found[1] is None and float(found[0]) == pytest.approx(want, rel=1e-4)
        assert float(layer.direct_calc_overflow(self.pos, self.size, self.fixed)) == pytest.approx(overflow, rel=1e-4)
        off = (found[2].cpu().double() - gradient).abs().max()
        assert found[2].shape == self.pos.shape and off < 1e-4 * gradient.abs().max() and overflow > 0.01
        return want, overflow, gradient


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("target", [0.8, 1.0])
def test_xplaces_layer_gives_its_sums(device, target):
    problem = Xplace(device, target)
    layer = problem.layer()
    first, overflow, _ = problem.check(layer)
    # As its loop does: a step without the overflow, then the overflow, which the same step has.
    with torch.no_grad():
        problem.pos += 0.01
    assert problem.check(layer)[0] != pytest.approx(first, rel=1e-3)
    # Asked for again it is that of other positions; and the default asks for it at once.
    with torch.no_grad():
        problem.pos -= 0.01
    again = layer.direct_calc_overflow(problem.pos, problem.size, problem.fixed)
    at_once = layer.merged_density_loss_grad(problem.pos, problem.size, problem.fixed)[1]
    assert float(again) == pytest.approx(overflow, rel=1e-4) and float(at_once) == float(again)


@pytest.mark.parametrize("device", DEVICES)
def test_xplaces_layer_follows_its_loop(device):
    """After macros have been made legal the loop sets these attributes, and a part of one in place."""
    problem = Xplace(device)
    layer = problem.layer()
    before = problem.check(layer)
    problem.ratio = problem.ratio.clone()
    problem.ratio[5] *= 0.5
    layer.expand_ratio = problem.ratio
    layer.sorted_maps = (None, None, None)
    without = torch.ones(12, dtype=torch.float64)
    without[4] = 0.0
    layer.cache_node_weight[0:9][torch.tensor([k == 4 for k in range(9)])] = -1.0
    problem.fixed = problem.fixed.clone()
    problem.fixed[10, 3] = 0.5
    after = problem.check(layer, without)
    assert after[0] != pytest.approx(before[0], rel=1e-3) and not after[2][4].any()
    # Sizes that change in place, as when inflation is undone.
    problem.size[5, 0] *= 1.1
    problem.check(layer, without)


def test_what_xplaces_layer_does_not_take():
    problem = Xplace("cpu")
    with pytest.raises(ValueError, match="overflow_helper: expected"):
        ElectronicDensityLayer()
    with pytest.raises(ValueError, match="scale_w_k: expected True"):
        ElectronicDensityLayer(overflow_helper=(0, 9, problem.overflow_of), scale_w_k=False)
    layer = problem.layer()
    for attribute, row, value in (("ratio", 4, 0.5), ("size", 1, 0.01)):
        changed = getattr(problem, attribute).clone()
        changed[row] = value
        sizes = changed if attribute == "size" else problem.size
        layer.expand_ratio = changed if attribute == "ratio" else problem.ratio
        with pytest.raises(ValueError, match="expand_ratio: expected that of cells stretched"):
            layer.merged_density_loss_grad(problem.pos, sizes, problem.fixed)
    problem.check(problem.layer())
    layer = problem.layer()
    layer.overflow_helper = (1, 9, problem.overflow_of)
    with pytest.raises(ValueError, match="expected the movable cells first, found 1 bodies before them"):
        layer.direct_calc_overflow(problem.pos, problem.size, problem.fixed)


@on_cuda
def test_threads_share_a_cuda_engine(make):
    engine = make(device="cuda:0")
    places = [tensor(engine, "cuda:0", grad=False) + 0.1 * k for k in range(4)]
    want = [float(density_energy(at, engine)) for at in places]
    wrong = []

    def work(k):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                if float(density_energy(places[k], engine)) != want[k]:
                    wrong.append(k)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


@pytest.mark.parametrize("device", DEVICES)
def test_wirelength_is_the_designs(spread, device):
    design = placefield.read_design(spread)
    x, y = torch.tensor(design.x[:60]) + 0.5, torch.tensor(design.y[:60])
    want = design.wirelength(x.numpy(), y.numpy(), 4.0)
    # Fillers behind the cells have no gradient.
    pos = torch.zeros(2, 70, dtype=torch.float64)
    pos[:, :60] = torch.stack([x, y])
    pos = pos.to(device).requires_grad_()
    value = wirelength(pos, design, 4.0)
    (3.0 * value).backward()
    assert value.item() == pytest.approx(want.value, rel=1e-12) and value.shape == () and value.device == pos.device
    assert torch.allclose(pos.grad[:, :60].cpu(), 3.0 * torch.tensor(want.gradient), rtol=1e-12)
    assert not pos.grad[:, 60:].any() and not torch.allclose(pos.grad[0], pos.grad[1])
    flat = pos.detach()[:, :60].reshape(-1).to(torch.float32).requires_grad_()
    wirelength(flat, design, 4.0, ignore_net_degree=3).backward()
    fewer = design.wirelength(x.numpy(), y.numpy(), 4.0, ignore_net_degree=3)
    assert torch.allclose(flat.grad.cpu().double(), torch.tensor(fewer.gradient).reshape(-1), rtol=1e-3, atol=1e-4)
    for wrong in (pos.detach()[:, :59], torch.zeros(121)):
        with pytest.raises(ValueError, match="positions: expected shape"):
            wirelength(wrong, design, 4.0)


def test_maps_are_tensors_of_the_callers(spread):
    design = placefield.read_design(spread)
    for dtype in (torch.float32, torch.float64):
        x, y = (torch.tensor(of[:60], dtype=dtype, requires_grad=True) for of in (design.x, design.y))
        made = placefield.maps(design, x, y, ["density", "rudy"], (12, 6))
        assert isinstance(made, torch.Tensor) and not made.requires_grad
        assert made.dtype == dtype and made.shape == (2, 12, 6)
        want = placefield.maps(design, kinds=["density", "rudy"], grid=(12, 6), dtype=str(dtype).split(".")[1])
        assert torch.allclose(made, torch.tensor(want), rtol=1e-4, atol=1e-6)
        swapped = placefield.maps(design, y, x, ["density", "rudy"], (12, 6))
        assert not torch.allclose(swapped, made)


CONGESTION = ["pin_rudy", "demand_vertical", "rudy", "cell_density", "rudy_long", "demand_horizontal", "rudy_short",
              "macro_region", "pin_density"]


@on_cuda
@pytest.mark.parametrize("convention", ["circuitnet", "dreamplace", "openroad"])
def test_maps_on_a_device_have_the_bits_of_the_cpu(spread, convention):
    design = placefield.read_design(spread)
    how = {"kinds": CONGESTION, "grid": (12, 6), "convention": convention, "capacity": (3.0, 2.0)}
    stream = torch.cuda.Stream()
    # All nodes and the movable ones by turns: fixed nodes are where the design has them again.
    for nodes, scale in ((60, 1.0), (len(design.x), 0.5), (60, 0.75)):
        for dtype in (torch.float64, torch.float32):
            x, y = (torch.tensor(of[:nodes] * scale, dtype=dtype, requires_grad=True) for of in (design.x, design.y))
            for out in (torch.float64, torch.float32):
                want = placefield.maps(design, x, y, dtype=str(out).split(".")[1], **how)
                with torch.cuda.stream(stream):
                    made = placefield.maps(design, x.to("cuda:0"), y.to("cuda:0"), dtype=str(out).split(".")[1], **how)
                    assert made.is_cuda and made.dtype == out and not made.requires_grad
                    assert torch.equal(made.cpu(), want)
    assert (want[2] != 0).any() and placefield.maps(design, x.cuda(), y.cuda(), "rudy", (12, 6)).dtype == torch.float32


@on_cuda
def test_maps_on_a_device_that_cannot_be_made(spread):
    design = placefield.read_design(spread)
    at = torch.zeros(60, device="cuda:0")
    wrong = [
        ((at, at, "density"), "maps of congestion alone, found 'density'"),
        ((at, at.cpu(), "rudy"), "y: expected memory of CUDA device 0, found host memory"),
        ((at.cpu(), at, "rudy"), "x: expected an array in device memory"),
        ((at[:-1], at[:-1], "rudy"), "x: expected shape"),
        ((at, at[:-1], "rudy"), "y: expected shape"),
    ]
    for arguments, text in wrong:
        with pytest.raises(ValueError, match=text):
            placefield.maps(design, *arguments, (12, 6))


def test_the_example_of_adam_runs(aux, tmp_path):
    example = pathlib.Path(__file__).parents[1] / "examples" / "adam.py"
    # With the packages of this Python, which scripts/python-check adds to it.
    program = (f"import sys, runpy; sys.path[:] = {sys.path!r}; path = sys.argv.pop(1); "
               "runpy.run_path(path, run_name='__main__')")
    done = subprocess.run([sys.executable, "-c", program, str(example), str(aux), str(tmp_path / "out.pl")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    overflows = [float(line.split("overflow")[1].split()[0]) for line in lines if "overflow" in line]
    assert overflows[-1] < 0.5 * overflows[0]
    again = placefield.read_design(aux, pl=tmp_path / "out.pl")
    assert again.legality() and f"refined {again.hpwl():.6e}" in lines[-1]
