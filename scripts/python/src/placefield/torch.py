"""The density's energy as a function that PyTorch differentiates."""

import torch

__all__ = ("density_energy", "energy_and_gradient")

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


def _step(pos, engine, weight, gradient):
    """The energy, and in `gradient`, unless it is None, weight times the force."""
    energy = pos.new_empty(())
    if pos.is_cuda:
        engine._engine._enqueue_step(
            pos.data_ptr(), pos.numel() // 2, energy.data_ptr(), 0 if gradient is None else gradient.data_ptr(), weight,
            _stream(pos))
    else:
        energy.fill_(engine._engine._step_at(pos.detach(), gradient, weight))
    return energy


class _DensityEnergy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pos, engine, weight):
        gradient = torch.empty_like(pos) if ctx.needs_input_grad[0] else None
        energy = _step(pos, engine, weight, gradient)
        ctx.save_for_backward(gradient)
        return energy

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, incoming):
        (gradient,) = ctx.saved_tensors
        return gradient * incoming, None, None


def density_energy(pos, engine, *, gradient="field"):
    """The energy sum of phi * rho over bins at `pos`, a tensor without axes.

    `pos` holds lower-left corners, layout units: x of every body, then y, shape (2 * bodies,) or (2, bodies),
    of the engine's type and on its device, contiguous. Where `pos` requires a gradient, it is computed with the
    energy, and `backward` multiplies it by what comes in. On CUDA everything goes to PyTorch's current stream;
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
    out = torch.empty_like(pos, requires_grad=False)
    return _step(pos.detach(), engine, _weight(pos, engine, gradient), out), out
