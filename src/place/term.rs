//! Terms of the objective besides wirelength and density, added by a placer's author.

use crate::real::Real;

/// A term f of the objective WA_γ + λ · density + Σ f. Its gradient is added to the wirelength's
/// gradient before the preconditioner ([`Weights`](super::Weights)). The preconditioner does not
/// know the term's curvature, so a stiff term shortens all steps.
///
/// Closures are terms. An anchor pulls the first cell towards x = 100:
///
/// ```
/// # use placefield::charge::{Charge, ChargeOptions, Rectangles};
/// # use placefield::cpu::engine::CpuEngine;
/// # use placefield::design::{Design, Nets, NodeKind, Nodes, Orientation, Placement};
/// # use placefield::engine::EngineOptions;
/// # use placefield::grid::{BinGrid, Rect};
/// # use placefield::place::{HostBackend, PlaceOptions, Placer};
/// # use placefield::wirelength::Netlist;
/// # let grid = BinGrid::new(Rect::at(0.0, 0.0, 128.0, 128.0), 32, 32)?;
/// # let at = [40.0, 60.0, 80.0];
/// # let cells = Rectangles::movable(&[8.0; 3], &[8.0; 3], &at, &at);
/// # let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default())?;
/// # let design = Design {
/// #     nodes: Nodes {
/// #         width: vec![8.0; 3],
/// #         height: vec![8.0; 3],
/// #         kind: vec![NodeKind::Movable; 3],
/// #         ..Nodes::default()
/// #     },
/// #     placement: Placement {
/// #         x: at.to_vec(),
/// #         y: at.to_vec(),
/// #         orientation: vec![Orientation::N; 3],
/// #     },
/// #     nets: Some(Nets {
/// #         net_start: vec![0, 2, 4],
/// #         weight: vec![1.0; 2],
/// #         pin_node: vec![0, 1, 1, 2],
/// #         pin_dx: vec![0.0; 4],
/// #         pin_dy: vec![0.0; 4],
/// #         ..Nets::default()
/// #     }),
/// #     ..Design::default()
/// # };
/// # let netlist = Netlist::from_design(&design, Netlist::ALL)?;
/// let engine = CpuEngine::<f64>::new(charge, &EngineOptions::default())?;
/// let mut backend = HostBackend::new(engine, &netlist)?;
/// backend.add_term(|x: &[f64], _: &[f64], [gradient_x, _]: [&mut [f64]; 2]| {
///     let (weight, far) = (0.5, x[0] - 100.0);
///     gradient_x[0] += weight * far;
///     weight * far * far / 2.0
/// });
/// let mut placer = Placer::new(&mut backend, &at, &at, &PlaceOptions::default())?;
/// while placer.step()?.is_some() {}
/// let (x, _) = placer.positions()?;
/// assert!((x[0] - 100.0).abs() < 4.0, "{x:?}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Term<T: Real>: Send {
    /// Adds ∂f/∂x and ∂f/∂y of every movable cell to `gradient`, and returns f. `x` and `y` are the
    /// lower-left corners of the cells' bodies, layout units from
    /// [`Charge::origin`](crate::charge::Charge::origin). All slices have one value per movable
    /// cell. f is in layout units times net weight, like the wirelength.
    fn add(&mut self, x: &[T], y: &[T], gradient: [&mut [T]; 2]) -> f64;
}

impl<T: Real, F: FnMut(&[T], &[T], [&mut [T]; 2]) -> f64 + Send> Term<T> for F {
    fn add(&mut self, x: &[T], y: &[T], gradient: [&mut [T]; 2]) -> f64 {
        self(x, y, gradient)
    }
}
