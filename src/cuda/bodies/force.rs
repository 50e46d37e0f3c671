//! Force on every body on a device: `kernels/bodies/force.cu`.
//!
//! F = ratio · Σ over the body's bins of overlap area · (Ex, Ey), the spreading direction (ePlace,
//! Lu et al., TODAES 2015, eq. 20), in layout area × bin widths. Each body's sum runs in one fixed
//! order, so that every run gives the same bits.

use super::bodies::Bodies;
use super::order::PositionLayout;
use super::permute::Permutation;
use crate::cuda::device::bindings::bodies::{
    AllForces, ForcePairs, ForcePairsByRegion, ForceShares, ForceSlots, Weights,
};
use crate::cuda::device::constants::{MOST_WEIGHTS, RETURN_EACH};
use crate::cuda::device::{
    CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec, Gpu, Kernel, blocks_for,
    check_length,
};
use crate::engine::{GradientOptions, Layout};
use cudarc::driver::LaunchConfig;

/// Up to this many bins, the launch of the kernel that gathers forces overlaps with the end of the
/// previous kernel.
const OVERLAP: usize = 1 << 18;

/// Outputs of [`Force::run_outputs`].
pub(crate) struct Outputs<'a, T: CudaReal> {
    /// Two values per body.
    pub(crate) gradient: Option<DeviceSliceMut<'a, T>>,
    /// The first value of the first array is written to the second, which has one value.
    pub(crate) energy: Option<(&'a DeviceVec<f64>, DeviceSliceMut<'a, T>)>,
}

/// Forces on bodies, a pair each.
pub(crate) struct BodyForces<'a, T: CudaReal> {
    pub(crate) values: &'a DeviceVec<T>,
    /// The index of each body's force, unless the forces are in the caller's order.
    pub(crate) slot_of: Option<DeviceSlice<'a, u32>>,
}

/// The force stage for the bodies that it was made for.
pub struct Force<T: CudaReal> {
    gpu: Gpu,
    /// [`Bodies`]' unique id.
    bodies: u64,
    slots: Kernel<ForceSlots<T>>,
    /// Writes forces in the caller's order, by [`Layout`].
    to_caller: [Kernel<ForcePairs<T>>; 2],
    /// Sends forces to all ranks, for bodies that they share.
    shares: Option<Kernel<ForceShares<T>>>,
    /// Like `to_caller`, with a weight for each region, if there are several.
    by_region: Option<[Kernel<ForcePairsByRegion<T>>; 2]>,
    /// Forces in slot order, before they are copied to the caller's order.
    in_slots: DeviceVec<T>,
}

impl<T: CudaReal> Force<T> {
    /// Loads the kernels and allocates memory for forces in slot order.
    ///
    /// # Errors
    /// If kernels cannot be compiled or memory runs out.
    pub fn new(bodies: &Bodies<T>) -> Result<Self, CudaError> {
        let gpu = bodies.gpu.clone();
        let module = bodies.kernels("force", bodies.several)?;
        let slots = Kernel::new(&module)?;
        let several_regions = bodies.charge().regions() > 1;
        let by_region = ["force_halves_by_region", "force_pairs_by_region"];
        let [halves, pairs] = Kernel::each(&module, ["force_halves", "force_pairs"])?;
        Ok(Force {
            by_region: several_regions.then(|| Kernel::each(&module, by_region)).transpose()?,
            slots: if bodies.bins() <= OVERLAP { slots.overlapping() } else { slots },
            to_caller: [halves.overlapping(), pairs.overlapping()],
            shares: bodies.several.then(|| Kernel::new(&module)).transpose()?,
            in_slots: gpu.zeros(if bodies.several { 0 } else { 2 * bodies.len() })?,
            bodies: bodies.id,
            gpu,
        })
    }

    /// Enqueues the force on every body, a pair each in the caller's order. The positions are those
    /// of the last [`Density::run`](super::Density::run) with positions in the caller's order. The
    /// maps Ex and Ey are `[nx][ny]` for each region, one region after the other, in bin widths.
    ///
    /// # Errors
    /// If the bodies were never ordered or are not those it was made for, several devices share
    /// them, an array has the wrong length or is another [`Gpu`]'s, or a launch fails.
    pub fn run(
        &mut self,
        bodies: &Bodies<T>,
        field: (&DeviceVec<T>, &DeviceVec<T>),
        forces: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let as_it_is = GradientOptions::default().layout(Layout::Pairs).weight(1.0);
        let outputs = Outputs { gradient: Some(forces.into()), energy: None };
        self.run_outputs(bodies, None, field, &as_it_is, None, outputs)
    }

    /// Like [`Force::run`], and leaves the forces in slot order ([`Force::staged`]).
    pub(crate) fn run_staged(
        &mut self,
        bodies: &Bodies<T>,
        field: (&DeviceVec<T>, &DeviceVec<T>),
    ) -> Result<(), CudaError> {
        self.check_bodies(bodies, field)?;
        if bodies.is_empty() {
            return Ok(());
        }
        self.gather(bodies, &bodies.staged, field, &self.in_slots)
    }

    /// Returns the forces of the last [`Force::run_staged`].
    pub(crate) fn staged<'a>(
        &'a self,
        bodies: &'a Bodies<T>,
    ) -> Result<BodyForces<'a, T>, CudaError> {
        bodies.check_own("forces", self.bodies)?;
        Ok(BodyForces { values: &self.in_slots, slot_of: Some(bodies.slot_of()?.indices()) })
    }

    /// Like [`Force::run`], at lower-left corners in slot order if they are given. Forces are
    /// multiplied by the weight of `options`, and by the number at `factor` on the device if there
    /// is one. They are written to an array with the layout of `options`, or added to its values.
    /// Gradient or energy that is not among `outputs` is left out.
    pub(crate) fn run_outputs(
        &mut self,
        bodies: &Bodies<T>,
        corners: Option<&DeviceVec<T>>,
        field: (&DeviceVec<T>, &DeviceVec<T>),
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        outputs: Outputs<'_, T>,
    ) -> Result<(), CudaError> {
        let corners = corners.unwrap_or(&bodies.staged);
        bodies.check_corners(PositionLayout::Slots, corners)?;
        // Checked before anything is enqueued.
        if outputs.gradient.is_some() {
            self.check_bodies(bodies, field)?;
        }
        self.check_outputs(bodies, options, factor, &outputs)?;
        let forces = outputs.gradient.is_some() && !bodies.is_empty();
        if !forces && outputs.energy.is_none() {
            return Ok(());
        }
        let slot_of = bodies.slot_of()?.indices();
        if forces {
            self.gather(bodies, corners, field, &self.in_slots)?;
        }
        self.bring_back(bodies, (slot_of, &self.in_slots), options, factor, outputs)
    }

    /// Like [`Force::run_outputs`], for existing forces, a pair for each body. Body k has index
    /// `from[k]` among them. Only the requested gradient and energy are written.
    pub(crate) fn return_forces(
        &self,
        bodies: &Bodies<T>,
        from: &Permutation,
        forces: &DeviceVec<T>,
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        outputs: Outputs<'_, T>,
    ) -> Result<(), CudaError> {
        bodies.check_own("a permutation", from.bodies)?;
        check_length("forces", forces.len(), 2 * bodies.len())?;
        self.check_outputs(bodies, options, factor, &outputs)?;
        self.bring_back(bodies, (from.from.as_view(), forces), options, factor, outputs)
    }

    fn check_outputs(
        &self,
        bodies: &Bodies<T>,
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        Outputs { gradient, energy }: &Outputs<'_, T>,
    ) -> Result<(), CudaError> {
        if let Some(gradient) = gradient {
            bodies.check_pairs("forces", options.layout, gradient.as_view())?;
        }
        if let Some(factor) = factor {
            self.gpu.check("factor of the gradient", factor, 1)?;
        }
        if let Some((_, energy)) = energy {
            self.gpu.check("energy", energy.as_view(), 1)?;
        }
        Ok(())
    }

    /// Launches the kernel that writes the outputs from forces in slot order. All has been checked.
    fn bring_back(
        &self,
        bodies: &Bodies<T>,
        (slot_of, in_slots): (DeviceSlice<'_, u32>, &DeviceVec<T>),
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        Outputs { mut gradient, energy }: Outputs<'_, T>,
    ) -> Result<(), CudaError> {
        let mut forces = gradient.is_some() && !bodies.is_empty();
        if !forces && energy.is_none() {
            return Ok(());
        }
        let add = i32::from(options.accumulate);
        let (setup, slot_of) = (bodies.setup, (&slot_of).into());
        let (in_slots, factor) = (in_slots.into(), factor.as_ref().into());
        let config = |bodies: usize| blocks_for(bodies.div_ceil(RETURN_EACH));
        if let (Some(kernels), [_, ..], Some(to), true) =
            (&self.by_region, options.region_weights, &gradient, forces)
        {
            let kernel = &kernels[options.layout as usize];
            let regions = bodies.region_tables();
            for (k, of_regions) in options.region_weights.chunks(MOST_WEIGHTS).enumerate() {
                let (first, count) = ((k * MOST_WEIGHTS) as u32, of_regions.len() as u32);
                let mut weights = Weights { first, count, of: [T::cast(0.0); MOST_WEIGHTS] };
                for (to, of) in weights.of.iter_mut().zip(of_regions) {
                    *to = T::cast(options.weight * of);
                }
                let back = to.into();
                let forces = in_slots;
                let arguments = ForcePairsByRegion {
                    setup,
                    slot_of,
                    forces,
                    back,
                    factor,
                    add,
                    regions,
                    weights,
                };
                // SAFETY: the kernels may read all data that is there when they start. Arrays hold
                // one value or two per body, the factor is one value, and the tables are those of
                // the bodies' regions.
                unsafe { kernel.launch_as(&self.gpu, config(bodies.len()), &arguments) }?;
            }
            if energy.is_none() {
                return Ok(());
            }
            (gradient, forces) = (None, false); // the energy is left
        }
        let kernel = &self.to_caller[options.layout as usize];
        let arguments = ForcePairs {
            setup,
            slot_of,
            forces: in_slots,
            back: gradient.as_ref().into(),
            weight: T::cast(options.first_weight()),
            factor,
            add,
            energies: energy.as_ref().map(|(found, _)| *found).into(),
            count: 1, // the first energy is that of all regions
            energy: energy.as_ref().map(|(_, energy)| energy).into(),
        };
        let config = config(if forces { bodies.len() } else { 1 });
        // SAFETY: arrays hold one value or two per body, the factor is one value, the energy one,
        // and the array that it is copied from at least one. Before it waits, the kernel reads
        // slots, the factor and the gradient, which the previous kernel does not write.
        unsafe { kernel.launch_as(&self.gpu, config, &arguments) }
    }

    /// Like [`Force::run`] for this rank's bodies, if there are several ranks. The force on each
    /// body goes to the rank that has the body in its share.
    ///
    /// # Safety
    /// Each of `all` holds a pair for every body, in memory that this device reaches, one for each
    /// rank of its shares. Nothing uses the values written there before the ranks' next barrier.
    pub(crate) unsafe fn run_shares(
        &mut self,
        bodies: &Bodies<T>,
        (ex, ey): (&DeviceVec<T>, &DeviceVec<T>),
        all: AllForces<T>,
    ) -> Result<(), CudaError> {
        self.check_bodies(bodies, (ex, ey))?;
        let Some(kernel) = &self.shares else {
            return Err(CudaError::OtherBodies("forces of several ranks"));
        };
        let arguments = ForceShares {
            setup: bodies.setup,
            chunks: (&bodies.chunks).into(),
            large: (&bodies.large).into(),
            records: (&bodies.records).into(),
            corners: (&bodies.staged).into(),
            ex: ex.into(),
            ey: ey.into(),
            ids: (&bodies.ids).into(),
            all,
            regions: bodies.region_tables(),
        };
        // SAFETY: arrays are as in `gather`; there are two ids for each body; the rest is the
        // caller's promise.
        unsafe { kernel.launch_as(&self.gpu, Self::gather_config(bodies), &arguments) }
    }

    /// Like [`Force::run`], for lower-left corners in slot order; forces are in slot order, too.
    ///
    /// # Errors
    /// Those of [`Force::run`].
    pub fn run_slots(
        &self,
        bodies: &Bodies<T>,
        corners: &DeviceVec<T>,
        field: (&DeviceVec<T>, &DeviceVec<T>),
        forces: &mut DeviceVec<T>,
    ) -> Result<(), CudaError> {
        bodies.check_corners(PositionLayout::Slots, corners)?;
        self.check_bodies(bodies, field)?;
        check_length("forces", forces.len(), 2 * bodies.len())?;
        self.gather(bodies, corners, field, forces)
    }

    /// Launches the gathering kernel; lengths have been checked.
    fn gather(
        &self,
        bodies: &Bodies<T>,
        corners: &DeviceVec<T>,
        (ex, ey): (&DeviceVec<T>, &DeviceVec<T>),
        forces: &DeviceVec<T>,
    ) -> Result<(), CudaError> {
        // With several ranks there is no memory for forces in slot order.
        check_length("forces in slot order", forces.len(), 2 * bodies.len())?;
        let arguments = ForceSlots {
            setup: bodies.setup,
            chunks: (&bodies.chunks).into(),
            large: (&bodies.large).into(),
            records: (&bodies.records).into(),
            corners: corners.into(),
            ex: ex.into(),
            ey: ey.into(),
            forces: forces.into(),
            regions: bodies.region_tables(),
        };
        // SAFETY: chunks and slots come from an order of these bodies. Corners and forces hold a
        // pair per body, and the maps one value per bin of every region. The kernel waits before
        // its first access.
        unsafe { self.slots.launch_as(&self.gpu, Self::gather_config(bodies), &arguments) }
    }

    /// Returns a launch with a pair for each bin of the patch.
    fn gather_config(bodies: &Bodies<T>) -> LaunchConfig {
        bodies.config(bodies.setup.large, 2 * size_of::<T>() / 4)
    }

    fn check_bodies(
        &self,
        bodies: &Bodies<T>,
        (ex, ey): (&DeviceVec<T>, &DeviceVec<T>),
    ) -> Result<(), CudaError> {
        bodies.check_own("a force", self.bodies)?;
        bodies.check_ordered()?;
        check_length("field along x", ex.len(), bodies.bins())?;
        check_length("field along y", ey.len(), bodies.bins())
    }
}
