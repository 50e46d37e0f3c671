//! The reordering of the N-point algorithms: even samples ascending, then odd
//! samples descending (0, 2, 4, …, 5, 3, 1).

/// Index in the reordered line of sample `i` of `n`.
#[inline(always)]
pub fn position(i: usize, n: usize) -> usize {
    if i.is_multiple_of(2) { i / 2 } else { n - i.div_ceil(2) }
}

/// Sample at index `p` of the reordered line: the inverse of [`position`].
#[inline(always)]
pub fn sample(p: usize, n: usize) -> usize {
    if p < n.div_ceil(2) { 2 * p } else { 2 * (n - p) - 1 }
}

/// Writes `x` reordered to `out`.
#[inline(always)]
pub(crate) fn reorder<T: Copy>(x: &[T], out: &mut [T]) {
    let n = x.len();
    let (evens, odds) = out[..n].split_at_mut(n.div_ceil(2));
    let pairs = x.chunks_exact(2);
    if let [last] = pairs.remainder() {
        evens[n / 2] = *last;
    }
    for ((pair, even), odd) in pairs.zip(evens).zip(odds.iter_mut().rev()) {
        *even = pair[0];
        *odd = pair[1];
    }
}

/// Undoes [`reorder`]; odd samples are multiplied by −1 when `negate_odd`.
#[inline(always)]
pub(crate) fn restore<T: Copy + std::ops::Neg<Output = T>>(
    v: &[T],
    out: &mut [T],
    negate_odd: bool,
) {
    let n = out.len();
    let (evens, odds) = v[..n].split_at(n.div_ceil(2));
    let mut pairs = out.chunks_exact_mut(2);
    let both = evens.iter().zip(odds.iter().rev());
    if negate_odd {
        pairs.by_ref().zip(both).for_each(|(pair, (&even, &odd))| {
            pair[0] = even;
            pair[1] = -odd;
        });
    } else {
        pairs.by_ref().zip(both).for_each(|(pair, (&even, &odd))| {
            pair[0] = even;
            pair[1] = odd;
        });
    }
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
    fn all_four_agree() {
        for n in 1..40 {
            let x: Vec<i32> = (0..n as i32).map(|i| 3 * i + 1).collect();
            let mut v = vec![0; n];
            reorder(&x, &mut v);
            for i in 0..n {
                assert_eq!(v[position(i, n)], x[i]);
                assert_eq!(sample(position(i, n), n), i);
            }
            let mut back = vec![0; n];
            restore(&v, &mut back, false);
            assert_eq!(back, x);
            restore(&v, &mut back, true);
            assert!((0..n).all(|i| back[i] == if i % 2 == 1 { -x[i] } else { x[i] }));
        }
    }
}
