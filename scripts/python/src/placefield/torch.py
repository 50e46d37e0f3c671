"""The density's energy as a function that PyTorch differentiates."""

import torch

__all__ = ("density_energy",)

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


class _DensityEnergy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pos, engine, weight):
        ctx.engine, ctx.weight = engine, weight
        ctx.save_for_backward(pos)
        inner = engine._engine
        if pos.is_cuda:
            energy = torch.empty((), dtype=torch.float64, device=pos.device)
            stream = _stream(pos)
            ctx.generation = inner._enqueue_energy(pos.data_ptr(), pos.numel() // 2, energy.data_ptr(), stream)
            return energy if pos.dtype == torch.float64 else energy.to(pos.dtype)
        energy, ctx.generation = inner._energy_at(pos.detach())
        return pos.new_tensor(energy)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, incoming):
        (pos,) = ctx.saved_tensors
        inner = ctx.engine._engine
        gradient = torch.empty_like(pos)
        # The engine may have seen other positions since; then it computes the step again.
        if pos.is_cuda:
            incoming = incoming.contiguous()
            ctx.generation = inner._enqueue_gradient(
                pos.data_ptr(), pos.numel() // 2, ctx.generation, gradient.data_ptr(), ctx.weight,
                incoming.data_ptr(), _stream(pos))
        else:
            weight = None if ctx.weight is None else ctx.weight * float(incoming)
            ctx.generation = inner._gradient_at(pos.detach(), ctx.generation, gradient, weight)
            if weight is None:
                gradient *= incoming
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
    if gradient == "field":
        weight = engine.energy_weight
    elif gradient == "dreamplace":
        weight = -1.0
    elif gradient == "exact":
        if pos.is_cuda:
            raise ValueError("gradient: exact is for engines on the CPU")
        weight = None
    else:
        raise ValueError(f"gradient: expected field, dreamplace or exact, found {gradient}")
    return _DensityEnergy.apply(pos, engine, weight)
