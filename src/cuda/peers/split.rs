//! Which bodies are whose: each rank has as many, and those that stand together along x.

use crate::charge::Charge;
use crate::real::Real;
use rayon::prelude::*;
use std::ops::Range;

/// Bins that a body may be away from where its rank's bodies stood before it counts as strayed.
const SLACK: f64 = 16.0;
/// Bodies are divided anew when more than one in so many has strayed.
const ONE_STRAYED_IN: usize = 8;

/// A division of the bodies over ranks.
pub(super) struct Split<T> {
    /// The bodies of each rank, ascending.
    pub(super) ids: Vec<Vec<u32>>,
    /// Where the bodies of each rank began along x, centres, and ended.
    span: Vec<Range<T>>,
}

impl<T: Real> Split<T> {
    /// Divides bodies at `x`, left edges, by their centres and, where those are the same, their number.
    pub(super) fn new(charge: &Charge, x: &[T], ranks: usize) -> Self {
        let centre = |i: u32| x[i as usize].wide() + charge.width()[i as usize] / 2.0;
        let mut all: Vec<u32> = (0..x.len() as u32).collect();
        let mut rest = &mut all[..];
        let mut ids = Vec::new();
        for rank in 0..ranks {
            let count = rest.len() / (ranks - rank);
            if count < rest.len() {
                let before =
                    |a: &u32, b: &u32| centre(*a).total_cmp(&centre(*b)).then_with(|| a.cmp(b));
                rest.select_nth_unstable_by(count, before);
            }
            let (own, others) = rest.split_at_mut(count);
            own.par_sort_unstable();
            ids.push(own.to_vec());
            rest = others;
        }
        let slack = SLACK * charge.grid().bin_x();
        let span = |ids: &Vec<u32>| {
            let of = |i: &u32| (centre(*i), centre(*i));
            let none = || (f64::INFINITY, f64::NEG_INFINITY);
            let wider = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
            let (begin, end) = ids.par_iter().map(of).reduce(none, wider);
            T::of(begin - slack)..T::of(end + slack)
        };
        let span = ids.iter().map(span).collect();
        Split { ids, span }
    }

    /// Whether so many bodies have left the places of their rank's that another division pays.
    pub(super) fn is_stale(&self, charge: &Charge, x: &[T]) -> bool {
        if self.ids.len() == 1 {
            return false;
        }
        let half = T::of(0.5);
        let strayed = |(ids, span): (&Vec<u32>, &Range<T>)| {
            let outside = |i: &&u32| {
                let i = **i as usize;
                let centre = x[i] + T::of(charge.width()[i]) * half;
                !(centre >= span.start && centre <= span.end)
            };
            ids.par_iter().filter(outside).count()
        };
        let strayed: usize = self.ids.iter().zip(&self.span).map(strayed).sum();
        strayed * ONE_STRAYED_IN > x.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};
    use crate::grid::{BinGrid, Rect};

    fn charge(count: usize) -> Charge {
        let grid = BinGrid::new(Rect::at(0.0, 0.0, 1000.0, 1000.0), 500, 100).unwrap();
        let (width, at) = (vec![2.0; count], vec![0.0; count]);
        let (cells, options) = (
            Rectangles { width: &width, height: &width, x: &at, y: &at, ..Default::default() },
            ChargeOptions::default(),
        );
        Charge::from_rectangles(grid, &cells, &options).unwrap()
    }

    #[test]
    fn every_body_is_one_ranks_and_neighbours_are_together() {
        let charge = charge(103);
        let x: Vec<f32> = (0..103).map(|i| (i * 37 % 103) as f32).collect();
        let split = Split::new(&charge, &x, 4);
        assert_eq!(split.ids.iter().map(Vec::len).collect::<Vec<_>>(), [25, 26, 26, 26]);
        let mut all = split.ids.concat();
        all.sort();
        assert_eq!(all, (0..103).collect::<Vec<_>>());
        for (own, next) in split.ids.iter().zip(&split.ids[1..]) {
            assert!(own.is_sorted());
            let last = own.iter().map(|&i| x[i as usize]).fold(0.0, f32::max);
            assert!(next.iter().all(|&i| x[i as usize] > last));
        }
        assert!(!split.is_stale(&charge, &x));
        let mirrored: Vec<f32> = x.iter().map(|x| 900.0 - x).collect();
        assert!(split.is_stale(&charge, &mirrored));
    }

    #[test]
    fn bodies_in_one_place_are_divided_by_number() {
        let charge = charge(7);
        let split = Split::new(&charge, &[5.0f64; 7], 3);
        assert_eq!(split.ids, [vec![0, 1], vec![2, 3], vec![4, 5, 6]]);
        let few = Split::new(&charge, &[5.0f64; 7], 16);
        assert_eq!(few.ids.iter().map(Vec::len).sum::<usize>(), 7);
    }
}
