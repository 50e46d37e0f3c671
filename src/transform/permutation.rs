//! The reordering of the N-point algorithms: even samples ascending, then odd
//! samples descending (0, 2, 4, …, 5, 3, 1).
//!
//! The loop follows the unordered line and moves pairs: the reordering writes two streams
//! and its inverse reads two. (The paper's tables compare it with a loop over the other line.)

use super::InputElement;
use crate::real::Real;

/// Returns the index in the reordered line of sample `i` of `n`.
#[inline(always)]
pub fn position(i: usize, n: usize) -> usize {
    if i.is_multiple_of(2) { i / 2 } else { n - i.div_ceil(2) }
}

/// Returns the index of the sample at index `p` of the reordered line: the inverse of [`position`].
#[inline(always)]
pub fn sample(p: usize, n: usize) -> usize {
    if p < n.div_ceil(2) { 2 * p } else { 2 * (n - p) - 1 }
}

/// Writes `x` reordered to `out`, reading the two streams and writing in order.
#[inline(always)]
pub(crate) fn gather<S: InputElement, T: Real>(x: &[S], out: &mut [T]) {
    let n = x.len();
    let (evens, odds) = out[..n].split_at_mut(n.div_ceil(2));
    for (p, even) in evens.iter_mut().enumerate() {
        *even = T::cast(x[2 * p].to_f64());
    }
    for (p, odd) in odds.iter_mut().enumerate() {
        *odd = T::cast(x[2 * (n / 2 - p) - 1].to_f64());
    }
}

/// Writes `x` reordered to `out`, converting it.
#[inline(always)]
pub(crate) fn reorder<S: InputElement, T: Real>(x: &[S], out: &mut [T]) {
    let n = x.len();
    let (evens, odds) = out[..n].split_at_mut(n.div_ceil(2));
    let pairs = x.chunks_exact(2);
    if let [last] = pairs.remainder() {
        evens[n / 2] = T::cast(last.to_f64());
    }
    for ((pair, even), odd) in pairs.zip(evens).zip(odds.iter_mut().rev()) {
        *even = T::cast(pair[0].to_f64());
        *odd = T::cast(pair[1].to_f64());
    }
}

/// Undoes [`reorder`]; odd samples are multiplied by −1 when `negate_odd`.
#[inline(always)]
pub(crate) fn restore<T: Real>(v: &[T], out: &mut [T], negate_odd: bool) {
    let n = out.len();
    let (evens, odds) = v[..n].split_at(n.div_ceil(2));
    let sign = if negate_odd { -T::one() } else { T::one() };
    let mut pairs = out.chunks_exact_mut(2);
    let both = evens.iter().zip(odds.iter().rev());
    pairs.by_ref().zip(both).for_each(|(pair, (&even, &odd))| {
        pair[0] = even;
        pair[1] = sign * odd;
    });
    if let [last] = pairs.into_remainder() {
        *last = evens[n / 2];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evens_then_odds_backwards() {
        assert_eq!((0..7).map(|p| sample(p, 7)).collect::<Vec<_>>(), [0, 2, 4, 6, 5, 3, 1]);
        assert_eq!((0..6).map(|p| sample(p, 6)).collect::<Vec<_>>(), [0, 2, 4, 5, 3, 1]);
    }

    #[test]
    fn both_reorderings_agree() {
        for n in 1..40 {
            let x: Vec<f64> = (0..n).map(|i| (3 * i + 1) as f64).collect();
            let (mut v, mut gathered) = (vec![0.0; n], vec![0.0; n]);
            reorder(&x, &mut v);
            gather(&x, &mut gathered);
            assert_eq!(v, gathered);
            for i in 0..n {
                assert_eq!(v[position(i, n)], x[i]);
                assert_eq!(sample(position(i, n), n), i);
            }
            let mut back = vec![0.0; n];
            restore(&v, &mut back, false);
            assert_eq!(back, x);
            restore(&v, &mut back, true);
            assert!((0..n).all(|i| back[i] == if i % 2 == 1 { -x[i] } else { x[i] }));
        }
    }

    #[test]
    fn integers_are_converted_on_reading() {
        let mut v = [0.0_f32; 3];
        reorder(&[-7_i8, 1, 2], &mut v);
        assert_eq!(v, [-7.0, 2.0, 1.0]);
        gather(&[u32::MAX, 0, 16_777_217], &mut v);
        assert_eq!(v, [4_294_967_296.0, 16_777_216.0, 0.0]);
    }
}
