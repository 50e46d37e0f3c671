//! Weighted-average wirelength, its gradient and HPWL on the CPU.
//!
//! The formulas are in [`crate::wirelength`]. Distances are taken from the net's own extremes, so
//! that f32 loses no precision to a net's position on the die, and no exponent is above zero.
//!
//! The positions of bodies are put side by side, x and y of each, so that a pin finds both at one
//! place; so are the pins' gradients, which each body adds up. The steps between are computed for a
//! few hundred pins at a time, which stay in the nearest cache: positions, exponentials, several to
//! a vector, to within 2 ulp (`simd::exp`), and last each net's sums and gradients.
//!
//! # How it runs in parallel
//! Nets are cut into blocks of about as many pins. A block is one task, which
//! writes the gradient of each of its pins; then each body adds up those of its
//! pins, in order. Blocks depend on the netlist alone and their sums are added in
//! order in `f64`: the bits are the same for any number of threads.

use super::matrix::SharedMatrix;
use super::simd::vectorised;
use crate::memory::filled;
use crate::real::Real;
use crate::wirelength::{FIXED_PIN, Netlist, Wirelength};
use rayon::prelude::*;
use std::ops::Range;

/// Pins of a block, about.
const BLOCK_PINS: usize = 8192;
/// Pins that are worked on at once, unless one net has more.
const PIECE_PINS: usize = 512;
/// Bodies of one task at least.
const BODIES: usize = 4096;

/// The wirelength of a [`Netlist`] and its gradient: made once, then used every iteration. Nothing
/// is allocated after [`CpuWirelength::new`].
#[derive(Clone, Debug)]
pub struct CpuWirelength<T> {
    nets: Nets<T>,
    blocks: Vec<NetBlock<T>>,
    /// Lower-left corner of every movable cell, and behind them zero, on which fixed pins lie.
    corners: Vec<[T; 2]>,
    /// By pin of the nets that take part in the weighted average: the gradient by its position.
    gradient: Vec<[T; 2]>,
    body_start: Vec<u32>,
    body_pin: Vec<u32>,
    fixed_hpwl: f64,
}

/// The nets and their pins.
#[derive(Clone, Debug)]
struct Nets<T> {
    start: Vec<u32>,
    weight: Vec<f64>,
    /// For every pin: the index of its body in `corners`, and its offset from there.
    body: Vec<u32>,
    offset: Vec<[T; 2]>,
}

/// Some nets, next to one another, and what is computed of them.
#[derive(Clone, Debug)]
struct NetBlock<T> {
    nets: Range<usize>,
    /// Whether they take part in the weighted average.
    smooth: bool,
    /// Working memory, empty unless `smooth`. For every pin of a piece: how far below its net's
    /// high end and above its low end it is, γ being the unit, as numbers that are not above zero;
    /// then e and n.
    exponents: [Vec<[T; 2]>; 2],
    /// For every net of a piece: low and high end along both axes.
    ends: Vec<[[T; 2]; 2]>,
    sum: Wirelength,
}

impl<T: Real> CpuWirelength<T> {
    /// Rounds `netlist` to `T` and allocates what [`CpuWirelength::evaluate`] works in.
    pub fn new(netlist: &Netlist) -> Self {
        let mut blocks = cut(netlist, 0..netlist.smooth(), true);
        blocks.extend(cut(netlist, netlist.smooth()..netlist.nets(), false));
        let zero = [T::zero(); 2];
        let movable = netlist.movable() as u32;
        let body = |&body: &u32| if body == FIXED_PIN { movable } else { body };
        let offset = |(&x, &y): (&f64, &f64)| [T::of(x), T::of(y)];
        CpuWirelength {
            nets: Nets {
                start: netlist.net_start().to_vec(),
                weight: netlist.weight().to_vec(),
                body: netlist.pin_body().iter().map(body).collect(),
                offset: netlist.pin_x().iter().zip(netlist.pin_y()).map(offset).collect(),
            },
            blocks,
            corners: filled(netlist.movable() + 1, zero),
            gradient: filled(netlist.net_start()[netlist.smooth()] as usize, zero),
            body_start: netlist.body_start().to_vec(),
            body_pin: netlist.body_pin().to_vec(),
            fixed_hpwl: netlist.fixed_hpwl(),
        }
    }

    /// Returns the wirelength with the bodies' lower-left corners at `x`, `y`, smoothed by `gamma`
    /// (layout units, above zero); writes its gradient by the movable cells' positions to
    /// `gradient_x`, `gradient_y`, and zeros after them.
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
        let CpuWirelength { nets, blocks, corners, gradient, .. } = self;
        let movable = corners.len() - 1;
        let places = corners[..movable].par_iter_mut().zip(&x[..movable]).zip(&y[..movable]);
        places.with_min_len(BODIES).for_each(|((corner, &x), &y)| *corner = [x, y]);
        let inverse_gamma = T::of(1.0 / gamma);
        let pins = gradient.len();
        let gradients = SharedMatrix::new(gradient, pins.max(1));
        blocks.par_iter_mut().for_each(|block| {
            if !block.smooth {
                block.measure(nets, corners);
                return;
            }
            let pins = nets.pins(block.nets.clone());
            // SAFETY: every pin is of one net, every net in one block, and a block is one task.
            let mut own = unsafe { gradients.block(0..1, pins) };
            block.evaluate(nets, corners, inverse_gamma, own.row(0));
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
            let mut sum = [T::zero(); 2];
            if body < movable {
                let pins = self.body_start[body] as usize..self.body_start[body + 1] as usize;
                for &pin in &self.body_pin[pins] {
                    let [x, y] = self.gradient[pin as usize];
                    sum = [sum[0] + x, sum[1] + y];
                }
            }
            [*gx, *gy] = sum;
        });
    }
}

/// Cuts nets into blocks.
fn cut<T: Real>(netlist: &Netlist, nets: Range<usize>, smooth: bool) -> Vec<NetBlock<T>> {
    let mut blocks = Vec::new();
    let mut first = nets.start;
    while first < nets.end {
        let last = run_end(netlist.net_start(), first, nets.end, BLOCK_PINS);
        let largest = (first..last).map(|e| netlist.pins_of(e).len()).max();
        let room = if smooth { largest.unwrap_or(0).max(PIECE_PINS) } else { 0 };
        blocks.push(NetBlock {
            nets: first..last,
            smooth,
            exponents: [(); 2].map(|()| vec![[T::zero(); 2]; room]),
            ends: vec![[[T::zero(); 2]; 2]; if smooth { PIECE_PINS } else { 0 }],
            sum: Wirelength::default(),
        });
        first = last;
    }
    blocks
}

/// Returns the end of the longest run of nets from `first` on, `end` at most, that has at most
/// `pins` pins; of one net when that has more.
fn run_end(start: &[u32], first: usize, end: usize, pins: usize) -> usize {
    let most = start[first] as usize + pins;
    first + start[first + 1..=end].partition_point(|&end| end as usize <= most).max(1)
}

impl<T: Real> Nets<T> {
    /// Returns the pins of some nets, next to one another.
    #[inline(always)]
    fn pins(&self, nets: Range<usize>) -> Range<usize> {
        self.start[nets.start] as usize..self.start[nets.end] as usize
    }

    #[inline(always)]
    fn position(&self, pin: usize, corners: &[[T; 2]]) -> [T; 2] {
        let ([x, y], [dx, dy]) = (corners[self.body[pin] as usize], self.offset[pin]);
        [x + dx, y + dy]
    }
}

impl<T: Real> NetBlock<T> {
    /// HPWL alone.
    fn measure(&mut self, all: &Nets<T>, corners: &[[T; 2]]) {
        let nets = self.nets.clone();
        let lengths = nets.map(|e| all.weight[e] * half_perimeter(all, e, corners));
        self.sum = Wirelength { hpwl: lengths.sum(), smooth: 0.0 };
    }

    /// Both wirelengths, and the gradient by the positions of the block's pins.
    fn evaluate(
        &mut self,
        all: &Nets<T>,
        corners: &[[T; 2]],
        inverse_gamma: T,
        mut gradient: &mut [[T; 2]],
    ) {
        self.sum = Wirelength::default();
        let mut first = self.nets.start;
        while first < self.nets.end {
            let last = run_end(&all.start, first, self.nets.end, PIECE_PINS);
            let (own, rest) = gradient.split_at_mut(all.pins(first..last).len());
            vectorised(
                #[inline(always)]
                || self.evaluate_piece(all, first..last, corners, inverse_gamma, own),
            );
            (gradient, first) = (rest, last);
        }
    }

    #[inline(always)]
    fn evaluate_piece(
        &mut self,
        all: &Nets<T>,
        nets: Range<usize>,
        corners: &[[T; 2]],
        inverse_gamma: T,
        values: &mut [[T; 2]],
    ) {
        let NetBlock { exponents, ends, sum, .. } = self;
        let pins = all.pins(nets.clone());
        let exponents = exponents.each_mut().map(
            #[inline(always)]
            |e| &mut e[..pins.len()],
        );
        for (value, pin) in values.iter_mut().zip(pins.clone()) {
            *value = all.position(pin, corners);
        }
        let [below, above] = exponents;
        for (ends, e) in ends.iter_mut().zip(nets.clone()) {
            let here = all.start[e] as usize - pins.start..all.start[e + 1] as usize - pins.start;
            let values = &values[here.clone()];
            let [low, high] = extremes(values);
            let exponents = below[here.clone()].iter_mut().zip(&mut above[here]);
            for ((below, above), value) in exponents.zip(values) {
                for axis in 0..2 {
                    below[axis] = value[axis] - high[axis];
                    above[axis] = low[axis] - value[axis];
                }
            }
            *ends = [low, high];
        }
        for exponents in [&mut *below, &mut *above] {
            for v in exponents.as_flattened_mut() {
                *v = (*v * inverse_gamma).exp_of_non_positive();
            }
        }
        for (&ends, e) in ends.iter().zip(nets) {
            let here = all.start[e] as usize - pins.start..all.start[e + 1] as usize - pins.start;
            let exponents = [&below[here.clone()], &above[here.clone()]];
            let (values, weight) = (&mut values[here], all.weight[e]);
            let means = weighted_average(values, exponents, ends, inverse_gamma, T::of(weight));
            let [low, high] = ends;
            for axis in 0..2 {
                sum.hpwl += weight * (high[axis] - low[axis]).wide();
                sum.smooth += weight * means[axis].wide();
            }
        }
    }
}

/// Returns max x − min x + max y − min y over the pins of net `e`.
fn half_perimeter<T: Real>(all: &Nets<T>, e: usize, corners: &[[T; 2]]) -> f64 {
    let (mut low, mut high) = ([T::infinity(); 2], [T::neg_infinity(); 2]);
    for pin in all.pins(e..e + 1) {
        let [px, py] = all.position(pin, corners);
        low = [low[0].min(px), low[1].min(py)];
        high = [high[0].max(px), high[1].max(py)];
    }
    ((high[0] - low[0]) + (high[1] - low[1])).wide()
}

/// Replaces the positions of a net's pins by `weight` times the gradient there;
/// returns the net's weighted average along both axes, without weight.
#[inline(always)]
fn weighted_average<T: Real>(
    values: &mut [[T; 2]],
    [e, n]: [&[[T; 2]]; 2],
    [low, high]: [[T; 2]; 2],
    inverse_gamma: T,
    weight: T,
) -> [T; 2] {
    let zero = [T::zero(); 2];
    // Sums of e, e·(x − high), n and n·(x − low).
    let (mut e_sum, mut e_mean, mut n_sum, mut n_mean) = (zero, zero, zero, zero);
    for ((value, e), n) in values.iter().zip(e).zip(n) {
        for axis in 0..2 {
            e_sum[axis] += e[axis];
            e_mean[axis] += e[axis] * (value[axis] - high[axis]);
            n_sum[axis] += n[axis];
            n_mean[axis] += n[axis] * (value[axis] - low[axis]);
        }
    }
    let (mut of_e, mut of_n, mut mean) = (zero, zero, zero);
    for axis in 0..2 {
        let (per_e, per_n) = (T::one() / e_sum[axis], T::one() / n_sum[axis]);
        e_mean[axis] *= per_e;
        n_mean[axis] *= per_n;
        (of_e[axis], of_n[axis]) = (weight * per_e, weight * per_n);
        mean[axis] = high[axis] - low[axis] + e_mean[axis] - n_mean[axis];
    }
    for ((value, e), n) in values.iter_mut().zip(e).zip(n) {
        for axis in 0..2 {
            let (below, above) = (value[axis] - high[axis], value[axis] - low[axis]);
            let at_high = T::one() + (below - e_mean[axis]) * inverse_gamma;
            let at_low = T::one() - (above - n_mean[axis]) * inverse_gamma;
            value[axis] = e[axis] * of_e[axis] * at_high - n[axis] * of_n[axis] * at_low;
        }
    }
    mean
}

/// Returns the least and largest of the values that are not NaN, along both axes. A NaN reaches the
/// sums through its exponentials.
#[inline(always)]
fn extremes<T: Real>(values: &[[T; 2]]) -> [[T; 2]; 2] {
    let (mut low, mut high) = (values[0], values[0]);
    for value in &values[1..] {
        for axis in 0..2 {
            let v = value[axis];
            low[axis] = if v > low[axis] { low[axis] } else { v };
            high[axis] = if v < high[axis] { high[axis] } else { v };
        }
    }
    [low, high]
}
