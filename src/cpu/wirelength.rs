//! Weighted-average wirelength, its gradient and HPWL on the CPU.
//!
//! The formulas are in [`crate::wirelength`]. Distances are taken from the net's own extremes, so
//! that f32 loses no precision to a net's position on the die, and no exponent is above zero.
//!
//! # Layout
//! Most nets have few pins, and one net would use only a part of a vector. So nets of equal numbers
//! of pins, up to 32, form groups of 16, one net in each lane: first the first pin of each,
//! then the second. Unused lanes of a group have no weight. The other nets follow, with consecutive
//! pins in the lanes. Exponentials are exact to within 2 ulp (`simd::exp`).
//!
//! x and y of a body are adjacent in memory, so that a pin reads both at once. The pins' gradients,
//! which each body sums, are also adjacent.
//!
//! # How it runs in parallel
//! Nets are cut into blocks of about as many pins. A block is one task, which
//! writes the gradient of each of its pins; then each body adds up those of its
//! pins, in order. Blocks depend on the netlist alone and their sums are added in
//! order in `f64`: the bits are the same for any number of threads and any vector unit.

use super::matrix::SharedMatrix;
use super::simd::vectorised;
use crate::engine::{EngineError, check_lengths, check_positions};
use crate::memory::filled;
use crate::parallel::{self, chunks, chunks_mut, each_mut};
use crate::real::Real;
use crate::wirelength::{FIXED_PIN, Netlist, Wirelength};
use std::ops::Range;

/// Nets of a group.
const LANES: usize = 16;
/// Most pins of a net in a group.
const MOST_GROUPED: usize = 32;
/// Pins of a block, about.
const BLOCK_PINS: usize = 8192;
/// Bodies of one task at least.
const BODIES: usize = 4096;

/// Marks an unused lane of a group with fewer than [`LANES`] nets.
const NO_NET: u32 = u32::MAX;

/// A number of each net of a group.
type Lanes<T> = [T; LANES];

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
    /// The first entry of every movable cell in the two lists below, and their number.
    body_start: Vec<u32>,
    /// The pins of the cells, one cell's after the other's, and the cell of each.
    body_pin: Vec<u32>,
    body: Vec<u32>,
    fixed_hpwl: f64,
}

/// The nets and their pins.
#[derive(Clone, Debug, Default)]
struct Nets<T> {
    /// For every pin: the index of its body in `corners`, and its offset from there. Pins of groups
    /// come first, then pins of the other nets, and last pins of nets that do not count in the
    /// weighted average.
    body: Vec<u32>,
    offset: Vec<[T; 2]>,
    /// Weights of the nets in groups, and which nets these are; none has [`NO_NET`].
    grouped_weight: Vec<T>,
    grouped: Vec<u32>,
    /// The first pin of every other net, and the number of pins at the end; its weight, and which
    /// net it is.
    start: Vec<u32>,
    weight: Vec<f64>,
    others: Vec<u32>,
}

/// Some consecutive nets, and their results.
#[derive(Clone, Debug)]
struct NetBlock<T> {
    nets: BlockNets,
    pins: Range<usize>,
    /// Working memory of a group or net: for every pin e, then n; empty without smoothing.
    exponentials: [Vec<Lanes<T>>; 2],
    sum: Wirelength,
}

/// Which nets a block has.
#[derive(Clone, Debug)]
enum BlockNets {
    /// Groups of nets with as many pins; the first net's place among those in groups.
    Grouped { pins_of_a_net: usize, first: usize },
    /// Nets with more pins, by their place among those.
    Single(Range<usize>),
    /// Nets that do not take part in the weighted average, likewise.
    Measured(Range<usize>),
}

impl<T: Real> CpuWirelength<T> {
    /// Rounds `netlist` to `T` and allocates what [`CpuWirelength::evaluate`] works in. Positions
    /// are counted from `origin`, x and y in layout units: the
    /// [`Charge::origin`](crate::charge::Charge::origin) of the engine that takes the same
    /// positions, or `[0.0; 2]`.
    pub fn new(netlist: &Netlist, origin: [f64; 2]) -> Self {
        let netlist = &*netlist.counted_from(origin);
        let mut made = Layout::new(netlist);
        let mut by_pins = vec![Vec::new(); MOST_GROUPED + 1];
        let mut others = Vec::new();
        for e in 0..netlist.smooth() {
            match netlist.pins_of(e).len() {
                count @ ..=MOST_GROUPED => by_pins[count].push(e),
                _ => others.push(e),
            }
        }
        for nets in by_pins {
            made.add_groups(&nets);
        }
        let grouped = made.nets.body.len();
        made.nets.start.push(grouped as u32);
        made.add_single(&others, BlockNets::Single);
        let averaged = made.nets.body.len();
        made.add_single(
            &(netlist.smooth()..netlist.nets()).collect::<Vec<_>>(),
            BlockNets::Measured,
        );
        let Layout { mut nets, blocks, place, .. } = made;
        nets.weigh(netlist.weight());
        let zero = [T::zero(); 2];
        CpuWirelength {
            nets,
            blocks,
            corners: filled(netlist.movable() + 1, zero),
            gradient: filled(averaged, zero),
            body_start: netlist.body_start().to_vec(),
            body: netlist.body_pin().iter().map(|&pin| netlist.pin_body()[pin as usize]).collect(),
            body_pin: netlist.body_pin().iter().map(|&pin| place[pin as usize]).collect(),
            fixed_hpwl: netlist.fixed_hpwl(),
        }
    }

    /// Takes the net weights of `netlist`: the netlist that this was made from, with other
    /// weights ([`Netlist::set_weights`]).
    ///
    /// # Errors
    /// When `netlist` has another number of nets.
    pub fn set_weights(&mut self, netlist: &Netlist) -> Result<(), EngineError> {
        let grouped = self.nets.grouped.iter().filter(|net| **net != NO_NET).count();
        check_lengths(grouped + self.nets.others.len(), &[("nets", netlist.nets())])?;
        self.nets.weigh(netlist.weight());
        self.fixed_hpwl = netlist.fixed_hpwl();
        Ok(())
    }

    /// Returns the wirelength with the bodies' lower-left corners at `x`, `y`, counted from the
    /// operator's origin, smoothed by `gamma` (layout units, above zero); writes its gradient by the
    /// movable cells' positions to `gradient_x`, `gradient_y`, and zeros after them.
    ///
    /// # Errors
    /// When `x` has fewer entries than movable cells or another slice not as many as `x`, a movable
    /// cell's position is not finite, or `gamma` is not a number above 0 with an inverse in `T`.
    pub fn evaluate(
        &mut self,
        x: &[T],
        y: &[T],
        gamma: f64,
        gradient_x: &mut [T],
        gradient_y: &mut [T],
    ) -> Result<Wirelength, EngineError> {
        let CpuWirelength { nets, blocks, corners, gradient, .. } = self;
        let movable = corners.len() - 1;
        check_lengths(
            x.len().max(movable),
            &[
                ("x positions", x.len()),
                ("y positions", y.len()),
                ("x of the gradient", gradient_x.len()),
                ("y of the gradient", gradient_y.len()),
            ],
        )?;
        check_positions(&x[..movable], &y[..movable])?;
        let inverse_gamma = T::cast(1.0 / gamma);
        if !(gamma.is_finite() && gamma > 0.0 && inverse_gamma.is_finite()) {
            let precision = T::PRECISION.name();
            return Err(EngineError::SmoothingLength { gamma, precision });
        }
        let places = (
            chunks_mut(&mut corners[..movable], BODIES),
            chunks(&x[..movable], BODIES),
            chunks(&y[..movable], BODIES),
        );
        parallel::for_each(places, |_, (corners, x, y)| {
            for ((corner, &x), &y) in corners.iter_mut().zip(x).zip(y) {
                *corner = [x, y];
            }
        });
        let pins = gradient.len();
        let gradients = SharedMatrix::new(gradient, pins.max(1));
        parallel::for_each(each_mut(blocks), |_, block| {
            if let BlockNets::Measured(_) = block.nets {
                block.measure(nets, corners);
                return;
            }
            // SAFETY: every pin is of one net, every net in one block, and a block is one task.
            let mut own = unsafe { gradients.block(0..1, block.pins.clone()) };
            block.evaluate(nets, corners, inverse_gamma, own.row(0));
        });
        self.gather(gradient_x, gradient_y);
        let start = Wirelength { hpwl: self.fixed_hpwl, smooth: 0.0 };
        Ok(self.blocks.iter().fold(start, |sum, block| Wirelength {
            hpwl: sum.hpwl + block.sum.hpwl,
            smooth: sum.smooth + block.sum.smooth,
        }))
    }

    /// Adds up the gradients of every body's pins. The loop has no branch that depends on how many
    /// pins a body has, so that it waits for many of them at once.
    fn gather(&self, gradient_x: &mut [T], gradient_y: &mut [T]) {
        let movable = self.corners.len() - 1;
        let tasks = (chunks_mut(gradient_x, BODIES), chunks_mut(gradient_y, BODIES));
        parallel::for_each(tasks, |task, (gradient_x, gradient_y)| {
            let bodies = task * BODIES..movable.min(task * BODIES + gradient_x.len());
            gradient_x.fill(T::zero());
            gradient_y.fill(T::zero());
            if bodies.is_empty() {
                return;
            }
            let pins = self.body_start[bodies.start] as usize..self.body_start[bodies.end] as usize;
            for (&pin, &body) in self.body_pin[pins.clone()].iter().zip(&self.body[pins]) {
                let ([x, y], at) = (self.gradient[pin as usize], body as usize - bodies.start);
                gradient_x[at] += x;
                gradient_y[at] += y;
            }
        });
    }
}

/// The nets while they are put in order.
struct Layout<'a, T> {
    netlist: &'a Netlist,
    nets: Nets<T>,
    blocks: Vec<NetBlock<T>>,
    /// The place of every pin of the netlist.
    place: Vec<u32>,
}

impl<'a, T: Real> Layout<'a, T> {
    fn new(netlist: &'a Netlist) -> Self {
        let (nets, blocks) = (Nets::default(), Vec::new());
        Layout { netlist, nets, blocks, place: vec![0; netlist.pins()] }
    }

    /// Adds a pin of the netlist, or one of no net.
    fn add_pin(&mut self, pin: Option<usize>) {
        let nowhere = self.netlist.movable() as u32;
        let (mut body, mut offset) = (nowhere, [T::zero(); 2]);
        if let Some(pin) = pin {
            self.place[pin] = self.nets.body.len() as u32;
            offset = [self.netlist.pin_x()[pin], self.netlist.pin_y()[pin]].map(T::cast);
            body =
                Some(self.netlist.pin_body()[pin]).filter(|&b| b != FIXED_PIN).unwrap_or(nowhere);
        }
        self.nets.body.push(body);
        self.nets.offset.push(offset);
    }

    fn add_block(&mut self, nets: BlockNets, first_pin: usize, room: usize) {
        self.blocks.push(NetBlock {
            nets,
            pins: first_pin..self.nets.body.len(),
            exponentials: [(); 2].map(|()| vec![[T::zero(); LANES]; room]),
            sum: Wirelength::default(),
        });
    }

    /// Adds nets that have as many pins, in groups.
    fn add_groups(&mut self, nets: &[usize]) {
        let Some(&first) = nets.first() else { return };
        let pins_of_a_net = self.netlist.pins_of(first).len();
        for nets in nets.chunks((BLOCK_PINS / pins_of_a_net).next_multiple_of(LANES)) {
            let (first, first_pin) = (self.nets.grouped.len(), self.nets.body.len());
            for group in nets.chunks(LANES) {
                for pin in 0..pins_of_a_net {
                    for lane in 0..LANES {
                        let net = group.get(lane).map(|&e| self.netlist.pins_of(e).start);
                        self.add_pin(net.map(|start| start + pin));
                    }
                }
                self.nets.grouped.extend(group.iter().map(|&e| e as u32));
                let whole = self.nets.grouped.len().next_multiple_of(LANES);
                self.nets.grouped.resize(whole, NO_NET);
            }
            self.add_block(BlockNets::Grouped { pins_of_a_net, first }, first_pin, pins_of_a_net);
        }
    }

    /// Adds nets one after the other.
    fn add_single(&mut self, nets: &[usize], kind: fn(Range<usize>) -> BlockNets) {
        let (mut first, mut first_pin, mut largest) =
            (self.nets.others.len(), self.nets.body.len(), 0);
        for (k, &e) in nets.iter().enumerate() {
            let pins = self.netlist.pins_of(e);
            largest = largest.max(pins.len());
            pins.for_each(|pin| self.add_pin(Some(pin)));
            self.nets.start.push(self.nets.body.len() as u32);
            self.nets.others.push(e as u32);
            if self.nets.body.len() - first_pin >= BLOCK_PINS || k + 1 == nets.len() {
                let last = self.nets.others.len();
                self.add_block(kind(first..last), first_pin, (2 * largest).div_ceil(LANES));
                (first, first_pin, largest) = (last, self.nets.body.len(), 0);
            }
        }
    }
}

impl<T: Real> Nets<T> {
    /// Sets the weights of all nets; that of no net is 0.
    fn weigh(&mut self, weight: &[f64]) {
        let of = |net: &u32| weight.get(*net as usize).copied().unwrap_or(0.0);
        self.grouped_weight.clear();
        self.grouped_weight.extend(self.grouped.iter().map(|net| T::cast(of(net))));
        self.weight.clear();
        self.weight.extend(self.others.iter().map(of));
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
        let BlockNets::Measured(nets) = &self.nets else { return };
        let lengths = nets.clone().map(|e| all.weight[e] * half_perimeter(all, e, corners));
        self.sum = Wirelength { hpwl: lengths.sum(), smooth: 0.0 };
    }

    /// Both wirelengths, and the gradient by the positions of the block's pins.
    fn evaluate(
        &mut self,
        all: &Nets<T>,
        corners: &[[T; 2]],
        inverse_gamma: T,
        gradient: &mut [[T; 2]],
    ) {
        let NetBlock { nets, pins, exponentials, sum } = self;
        let exponentials = exponentials.each_mut().map(Vec::as_mut_slice);
        *sum = match nets.clone() {
            BlockNets::Grouped { pins_of_a_net, first } => vectorised(
                #[inline(always)]
                || {
                    let mut sums = [[0.0; LANES]; 2];
                    let groups = gradient.chunks_exact_mut(pins_of_a_net * LANES).enumerate();
                    let [e, n] = exponentials;
                    for (k, gradient) in groups {
                        let first_pin = pins.start + k * pins_of_a_net * LANES;
                        let weight = &all.grouped_weight[first + k * LANES..][..LANES];
                        let weight = weight.try_into().expect("a group is whole");
                        let by = (inverse_gamma, weight);
                        evaluate_group(all, first_pin, corners, by, [e, n], gradient, &mut sums);
                    }
                    let [hpwl, smooth] = sums.map(|lanes| lanes.iter().sum());
                    Wirelength { hpwl, smooth }
                },
            ),
            BlockNets::Single(nets) => vectorised(
                #[inline(always)]
                || {
                    let mut sum = Wirelength::default();
                    let [e, n] = exponentials;
                    for net in nets {
                        let own = all.start[net] as usize..all.start[net + 1] as usize;
                        let values = &mut gradient[own.start - pins.start..own.end - pins.start];
                        let exponentials = [
                            &mut e.as_flattened_mut()[..2 * own.len()],
                            &mut n.as_flattened_mut()[..2 * own.len()],
                        ];
                        for (value, pin) in values.iter_mut().zip(own) {
                            *value = all.position(pin, corners);
                        }
                        let weight = all.weight[net];
                        let found = evaluate_net(values, exponentials, inverse_gamma, weight);
                        sum.hpwl += found.hpwl;
                        sum.smooth += found.smooth;
                    }
                    sum
                },
            ),
            BlockNets::Measured(_) => return,
        };
    }
}

/// Wirelengths of a group's nets, added to `sums`, HPWL first; and the gradients of its pins, of
/// which `first` is the first.
#[inline(always)]
fn evaluate_group<T: Real>(
    all: &Nets<T>,
    first: usize,
    corners: &[[T; 2]],
    (inverse_gamma, weight): (T, &Lanes<T>),
    [e, n]: [&mut [Lanes<T>]; 2],
    gradient: &mut [[T; 2]],
    sums: &mut [[f64; LANES]; 2],
) {
    let mut values = [[[T::zero(); LANES]; MOST_GROUPED]; 2];
    let count = e.len();
    let [x, y] = &mut values;
    for (k, (x, y)) in x.iter_mut().zip(y).take(count).enumerate() {
        for lane in 0..LANES {
            [x[lane], y[lane]] = all.position(first + k * LANES + lane, corners);
        }
    }
    for values in &mut values {
        let (hpwl, smooth) = match values[..count] {
            [ref mut a, ref mut b] => average_of_pairs(a, b, inverse_gamma, weight),
            ref mut values => average_of_lanes(values, e, n, inverse_gamma, weight),
        };
        for lane in 0..LANES {
            let weight = weight[lane].widen();
            sums[0][lane] += weight * hpwl[lane].widen();
            sums[1][lane] += weight * smooth[lane].widen();
        }
    }
    let [x, y] = &values;
    for ((gradient, x), y) in gradient.chunks_exact_mut(LANES).zip(x).zip(y) {
        for lane in 0..LANES {
            gradient[lane] = [x[lane], y[lane]];
        }
    }
}

/// Nets of two pins along one axis: with p = exp(−d/γ), d being their distance, WA is
/// d·(1 − p)/(1 + p). Replaces the positions by `weight` times the gradient; returns HPWL and WA.
#[inline(always)]
fn average_of_pairs<T: Real>(
    a: &mut Lanes<T>,
    b: &mut Lanes<T>,
    inverse_gamma: T,
    weight: &Lanes<T>,
) -> (Lanes<T>, Lanes<T>) {
    let (mut length, mut smooth) = ([T::zero(); LANES], [T::zero(); LANES]);
    for lane in 0..LANES {
        let signed = a[lane] - b[lane];
        length[lane] = signed.abs();
        let t = -length[lane] * inverse_gamma;
        let p = t.exp_of_non_positive();
        let q = T::one() / (T::one() + p);
        let mean = t * p * q;
        smooth[lane] = length[lane] * (T::one() - p) * q;
        let slope = weight[lane] * q * (T::one() - p - (mean + mean));
        a[lane] = if signed < T::zero() { -slope } else { slope };
        b[lane] = -a[lane];
    }
    (length, smooth)
}

/// Nets of `values.len()` pins along one axis, one in each lane. Replaces the positions by `weight`
/// times the gradient; returns HPWL and WA. `e` and `n` are working memory.
#[inline(always)]
fn average_of_lanes<T: Real>(
    values: &mut [Lanes<T>],
    e: &mut [Lanes<T>],
    n: &mut [Lanes<T>],
    inverse_gamma: T,
    weight: &Lanes<T>,
) -> (Lanes<T>, Lanes<T>) {
    let zero = [T::zero(); LANES];
    let (mut low, mut high) = (values[0], values[0]);
    for value in &values[1..] {
        for lane in 0..LANES {
            low[lane] = if value[lane] > low[lane] { low[lane] } else { value[lane] };
            high[lane] = if value[lane] < high[lane] { high[lane] } else { value[lane] };
        }
    }
    // Sums of e, e·(x − high), n and n·(x − low).
    let (mut e_sum, mut e_mean, mut n_sum, mut n_mean) = (zero, zero, zero, zero);
    for ((value, e), n) in values.iter().zip(&mut *e).zip(&mut *n) {
        for lane in 0..LANES {
            let (below, above) = (value[lane] - high[lane], value[lane] - low[lane]);
            e[lane] = (below * inverse_gamma).exp_of_non_positive();
            n[lane] = (-above * inverse_gamma).exp_of_non_positive();
            e_sum[lane] += e[lane];
            e_mean[lane] += e[lane] * below;
            n_sum[lane] += n[lane];
            n_mean[lane] += n[lane] * above;
        }
    }
    let (mut of_e, mut of_n, mut length, mut smooth) = (zero, zero, zero, zero);
    for lane in 0..LANES {
        let (per_e, per_n) = (T::one() / e_sum[lane], T::one() / n_sum[lane]);
        e_mean[lane] *= per_e;
        n_mean[lane] *= per_n;
        (of_e[lane], of_n[lane]) = (weight[lane] * per_e, weight[lane] * per_n);
        length[lane] = high[lane] - low[lane];
        smooth[lane] = length[lane] + e_mean[lane] - n_mean[lane];
    }
    for ((value, e), n) in values.iter_mut().zip(&*e).zip(&*n) {
        for lane in 0..LANES {
            let (below, above) = (value[lane] - high[lane], value[lane] - low[lane]);
            let at_high = T::one() + (below - e_mean[lane]) * inverse_gamma;
            let at_low = T::one() - (above - n_mean[lane]) * inverse_gamma;
            value[lane] = e[lane] * of_e[lane] * at_high - n[lane] * of_n[lane] * at_low;
        }
    }
    (length, smooth)
}

/// Returns max x − min x + max y − min y over the pins of net `e`.
fn half_perimeter<T: Real>(all: &Nets<T>, e: usize, corners: &[[T; 2]]) -> f64 {
    let (mut low, mut high) = ([T::infinity(); 2], [T::neg_infinity(); 2]);
    for pin in all.start[e] as usize..all.start[e + 1] as usize {
        let [px, py] = all.position(pin, corners);
        low = [low[0].min(px), low[1].min(py)];
        high = [high[0].max(px), high[1].max(py)];
    }
    ((high[0] - low[0]) + (high[1] - low[1])).widen()
}

/// Replaces the positions of a net's pins by `weight` times the gradient there; returns its
/// wirelengths, times `weight`. The exponentials are working memory, two for each pin.
#[inline(always)]
fn evaluate_net<T: Real>(
    values: &mut [[T; 2]],
    [e, n]: [&mut [T]; 2],
    inverse_gamma: T,
    weight: f64,
) -> Wirelength {
    let [low, high] = extremes(values);
    for ((value, e), n) in values.iter().zip(e.as_chunks_mut().0).zip(n.as_chunks_mut().0) {
        *e = [value[0] - high[0], value[1] - high[1]];
        *n = [low[0] - value[0], low[1] - value[1]];
    }
    for exponents in [&mut *e, &mut *n] {
        for v in exponents {
            *v = (*v * inverse_gamma).exp_of_non_positive();
        }
    }
    let exponentials = [e.as_chunks().0, n.as_chunks().0];
    let means = weighted_average(values, exponentials, [low, high], inverse_gamma, T::cast(weight));
    Wirelength {
        hpwl: weight * (high[0] - low[0]).widen() + weight * (high[1] - low[1]).widen(),
        smooth: weight * means[0].widen() + weight * means[1].widen(),
    }
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
