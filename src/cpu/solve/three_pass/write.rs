//! The last step of a solve: writes the samples of an inverse's tile to columns of a map.

use crate::cpu::matrix::{AHEAD, Block};
use crate::cpu::simd::{Row, SimdKernel, Unit, Vector};
use crate::real::Real;
use crate::transform::permutation;

/// Writes the lines of an inverse's tile, parts exchanged, to as many columns of a map.
pub(super) struct Write<'a, 'b, T: Real> {
    pub(super) tile: &'a [Row<T>],
    /// Odd samples are negated.
    pub(super) sine: bool,
    /// Past the caches, where columns are whole cache lines.
    pub(super) streamed: bool,
    pub(super) to: &'a mut Block<'b, T>,
}

impl<T: Real> SimdKernel<T> for Write<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) {
        let Write { tile, sine, streamed, to } = self;
        let line = size_of::<Row<T>>() / 2;
        let streamed = streamed && to.begins_at_multiples_of(line);
        for x in 0..tile.len() {
            let row = tile[permutation::position(x, tile.len())].numbers();
            let sign = if sine && x % 2 == 1 { -T::one() } else { T::one() };
            if !streamed {
                to.prefetch(x + AHEAD);
            }
            let to = to.row(x);
            if to.len() < 2 * T::LANES {
                let numbers = row[T::LANES..].iter().chain(row);
                to.iter_mut().zip(numbers).for_each(|(to, &v)| *to = sign * v);
                continue;
            }
            let sign = unit.splat(sign);
            for at in (0..2 * T::LANES).step_by(V::LANES) {
                let exchanged = unit.load(row, (at + T::LANES) % (2 * T::LANES)) * sign;
                match streamed {
                    // SAFETY: the fence follows.
                    true => unsafe { unit.stream(exchanged, to, at) },
                    false => unit.store(exchanged, to, at),
                }
            }
        }
        if streamed {
            V::fence();
        }
    }
}
