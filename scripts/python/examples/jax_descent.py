"""jax_descent.py DESIGN.aux OUT.pl: the density as a function that JAX differentiates, in a descent. Cells are then
made legal and written."""

import sys

import jax
import jax.numpy as jnp
import numpy
import placefield

jax.config.update("jax_enable_x64", True)


def density_energy(engine):
    """A function of positions, an array of shape (2, bodies): the energy, with the field's gradient.

    The engine works in host memory, where `jax.pure_callback` puts positions and takes the gradient from, also
    under jax.jit and where the program's other arrays are on a device.
    """

    def step(positions):
        positions = numpy.asarray(positions)
        energy = engine.evaluate(positions).energy
        return numpy.asarray(energy, engine.dtype), engine.gradient(weight=engine.energy_weight)

    def energy_and_gradient(positions):
        results = jax.ShapeDtypeStruct((), engine.dtype), jax.ShapeDtypeStruct((2, engine.bodies), engine.dtype)
        return jax.pure_callback(step, results, positions)

    function = jax.custom_vjp(lambda positions: energy_and_gradient(positions)[0])
    function.defvjp(energy_and_gradient, lambda gradient, incoming: (incoming * gradient,))
    return function


def main(aux, out):
    design = placefield.read_design(aux)
    engine = placefield.Engine.from_design(design, fillers=True, dtype="float64")
    movable, energy = engine.movable, density_energy(engine)
    xl, yl, xh, yh = engine.die
    start = jnp.asarray(engine.start())
    start = start.at[:, :movable].add(min(engine.bin_size) * jax.random.normal(jax.random.key(1), (2, movable)))
    first = start[:, :movable]
    low, high = jnp.array([[xl], [yl]]), jnp.array([[xh - design.width.min()], [yh - design.height.min()]])

    @jax.jit
    def descend(positions):
        # Density, and springs that keep the cells where they were.
        springs = lambda at: 1e-4 * jnp.sum((at[:, :movable] - first) ** 2)
        gradient = jax.grad(lambda at: energy(at) / energy_at_start + springs(at) / movable)(positions)
        moved = positions - 0.2 * min(engine.bin_size) * gradient / jnp.abs(gradient).mean()
        return jnp.clip(moved, low, high)

    energy_at_start, positions = energy(start), start
    for iteration in range(101):
        positions = descend(positions)
        if iteration % 25 == 0:
            overflow = engine.evaluate(numpy.asarray(positions)).overflow
            print(f"{iteration:4}  energy {energy(positions):.6e}  overflow {overflow:.4f}")
    legal = placefield.legalize(design.with_positions(*numpy.asarray(positions)[:, :movable]))
    legal.design.write_pl(out)
    print(f"legal: {legal.legality.legal}, HPWL {legal.hpwl:.6e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
