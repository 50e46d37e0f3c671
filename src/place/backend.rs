//! The interface between a placer and the machine it runs on.
//!
//! The placer decides (step length, weights, when to stop) from one [`Sample`] per evaluation. All
//! data with one value per body stay behind [`Backend`]: positions, gradients and the copy of the
//! best placement. On a device an evaluation is a few launches and one small read-back; positions
//! are copied only on request.
//!
//! The point that descends is a pair of vectors, u and v, with two coordinates per body. v is the
//! point of the gradient g and the reported point; u is Nesterov's other sequence (Lu et al.,
//! "ePlace", TODAES 2015, §5). Positions are lower-left corners in layout units, counted from
//! [`Charge::origin`]. v is clamped into the die, u is not.

use crate::charge::Charge;
use crate::engine::{Choice, DensityStats, Descriptor, EngineError, MapKind};
use crate::grid::Map;
use crate::real::Real;
use crate::wirelength::Netlist;
use serde::{Deserialize, Serialize};

/// Weights of the parts of the objective WA_γ + λ · density in one evaluation.
///
/// The gradient is preconditioned by an estimate of the diagonal of its Hessian. The gradient of
/// body i is divided by max(1, β · Σ net weights of its pins + α · λ · area). In Lu et al.,
/// "ePlace", §5.3, α and β are 1; here they are 1 /
/// [`Pull::per_pin`](crate::wirelength::Pull::per_pin). If both are nearly zero, the gradient is
/// not preconditioned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Smoothing length γ of the wirelength, layout units.
    pub gamma: f64,
    /// Weight λ of the density's gradient, which is the engine's force negated.
    pub lambda: f64,
    /// β: the weight of the wirelength in the preconditioner.
    pub pin_factor: f64,
    /// α: the weight of the density in the preconditioner.
    pub area_factor: f64,
}

/// Returns Σ of the net weights over the pins of each movable cell ([`Netlist::pin_weights`]).
/// Cells that the charge has fixed get infinity, so that a step does not move them.
pub(crate) fn pin_weights<T: Real>(charge: &Charge, netlist: &Netlist) -> Vec<T> {
    let sums = netlist.pin_weights().into_iter().enumerate();
    sums.map(|(i, sum)| if charge.is_fixed(i) { T::infinity() } else { T::cast(sum) }).collect()
}

/// Numbers of one evaluation: all data that are read back from a device.
///
/// Sums are over movable cells and fillers, both coordinates. If v' or a gradient has a number that
/// is not finite, the sample has one, too. The clamp may hide such a number in u'; it then appears
/// in the next proposal at the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Sample {
    /// Weighted half-perimeter wirelength of all nets, layout units.
    #[serde(rename = "hpwl_weighted")]
    pub hpwl: f64,
    /// Weighted-average wirelength, layout units.
    pub wirelength: f64,
    /// Sum of the terms that were added ([`Term`](super::Term)), layout units.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub terms: f64,
    /// Smoothed overflow and maximum, fillers left out.
    #[serde(flatten)]
    pub density: DensityStats,
    /// Σ φ·ρ over bins.
    pub energy: f64,
    /// Σ |∂(WA + terms)| (L1 norm), before preconditioning.
    pub wirelength_norm: f64,
    /// Σ |∂density| = Σ |force| (L1 norm), before preconditioning.
    pub density_norm: f64,
    /// Σ g², preconditioned.
    pub gradient_squared: f64,
    /// Σ (v' − v)² of a proposal; zero in [`Backend::evaluate`].
    pub moved_squared: f64,
    /// Σ (g' − g)² of a proposal; zero in [`Backend::evaluate`].
    pub changed_squared: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Sample {
    /// Returns the inverse of the Lipschitz estimate, ‖v' − v‖ / ‖g' − g‖: the step that the
    /// proposal would have allowed. `None` if the gradient did not change.
    pub fn allowed_step(&self) -> Option<f64> {
        let step = (self.moved_squared / self.changed_squared).sqrt();
        (step.is_finite() && step > 0.0).then_some(step)
    }

    /// Whether all its numbers are finite.
    pub fn is_finite(&self) -> bool {
        let Sample { density, .. } = self;
        [
            self.hpwl,
            self.wirelength,
            self.terms,
            density.overflow,
            density.max,
            self.energy,
            self.wirelength_norm,
            self.density_norm,
            self.gradient_squared,
            self.moved_squared,
            self.changed_squared,
        ]
        .iter()
        .all(|v| v.is_finite())
    }
}

/// Milliseconds of the stages of the last evaluation; zero for stages that a backend does not time
/// separately. Concurrent stages share the elapsed time in proportion to their own times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct StageSplit {
    /// Wirelength and its gradient.
    pub wirelength: f64,
    /// Density map, overflow and maximum.
    pub density: f64,
    /// Transforms: φ, Ex, Ey, energy.
    pub solve: f64,
    /// Force on every body.
    pub force: f64,
    /// New positions of the bodies in a step.
    pub step: f64,
    /// Both gradients preconditioned and added, and their norms.
    pub gradient: f64,
    /// All other work: sorting the bodies, copies, launches and waiting.
    pub other: f64,
}

impl StageSplit {
    /// Adds the times of another evaluation.
    pub fn add(&mut self, other: &StageSplit) {
        self.wirelength += other.wirelength;
        self.density += other.density;
        self.solve += other.solve;
        self.force += other.force;
        self.step += other.step;
        self.gradient += other.gradient;
        self.other += other.other;
    }

    /// Returns these times, with the rest of the `passed` milliseconds as `other`; if their sum is
    /// larger, they are scaled down to it.
    pub fn within(&self, passed: f64) -> StageSplit {
        let staged = self.total() - self.other;
        let share = (passed / staged).min(1.0);
        StageSplit {
            wirelength: share * self.wirelength,
            density: share * self.density,
            solve: share * self.solve,
            force: share * self.force,
            step: share * self.step,
            gradient: share * self.gradient,
            other: (passed - staged).max(0.0),
        }
    }

    /// Returns the sum of all of them.
    pub fn total(&self) -> f64 {
        let evaluated = self.wirelength + self.density + self.solve + self.force;
        evaluated + self.step + self.gradient + self.other
    }
}

/// One of the vectors that a [`Backend`] holds, two values per body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PointVector {
    /// v: the point of the gradient, to which the accepted steps have led.
    Reference,
    /// u: Nesterov's solution, from which momentum leads to v.
    Solution,
    /// g: the preconditioned gradient at v.
    Gradient,
    /// The placement that [`Backend::keep`] last kept: the best so far.
    Best,
}

impl PointVector {
    /// Every vector.
    pub const ALL: [PointVector; 4] =
        [PointVector::Reference, PointVector::Solution, PointVector::Gradient, PointVector::Best];
}

/// The vectors of a descent and the operators on them.
///
/// Call [`Backend::start`], then [`Backend::evaluate`], then any number of [`Backend::propose`];
/// [`Backend::accept`] makes the last proposal current. These three allocate nothing that grows
/// with the bodies. A number that is not finite is no error here: it shows in the [`Sample`].
pub trait Backend {
    /// Returns the charge that is being placed. Bodies are its movable cells, then its fillers.
    fn charge(&self) -> &Charge;

    /// Returns the nets that connect the bodies, with their weights.
    fn netlist(&self) -> &Netlist;

    /// Replaces the net weights ([`Netlist::set_weights`]) without rebuilding anything. The
    /// gradient at v must then be evaluated again.
    ///
    /// # Errors
    /// Those of [`Netlist::set_weights`], after which the weights are unchanged, and if the device
    /// failed.
    fn set_net_weights(&mut self, weights: &[f64]) -> Result<(), EngineError>;

    /// Returns a description of the machine.
    fn descriptor(&self) -> Descriptor;

    /// Returns the pipeline of the solves and the reason for its choice.
    fn choice(&self) -> Choice;

    /// Sets u = v = (x, y), clamped into the die; one value per body, layout units.
    ///
    /// # Errors
    /// If a slice has another length, or the device failed.
    fn start(&mut self, x: &[f64], y: &[f64]) -> Result<(), EngineError>;

    /// Computes g, the preconditioned gradient at v.
    ///
    /// # Errors
    /// When the engine or the device failed.
    fn evaluate(&mut self, weights: &Weights) -> Result<Sample, EngineError>;

    /// Computes a proposal from v, u and g, and does not change them:
    ///
    /// ```text
    /// u' = v − step · g     v' = clamp(u' + momentum · (u' − u))     g' = gradient at v'
    /// ```
    ///
    /// # Errors
    /// If [`Backend::evaluate`] did not come first, or the device failed.
    fn propose(
        &mut self,
        step: f64,
        momentum: f64,
        weights: &Weights,
    ) -> Result<Sample, EngineError>;

    /// Makes the last proposal current: u, v, g = u', v', g', by a swap without a copy.
    ///
    /// # Errors
    /// When there is no proposal.
    fn accept(&mut self) -> Result<(), EngineError>;

    /// Keeps a copy of v, which replaces the last kept one.
    ///
    /// # Errors
    /// When the device failed.
    fn keep(&mut self) -> Result<(), EngineError>;

    /// Copies one of the vectors to the host, one value per body and coordinate.
    ///
    /// # Errors
    /// If a slice has another length, there is no such vector yet, or the device failed.
    fn read(
        &mut self,
        vector: PointVector,
        x: &mut [f64],
        y: &mut [f64],
    ) -> Result<(), EngineError>;

    /// Sets one of the vectors to the values of [`Backend::read`], bit for bit. Once all vectors
    /// are set, the descent continues exactly as after the read.
    ///
    /// # Errors
    /// If a slice has another length, or the device failed.
    fn write(&mut self, vector: PointVector, x: &[f64], y: &[f64]) -> Result<(), EngineError>;

    /// Copies a map of the last evaluation, `nx × ny` for each fence region, y contiguous, to the
    /// host.
    ///
    /// # Errors
    /// If the map has other bins, or there was no evaluation.
    fn read_map(&mut self, kind: MapKind, out: &mut Map<f64>) -> Result<(), EngineError>;

    /// Returns overflow and maximum at one of the vectors with every cell at its exact size, not
    /// smoothed. Maps of the last evaluation are lost.
    ///
    /// # Errors
    /// When there is no such vector yet, or the engine or the device failed.
    fn exact_density(&mut self, vector: PointVector) -> Result<DensityStats, EngineError>;

    /// Returns the stage times of the last evaluation. A backend may time only some evaluations and
    /// return the last of these times.
    fn times(&self) -> StageSplit;
}

#[cfg(test)]
mod tests {
    use super::StageSplit;

    #[test]
    fn stages_are_never_longer_than_the_whole() {
        let staged = StageSplit { wirelength: 1.0, solve: 2.0, step: 1.0, ..StageSplit::default() };
        let longer = staged.within(5.0);
        assert_eq!((longer.solve, longer.other, longer.total()), (2.0, 1.0, 5.0));
        let shorter = staged.within(2.0);
        assert_eq!((shorter.solve, shorter.other, shorter.total()), (1.0, 0.0, 2.0));
    }
}
