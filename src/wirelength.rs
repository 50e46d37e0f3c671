//! Wirelength: the nets of a design in the form that wirelength operators read.
//!
//! [`Netlist`] has a design's nets in compressed rows, once by net and once by
//! body, with every pin's offset from the lower-left corner of its body. The
//! operators of the CPU ([`crate::cpu::wirelength`]) and of a GPU use it. Lengths are
//! layout units.
//!
//! # Half-perimeter and weighted average
//! HPWL = Σ over nets of weight · ((max x − min x) + (max y − min y)). The
//! weighted-average model smooths it with a length γ (Hsu, Chang and
//! Balabanov, "TSV-aware analytical placement", DAC 2011); per net and axis
//!
//! ```text
//! WA = Σ xᵢeᵢ / Σ eᵢ − Σ xᵢnᵢ / Σ nᵢ,   eᵢ = exp((xᵢ − max x)/γ),   nᵢ = exp((min x − xᵢ)/γ)
//! ∂WA/∂xᵢ = eᵢ/Σe · (1 + (xᵢ − A)/γ) − nᵢ/Σn · (1 − (xᵢ − B)/γ)
//! ```
//!
//! with A and B the two weighted means. WA is below HPWL and tends to HPWL as
//! γ → 0.

use crate::design::{Design, DesignError, Nets};
use crate::parallel::{self, cut, each_mut, group};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The value of a fixed node in [`Netlist::pin_body`].
pub const FIXED_PIN: u32 = u32::MAX;

/// DREAMPlace leaves nets of this many pins or more out of the weighted average. Such nets
/// (clocks, resets) have little effect on good positions of cells and cost the most time.
/// `placefield place` uses all nets ([`Netlist::ALL`]).
pub const LARGE_NET: usize = 100;

/// The nets of a design: the pins of each net, and the pins of each body.
///
/// Nets have the design's order, except that nets with too many pins come
/// last. Nets with one pin, or with all pins on fixed nodes, are constant and
/// are added to [`Netlist::fixed_hpwl`].
///
/// Every `Netlist` is whole: pins belong to one net each and are on bodies that
/// exist. [`Netlist::from_design`] sees to that and nothing can change it
/// afterwards, for operators read memory by it. Weights alone may change
/// ([`Netlist::set_weights`]). Copies share all but the weights.
///
/// ```compile_fail,E0616
/// # use placefield::wirelength::Netlist;
/// # fn lead_astray(mut netlist: Netlist) {
/// netlist.weight[0] = f64::NAN;
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Netlist {
    connections: Arc<Connections>,
    pin_x: Arc<Vec<f64>>,
    pin_y: Arc<Vec<f64>>,
    weight: Vec<f64>,
    fixed_hpwl: f64,
    pull: Pull,
}

/// All of a [`Netlist`] that stays the same when weights change.
#[derive(Clone, Debug, Default, PartialEq)]
struct Connections {
    smooth: usize,
    net_start: Vec<u32>,
    /// The design's net that each net is, and how many the design has.
    net: Vec<u32>,
    nets_of_design: usize,
    /// The design's nets that no movement changes, with their half-perimeters.
    fixed: Vec<(u32, f64)>,
    pin_body: Vec<u32>,
    body_start: Vec<u32>,
    body_pin: Vec<u32>,
}

impl Netlist {
    /// For [`Netlist::from_design`]: no net is left out of the weighted average.
    pub const ALL: usize = usize::MAX;

    /// Returns the nets of `design`, where nets of `large` pins or more are left out of the
    /// weighted average ([`LARGE_NET`]).
    ///
    /// # Errors
    /// [`DesignError::NoNets`] when the design's nets are not known, [`DesignError::NetWeight`] when
    /// a weight is negative or not finite, and another one when the design's columns do not fit
    /// together ([`Design::check`]).
    pub fn from_design(design: &Design, large: usize) -> Result<Self, DesignError> {
        design.check()?;
        let nets = design.nets.as_ref().ok_or(DesignError::NoNets)?;
        if let Some(e) = bad_weight(&nets.weight) {
            let name = nets.names.iter().nth(e).filter(|name| !name.is_empty());
            let net = name.map_or_else(|| e.to_string(), str::to_owned);
            return Err(DesignError::NetWeight { net, weight: nets.weight[e] });
        }
        let mut body_of = vec![FIXED_PIN; design.nodes.len()];
        for (body, node) in design.movable().enumerate() {
            body_of[node] = body as u32;
        }
        let moves = |e: usize| {
            let pins = nets.pins_of(e);
            pins.len() > 1
                && pins.into_iter().any(|p| body_of[nets.pin_node[p] as usize] != FIXED_PIN)
        };
        let moves = parallel::map(nets.len(), moves);
        let (mut order, big): (Vec<usize>, Vec<usize>) =
            (0..nets.len()).filter(|&e| moves[e]).partition(|&e| nets.pins_of(e).len() < large);
        let smooth = order.len();
        order.extend(big);
        let mut net_start = Vec::with_capacity(order.len() + 1);
        net_start.push(0);
        net_start.extend(order.iter().scan(0, |end, &e| {
            *end += nets.pins_of(e).len() as u32;
            Some(*end)
        }));
        let pins = net_start[order.len()] as usize;
        let (mut pin_body, mut pin_x, mut pin_y) =
            (vec![0; pins], vec![0.0; pins], vec![0.0; pins]);
        let ends = || blocks(order.len()).map(|block| net_start[block.end] as usize);
        let (mut bodies, mut x, mut y) =
            (cut(&mut pin_body, ends()), cut(&mut pin_x, ends()), cut(&mut pin_y, ends()));
        let columns = (each_mut(&mut bodies), each_mut(&mut x), each_mut(&mut y));
        let blocks: Vec<Range<usize>> = blocks(order.len()).collect();
        parallel::for_each(columns, |block, (body, x, y)| {
            let nets_of = &order[blocks[block].clone()];
            let pins = nets_of.iter().flat_map(|&e| nets.pins_of(e));
            for (k, p) in pins.enumerate() {
                body[k] = body_of[nets.pin_node[p] as usize];
                (x[k], y[k]) = pin_offset(design, nets, p, body[k]);
            }
        });
        let still = (0..nets.len()).filter(|&e| !moves[e]);
        let lengths = still.map(|e| (e as u32, design.net_hpwl(nets, e)));
        let mut connections = Connections {
            smooth,
            net_start,
            net: order.iter().map(|&e| e as u32).collect(),
            nets_of_design: nets.len(),
            fixed: lengths.filter(|(_, length)| *length != 0.0).collect(),
            pin_body,
            ..Connections::default()
        };
        let smooth_pins = connections.net_start[smooth] as usize;
        let bodies = group(design.movable().count(), smooth_pins, |p| connections.pin_body[p]);
        (connections.body_start, connections.body_pin) = (bodies.start, bodies.items);
        let mut list = Netlist {
            connections: Arc::new(connections),
            pin_x: Arc::new(pin_x),
            pin_y: Arc::new(pin_y),
            weight: Vec::new(),
            fixed_hpwl: 0.0,
            pull: Pull { most: 0.0, per_pin: 1.0 },
        };
        list.set_weights(&nets.weight)?;
        Ok(list)
    }

    /// Replaces the net weights: one for each net of the design that this netlist was made of, in
    /// the design's order, those of nets that cannot change among them.
    ///
    /// # Errors
    /// [`DesignError::Length`] when there are more or fewer weights than nets, and
    /// [`DesignError::NetWeight`] when one is negative or not finite. Weights are then as before.
    pub fn set_weights(&mut self, weights: &[f64]) -> Result<(), DesignError> {
        let of = &self.connections;
        if weights.len() != of.nets_of_design {
            let (expected, found) = (of.nets_of_design, weights.len());
            return Err(DesignError::Length { what: "net weights", expected, found });
        }
        if let Some(e) = bad_weight(weights) {
            return Err(DesignError::NetWeight { net: e.to_string(), weight: weights[e] });
        }
        self.weight = of.net.iter().map(|&e| weights[e as usize]).collect();
        self.fixed_hpwl = of.fixed.iter().map(|(e, length)| weights[*e as usize] * length).sum();
        self.pull = of.pull(&self.weight);
        Ok(())
    }

    /// Returns this netlist with the positions of fixed pins counted from this point of the die.
    pub(crate) fn counted_from(&self, [x, y]: [f64; 2]) -> Cow<'_, Netlist> {
        if [x, y] == [0.0; 2] {
            return Cow::Borrowed(self);
        }
        let by = |body: u32, by: f64| if body == FIXED_PIN { -by } else { 0.0 };
        Cow::Owned(self.with_pins_moved_by(|body| by(body, x), |body| by(body, y)))
    }

    /// Returns this netlist with every pin moved by `x`, `y` relative to the lower-left corner of
    /// its body, layout units, one value per movable cell. Pins stay in place so where cells grow
    /// about their centres.
    ///
    /// # Panics
    /// When a slice does not have one value per movable cell.
    #[must_use]
    pub fn with_pins_moved(&self, x: &[f64], y: &[f64]) -> Self {
        assert_eq!([x.len(), y.len()], [self.movable(); 2], "movable cells");
        let by = |body: u32, by: &[f64]| by.get(body as usize).copied().unwrap_or(0.0);
        self.with_pins_moved_by(|body| by(body, x), |body| by(body, y))
    }

    /// Returns this netlist with every pin moved by what `x` and `y` give for its body or
    /// [`FIXED_PIN`].
    fn with_pins_moved_by(
        &self,
        x: impl Fn(u32) -> f64 + Sync,
        y: impl Fn(u32) -> f64 + Sync,
    ) -> Self {
        let bodies = self.pin_body();
        let pin_x = parallel::map(self.pins(), |p| self.pin_x[p] + x(bodies[p]));
        let pin_y = parallel::map(self.pins(), |p| self.pin_y[p] + y(bodies[p]));
        Netlist { pin_x: Arc::new(pin_x), pin_y: Arc::new(pin_y), ..self.clone() }
    }

    /// Returns the number of nets in the weighted average, `0..smooth()`; the others count only in
    /// HPWL.
    pub fn smooth(&self) -> usize {
        self.connections.smooth
    }

    /// Returns the first pin of each net, and the number of pins at the end.
    pub fn net_start(&self) -> &[u32] {
        &self.connections.net_start
    }

    /// Returns the weight of each net.
    pub fn weight(&self) -> &[f64] {
        &self.weight
    }

    /// Returns the movable cell that each pin sits on (its index among the bodies), or
    /// [`FIXED_PIN`].
    pub fn pin_body(&self) -> &[u32] {
        &self.connections.pin_body
    }

    /// Returns the x of each pin from its body's left edge, layout units; for a [`FIXED_PIN`] its x
    /// on the die.
    pub fn pin_x(&self) -> &[f64] {
        &self.pin_x
    }

    /// Returns the y of each pin from its body's bottom edge, layout units; for a [`FIXED_PIN`] its
    /// y on the die.
    pub fn pin_y(&self) -> &[f64] {
        &self.pin_y
    }

    /// Returns the first entry in [`Netlist::body_pin`] of each movable cell, and the number of
    /// entries at the end.
    pub fn body_start(&self) -> &[u32] {
        &self.connections.body_start
    }

    /// Returns the pins of each movable cell that belong to nets `0..smooth()`, ascending.
    pub fn body_pin(&self) -> &[u32] {
        &self.connections.body_pin
    }

    /// Returns the weighted HPWL of the nets that cannot change, layout units.
    pub fn fixed_hpwl(&self) -> f64 {
        self.fixed_hpwl
    }

    /// Returns the number of nets.
    pub fn nets(&self) -> usize {
        self.weight.len()
    }

    /// Returns the number of pins.
    pub fn pins(&self) -> usize {
        self.connections.pin_body.len()
    }

    /// Returns the number of movable cells.
    pub fn movable(&self) -> usize {
        self.connections.body_start.len().saturating_sub(1)
    }

    /// Returns the pins of net `e`.
    ///
    /// # Panics
    /// When `e` is not below [`Netlist::nets`].
    pub fn pins_of(&self, e: usize) -> Range<usize> {
        self.connections.pins_of(e)
    }

    /// Returns Σ of the net weights over the pins of each movable cell that take part in the
    /// weighted average: the diagonal that preconditions wirelength (Lu et al., "ePlace", §5.3).
    pub fn pin_weights(&self) -> Vec<f64> {
        let Connections { body_start, body_pin, .. } = &*self.connections;
        let net_of = parallel::group_of_items(self.net_start());
        parallel::map(self.movable(), |body| {
            let pins = &body_pin[body_start[body] as usize..body_start[body + 1] as usize];
            pins.iter().fold(0.0, |sum, &p| sum + self.weight[net_of[p as usize] as usize])
        })
    }

    /// Returns how strongly the nets in WA pull.
    pub fn pull(&self) -> Pull {
        self.pull
    }
}

impl Connections {
    fn pins_of(&self, e: usize) -> Range<usize> {
        self.net_start[e] as usize..self.net_start[e + 1] as usize
    }

    fn pull(&self, weight: &[f64]) -> Pull {
        let of_pins = |e: usize| weight[e] * self.pins_of(e).len() as f64;
        let pins = f64::from(self.net_start[self.smooth]);
        let mean = (0..self.smooth).map(of_pins).sum::<f64>() / pins;
        Pull {
            most: 4.0 * weight[..self.smooth].iter().sum::<f64>(),
            per_pin: if mean > 0.0 { mean } else { 1.0 },
        }
    }
}

/// How strongly the nets pull whose weighted average is taken, [`Netlist::smooth`] of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// An upper bound of Σ |∂WA| over both coordinates: a net pulls at its outermost pins with its
    /// weight, at four in all.
    pub most: f64,
    /// Mean net weight of a pin, or 1 if all weights are 0. The placer measures gradients in this
    /// unit, so that a placement is the same for any scale of the net weights.
    pub per_pin: f64,
}

/// Returns the first net whose weight is negative or not finite.
fn bad_weight(weights: &[f64]) -> Option<usize> {
    weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0))
}

/// Returns the offset of pin `p` from the lower-left corner of its body, or its position on the die
/// if it is fixed.
fn pin_offset(design: &Design, nets: &Nets, p: usize, body: u32) -> (f64, f64) {
    if body == FIXED_PIN {
        return design.pin_position(nets, p);
    }
    let node = nets.pin_node[p] as usize;
    let (dx, dy) = design.placement.orientation[node].turn((nets.pin_dx[p], nets.pin_dy[p]));
    let (w, h) = design.size(node);
    (w / 2.0 + dx, h / 2.0 + dy)
}

/// `0..count` in blocks of nets for one task each.
pub(crate) fn blocks(count: usize) -> impl Iterator<Item = Range<usize>> {
    const BLOCK: usize = 8192;
    (0..count.div_ceil(BLOCK)).map(move |k| k * BLOCK..count.min((k + 1) * BLOCK))
}

/// Results of a wirelength operator for one placement, besides the gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Wirelength {
    /// Σ over all nets of weight · half-perimeter, layout units.
    pub hpwl: f64,
    /// The weighted average of nets `0..smooth`, layout units.
    pub smooth: f64,
}
