"""The density's energy and the wirelength as functions that PyTorch differentiates."""

import torch

__all__ = ("density_energy", "energy_and_gradient", "wirelength")

_DTYPES = {"float32": torch.float32, "float64": torch.float64}

# The number of the current stream without an object around it, where PyTorch has that.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def _stream(pos):
    if _raw_stream is not None:
        return _raw_stream(pos.device.index)
    return torch.cuda.current_stream(pos.device).cuda_stream


def _check(pos, engine):
    if engine._torch is None:
        inner = engine._engine
        engine._torch = _DTYPES[inner.dtype], torch.device(inner.device), inner.bodies
    dtype, device, bodies = engine._torch
    if pos.dtype != dtype:
        raise TypeError(f"positions: expected {dtype}, found {pos.dtype}")
    if pos.device != device:
        raise ValueError(f"positions: expected memory of {device}, found {pos.device}")
    if pos.shape != (2 * bodies,) and pos.shape != (2, bodies):
        raise ValueError(f"positions: expected shape [2, {bodies}] or [{2 * bodies}], found {list(pos.shape)}")
    if not pos.is_contiguous():
        raise ValueError("positions: expected a contiguous tensor, row after row (C order)")


def _weight(pos, engine, gradient):
    """What the force is multiplied by; None for the derivative itself."""
    if gradient == "field":
        return engine.energy_weight
    if gradient == "dreamplace":
        return -1.0
    if gradient == "exact":
        if pos.is_cuda:
            raise ValueError("gradient: exact is for engines on the CPU")
        return None
    raise ValueError(f"gradient: expected field, dreamplace or exact, found {gradient}")


def _enqueue(pos, engine, weight, gradient):
    """The energy, and in `gradient`, unless it is None, weight times the force; and the engine's generation."""
    energy = pos.new_empty(())
    to = 0 if gradient is None else gradient.data_ptr()
    bodies, stream = pos.numel() // 2, _stream(pos)
    return energy, engine._engine._enqueue_step(pos.data_ptr(), bodies, energy.data_ptr(), to, weight, stream)


def _step(pos, engine, weight, gradient):
    """The energy, and in `gradient`, unless it is None, weight times the force."""
    if pos.is_cuda:
        return _enqueue(pos, engine, weight, gradient)[0]
    return pos.new_tensor(engine._engine._step_at(pos, gradient, weight))


class _DensityEnergy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pos, engine, weight):
        if pos.is_cuda:
            ctx.engine, ctx.weight = engine, weight
            ctx.save_for_backward(pos)
            energy, ctx.generation = _enqueue(pos, engine, weight, None)
            return energy
        gradient = torch.empty_like(pos) if ctx.needs_input_grad[0] else None
        ctx.save_for_backward(gradient)
        return _step(pos.detach(), engine, weight, gradient)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, incoming):
        (saved,) = ctx.saved_tensors
        if not saved.is_cuda:
            return saved * incoming, None, None
        gradient = torch.empty_like(saved)
        # The engine may have seen other positions since; then it computes the step again.
        ctx.generation = ctx.engine._engine._enqueue_gradient(
            saved.data_ptr(), saved.numel() // 2, ctx.generation, gradient.data_ptr(), ctx.weight,
            incoming.contiguous().data_ptr(), _stream(saved))
        return gradient, None, None


def density_energy(pos, engine, *, gradient="field"):
    """The energy sum of phi * rho over bins at `pos`, a tensor without axes.

    `pos` holds lower-left corners, layout units: x of every body, then y, shape (2 * bodies,) or (2, bodies),
    of the engine's type and on its device, contiguous. On CUDA everything goes to PyTorch's current stream;
    nothing waits, and once one step has run it can be captured in a torch.cuda.graph (call
    `engine.order_if_due` between replays now and then, which keeps them fast). Such a graph is for as long
    as the engine lives and is not changed (`set_sizes`, `refill` and the like give its memory back).

    `gradient` says what `backward` gives, times the gradient that comes in:

    * "field": the derivative of the energy but for what the field varies within a bin,
      -2 / (bin area * bin width) times the force on every body;
    * "dreamplace": minus the force, as DREAMPlace's operator gives;
    * "exact": the derivative of the energy itself, by the potential at the cells' edges; on the CPU alone,
      and slower: to check with.

    It is differentiable once.
    """
    _check(pos, engine)
    return _DensityEnergy.apply(pos, engine, _weight(pos, engine, gradient))


def energy_and_gradient(pos, engine, *, gradient="field"):
    """The energy at `pos` and its gradient, a new tensor like `pos`, as `density_energy` and its `backward` give
    them: for optimisers that add gradients up themselves. Without PyTorch's autograd, which takes most of the
    host's time of a small step.
    """
    _check(pos, engine)
    weight, out = _weight(pos, engine, gradient), torch.empty_like(pos, requires_grad=False)
    return _step(pos.detach(), engine, weight, out), out


class _Wirelength(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pos, design, gamma, ignore_net_degree):
        movable = len(design.movable)
        if pos.numel() % 2 != 0 or pos.numel() < 2 * movable:
            raise ValueError(f"positions: expected shape [2, n] or [2 n] with n of {movable} or more, "
                             f"found {list(pos.shape)}")
        x, y = pos.detach().reshape(2, -1)[:, :movable].to("cpu", torch.float64).contiguous().numpy()
        found = design.wirelength(x, y, gamma, ignore_net_degree=ignore_net_degree)
        gradient = torch.zeros_like(pos, requires_grad=False).reshape(2, -1)
        gradient[:, :movable] = torch.from_numpy(found.gradient)
        ctx.save_for_backward(gradient.reshape(pos.shape))
        return pos.new_tensor(found.value)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, incoming):
        (saved,) = ctx.saved_tensors
        return saved * incoming, None, None, None


def wirelength(pos, design, gamma, *, ignore_net_degree=None):
    """Weighted-average wirelength at `pos`, a tensor without axes, layout units: `Design.wirelength`.

    `pos` holds lower-left corners as for `density_energy`: those of the movable nodes are taken, and what comes after
    them (fillers) has no gradient. It is computed on the CPU in float64, also where `pos` is on a device. It is
    differentiable once.
    """
    return _Wirelength.apply(pos, design, gamma, ignore_net_degree)
