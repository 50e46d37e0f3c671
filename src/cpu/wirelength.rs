//! Weighted-average wirelength, its gradient and HPWL on the CPU.
//!
//! The formulas are in [`crate::wirelength`]. Distances are taken from the
//! net's own extremes, so that f32 loses nothing to where on the die a net lies,
//! and no exponent is above zero.
//!
//! Positions are gathered once for a block of nets, then the exponentials of all its pins are
//! taken, several to a vector, to within 2 ulp (`simd::exp`), and last each net's sums and gradients.
//!
//! # How it runs in parallel
//! Nets are cut into blocks of about as many pins. A block is one task, which
//! writes the gradient of each of its pins; then each body adds up those of its
//! pins, in order. Blocks depend on the netlist alone and their sums are added in
//! order in `f64`: the bits are the same for any number of threads.

use super::simd::vectorised;
use crate::real::Real;
use crate::wirelength::{FIXED_PIN, Netlist, Wirelength};
use rayon::prelude::*;
use std::ops::Range;

/// Pins of a block, about.
const BLOCK_PINS: usize = 8192;
/// Bodies of one task at least, when the pins' gradients are added up.
const BODIES: usize = 4096;

/// The wirelength of a [`Netlist`] and its gradient: made once, then asked every iteration.
/// Nothing is allocated after [`CpuWirelength::new`].
#[derive(Clone, Debug)]
pub struct CpuWirelength<T> {
    pins: Pins<T>,
    net_start: Vec<u32>,
    weight: Vec<f64>,
    blocks: Vec<NetBlock<T>>,
    body_start: Vec<u32>,
    /// Block of each of a body's pins, and which of the block's pins it is.
    body_pin: Vec<(u32, u32)>,
    fixed_hpwl: f64,
}

/// Where pins are: on a body, or on the die for good.
#[derive(Clone, Debug)]
struct Pins<T> {
    body: Vec<u32>,
    x: Vec<T>,
    y: Vec<T>,
}

/// Some nets, next to one another, and what is computed of them.
#[derive(Clone, Debug)]
struct NetBlock<T> {
    nets: Range<usize>,
    /// Whether they take part in the weighted average.
    smooth: bool,
    /// Positions of the pins, then their gradients. Empty unless `smooth`.
    x: Vec<T>,
    y: Vec<T>,
    /// Of every pin: how far below its net's high end and above its low end it is, γ being
    /// the unit, as numbers that are not above zero; then e and n.
    exponents: [Vec<T>; 2],
    /// Low and high end of every net.
    ends: Vec<[T; 2]>,
    sum: Wirelength,
}

impl<T: Real> CpuWirelength<T> {
    /// Rounds `netlist` to `T` and allocates what [`CpuWirelength::evaluate`] works in.
    pub fn new(netlist: &Netlist) -> Self {
        let round = |values: &[f64]| values.iter().map(|&v| T::of(v)).collect();
        let mut blocks = cut(netlist, 0..netlist.smooth(), true);
        let place = pin_places(netlist, &blocks);
        blocks.extend(cut(netlist, netlist.smooth()..netlist.nets(), false));
        CpuWirelength {
            pins: Pins {
                body: netlist.pin_body().to_vec(),
                x: round(netlist.pin_x()),
                y: round(netlist.pin_y()),
            },
            net_start: netlist.net_start().to_vec(),
            weight: netlist.weight().to_vec(),
            blocks,
            body_start: netlist.body_start().to_vec(),
            body_pin: netlist.body_pin().iter().map(|&p| place[p as usize]).collect(),
            fixed_hpwl: netlist.fixed_hpwl(),
        }
    }

    /// Wirelength with the bodies' lower-left corners at `x`, `y`, smoothed by
    /// `gamma` (layout units, above zero); writes its gradient by the movable
    /// cells' positions to `gradient_x`, `gradient_y`, and zeros after them.
    ///
    /// # Panics
    /// When the slices differ in length or have fewer entries than movable cells.
    pub fn evaluate(
        &mut self,
        x: &[T],
        y: &[T],
        gamma: f64,
        gradient_x: &mut [T],
        gradient_y: &mut [T],
    ) -> Wirelength {
        let bodies = x.len();
        assert!(bodies + 1 >= self.body_start.len(), "positions of the movable cells");
        assert_eq!([y.len(), gradient_x.len(), gradient_y.len()], [bodies; 3], "bodies");
        let CpuWirelength { pins, net_start, weight, blocks, .. } = self;
        let inverse_gamma = T::of(1.0 / gamma);
        blocks.par_iter_mut().for_each(|block| {
            block.evaluate(pins, net_start, weight, x, y, inverse_gamma);
        });
        self.gather(gradient_x, gradient_y);
        let start = Wirelength { hpwl: self.fixed_hpwl, smooth: 0.0 };
        self.blocks.iter().fold(start, |sum, block| Wirelength {
            hpwl: sum.hpwl + block.sum.hpwl,
            smooth: sum.smooth + block.sum.smooth,
        })
    }

    /// Adds up the gradients of every body's pins.
    fn gather(&self, gradient_x: &mut [T], gradient_y: &mut [T]) {
        let movable = self.body_start.len() - 1;
        let gradients = gradient_x.par_iter_mut().zip(gradient_y);
        gradients.with_min_len(BODIES).enumerate().for_each(|(body, (gx, gy))| {
            (*gx, *gy) = (T::zero(), T::zero());
            if body >= movable {
                return;
            }
            let pins = self.body_start[body] as usize..self.body_start[body + 1] as usize;
            for &(block, pin) in &self.body_pin[pins] {
                let block = &self.blocks[block as usize];
                *gx += block.x[pin as usize];
                *gy += block.y[pin as usize];
            }
        });
    }
}

/// Cuts nets into blocks.
fn cut<T: Real>(netlist: &Netlist, nets: Range<usize>, smooth: bool) -> Vec<NetBlock<T>> {
    let mut blocks = Vec::new();
    let mut first = nets.start;
    while first < nets.end {
        let full = netlist.net_start()[first] as usize + BLOCK_PINS;
        let ends = &netlist.net_start()[first + 1..nets.end + 1];
        let last = first + ends.partition_point(|&end| end as usize <= full).max(1);
        let pins = (netlist.net_start()[last] - netlist.net_start()[first]) as usize;
        let room = if smooth { pins } else { 0 };
        blocks.push(NetBlock {
            nets: first..last,
            smooth,
            x: vec![T::zero(); room],
            y: vec![T::zero(); room],
            exponents: [(); 2].map(|()| vec![T::zero(); room]),
            ends: vec![[T::zero(); 2]; if smooth { last - first } else { 0 }],
            sum: Wirelength::default(),
        });
        first = last;
    }
    blocks
}

/// For every pin of the blocks: which block, and which of its pins.
fn pin_places<T>(netlist: &Netlist, blocks: &[NetBlock<T>]) -> Vec<(u32, u32)> {
    let of_block = |(b, block): (usize, &NetBlock<T>)| {
        let pins = netlist.net_start()[block.nets.end] - netlist.net_start()[block.nets.start];
        (0..pins).map(move |pin| (b as u32, pin))
    };
    blocks.iter().enumerate().flat_map(of_block).collect()
}

impl<T: Real> Pins<T> {
    #[inline(always)]
    fn position(&self, pin: usize, x: &[T], y: &[T]) -> (T, T) {
        let (dx, dy) = (self.x[pin], self.y[pin]);
        match self.body[pin] {
            FIXED_PIN => (dx, dy),
            body => (x[body as usize] + dx, y[body as usize] + dy),
        }
    }
}

impl<T: Real> NetBlock<T> {
    fn evaluate(
        &mut self,
        pins: &Pins<T>,
        net_start: &[u32],
        weight: &[f64],
        x: &[T],
        y: &[T],
        inverse_gamma: T,
    ) {
        self.sum = Wirelength::default();
        let pins_of = |e: usize| net_start[e] as usize..net_start[e + 1] as usize;
        if !self.smooth {
            let nets = self.nets.clone();
            self.sum.hpwl = nets.map(|e| weight[e] * half_perimeter(pins, pins_of(e), x, y)).sum();
            return;
        }
        let first = net_start[self.nets.start] as usize;
        let places = self.x.iter_mut().zip(&mut self.y).enumerate();
        places.for_each(|(k, (px, py))| (*px, *py) = pins.position(first + k, x, y));
        let NetBlock { nets, x, y, exponents, ends, .. } = &mut *self;
        let nets = || nets.clone().map(|e| (pins_of(e), weight[e]));
        let mut sum = Wirelength::default();
        for values in [x, y] {
            for (ends, (pins, _)) in ends.iter_mut().zip(nets()) {
                let here = pins.start - first..pins.end - first;
                let values = &values[here.clone()];
                let (low, high) = extremes(values);
                let [below, above] = exponents.each_mut().map(|v| &mut v[here.clone()]);
                for ((below, above), &value) in below.iter_mut().zip(above).zip(values) {
                    (*below, *above) = (value - high, low - value);
                }
                *ends = [low, high];
            }
            for exponents in &mut *exponents {
                vectorised(
                    #[inline(always)]
                    || {
                        for v in exponents.iter_mut() {
                            *v = (*v * inverse_gamma).exp_of_non_positive();
                        }
                    },
                );
            }
            for (&[low, high], (pins, weight)) in ends.iter().zip(nets()) {
                let here = pins.start - first..pins.end - first;
                let [e, n] = exponents.each_ref().map(|v| &v[here.clone()]);
                let values = &mut values[here];
                let ends = [low, high];
                let mean = weighted_average(values, [e, n], ends, inverse_gamma, T::of(weight));
                sum.hpwl += weight * (high - low).wide();
                sum.smooth += weight * mean.wide();
            }
        }
        self.sum = sum;
    }
}

/// max x − min x + max y − min y over `range`'s pins.
fn half_perimeter<T: Real>(pins: &Pins<T>, range: Range<usize>, x: &[T], y: &[T]) -> f64 {
    let (mut low, mut high) = ([T::infinity(); 2], [T::neg_infinity(); 2]);
    for pin in range {
        let (px, py) = pins.position(pin, x, y);
        low = [low[0].min(px), low[1].min(py)];
        high = [high[0].max(px), high[1].max(py)];
    }
    ((high[0] - low[0]) + (high[1] - low[1])).wide()
}

/// Replaces the pins' coordinates on one axis by `weight` times the gradient
/// there; returns the net's weighted average, without weight.
#[inline(always)]
fn weighted_average<T: Real>(
    values: &mut [T],
    [e, n]: [&[T]; 2],
    [low, high]: [T; 2],
    inverse_gamma: T,
    weight: T,
) -> T {
    let zero = T::zero();
    // Sums of e, e·(x − high), n and n·(x − low).
    let (mut e_sum, mut e_mean, mut n_sum, mut n_mean) = (zero, zero, zero, zero);
    for ((&value, &e), &n) in values.iter().zip(e).zip(n) {
        e_sum += e;
        e_mean += e * (value - high);
        n_sum += n;
        n_mean += n * (value - low);
    }
    let (per_e, per_n) = (T::one() / e_sum, T::one() / n_sum);
    e_mean *= per_e;
    n_mean *= per_n;
    let (per_e, per_n) = (weight * per_e, weight * per_n);
    for ((value, &e), &n) in values.iter_mut().zip(e).zip(n) {
        let (below, above) = (*value - high, *value - low);
        *value = e * per_e * (T::one() + (below - e_mean) * inverse_gamma)
            - n * per_n * (T::one() - (above - n_mean) * inverse_gamma);
    }
    high - low + e_mean - n_mean
}

/// Least and largest of the values that are not NaN. A NaN reaches
/// the sums through its exponentials.
#[inline(always)]
fn extremes<T: Real>(values: &[T]) -> (T, T) {
    let start = (values[0], values[0]);
    values[1..].iter().fold(start, |(low, high), &v| {
        let low = if v > low { low } else { v };
        (low, if v < high { high } else { v })
    })
}
