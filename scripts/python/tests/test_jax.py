"""The density under JAX's custom gradient, as examples/jax_descent.py has it."""

import pathlib
import runpy
import subprocess
import sys

import numpy
import pytest

jax = pytest.importorskip("jax")

import placefield

EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "jax_descent.py"


@pytest.fixture
def density_energy():
    return runpy.run_path(str(EXAMPLE))["density_energy"]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_energy_and_gradient_are_the_engines(make, density_energy, dtype, compiled):
    engine, reference = make(dtype=dtype), make(dtype=dtype)
    energy = density_energy(engine)
    both = jax.value_and_grad(lambda at: 3.0 * energy(2.0 * at))
    both = jax.jit(both) if compiled else both
    for shift in (0.0, 1.5):
        at = engine.start() + numpy.asarray(shift, dtype)
        value, gradient = both(jax.numpy.asarray(at / 2))
        step = reference.evaluate(at)
        assert gradient.dtype == at.dtype and float(value) == pytest.approx(3.0 * step.energy, rel=1e-6)
        want = 6.0 * reference.gradient(weight=reference.energy_weight)
        assert numpy.allclose(gradient, want, rtol=1e-6, atol=1e-6 * numpy.abs(want).max())
        assert numpy.abs(want).min() > 0


def test_positions_that_fit_no_engine_are_errors(make, density_energy):
    energy = density_energy(make())
    with pytest.raises(Exception, match="shape"):
        jax.block_until_ready(energy(jax.numpy.zeros((2, 3))))


def test_arrays_of_jax_are_not_written(make):
    engine = make()
    engine.evaluate(engine.start())
    out = jax.numpy.zeros((2, 40))
    with pytest.raises(TypeError, match="out: expected an array that can be written, found one of JAX's"):
        engine.force(out)
    assert not out.any()


def test_the_example_of_jax_runs(aux, tmp_path):
    command = [sys.executable, str(EXAMPLE), str(aux), str(tmp_path / "out.pl")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    overflows = [float(line.split("overflow")[1].split()[0]) for line in lines if "overflow" in line]
    assert overflows[-1] < 0.5 * overflows[0]
    again = placefield.read_design(aux, pl=tmp_path / "out.pl")
    assert again.legality() and f"HPWL {again.hpwl():.6e}" in lines[-1]
