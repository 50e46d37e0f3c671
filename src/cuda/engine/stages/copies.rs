//! Copies between the stages and arrays of the host and of the caller. Several ranks receive
//! positions from the first rank and send forces to it.

use super::{COLLECT, Command, FORCE, PositionsIn, RankStages, Stages};
use crate::cuda::bodies::{DensityReport, Outputs, RawStatistics};
use crate::cuda::device::{CudaError, CudaReal, DeviceSlice, DeviceSliceMut, DeviceVec};
use crate::engine::{Done, EngineError, GradientOptions, Layout, MapKind, Progress};

impl<T: CudaReal> Stages<T> {
    /// Copies the first rank's positions to the others.
    fn copy_positions(&mut self) -> Result<(), CudaError> {
        self.enqueue(&[Command::Barrier, Command::CopyPositions, Command::Barrier])
    }

    /// Enqueues the density at corners in the caller's array. Several ranks have copied them.
    pub(in super::super) fn density_in(
        &mut self,
        layout: Layout,
        corners: DeviceSlice<'_, T>,
    ) -> Result<(), CudaError> {
        if self.is_shared() {
            return self.enqueue(&Self::density(false));
        }
        let RankStages { bodies, density, .. } = &mut self.ranks[0];
        density.run(bodies, false, (layout, corners), self.centered.of_mut(0))?;
        self.positions_in = PositionsIn::Callers;
        Ok(())
    }

    /// Copies corners from the caller's array, on all ranks.
    pub(in super::super) fn take_positions(
        &mut self,
        layout: Layout,
        positions: DeviceSlice<'_, T>,
    ) -> Result<(), CudaError> {
        let RankStages { gpu, bodies, corners, .. } = &mut self.ranks[0];
        match layout {
            Layout::Pairs => gpu.copy(positions, corners)?,
            Layout::Halves => {
                let (n, all) = (bodies.len(), positions.len());
                bodies.interleave(None, (positions.part(0..n), positions.part(n..all)), corners)?;
            }
        }
        self.copy_positions()
    }

    /// Writes the requested outputs, gradient and energy, to the caller's arrays.
    pub(in super::super) fn outputs(
        &mut self,
        options: &GradientOptions,
        factor: Option<DeviceSlice<'_, T>>,
        gradient: Option<DeviceSliceMut<'_, T>>,
        energy: Option<DeviceSliceMut<'_, T>>,
    ) -> Result<(), CudaError> {
        if gradient.is_some() && self.is_shared() {
            self.enqueue(&FORCE)?;
            self.enqueue(&COLLECT)?;
        }
        let RankStages { bodies, force, corners, forces, energy: found, .. } = &mut self.ranks[0];
        let outputs = Outputs { gradient, energy: energy.map(|energy| (&*found, energy)) };
        let Some(several) = &self.several else {
            let field = (self.fields[1].of(0), self.fields[2].of(0));
            let corners = (self.positions_in == PositionsIn::Slots).then_some(&*corners);
            return force.run_outputs(bodies, corners, field, options, factor, outputs);
        };
        force.return_forces(bodies, &several.identity, forces, options, factor, outputs)
    }

    /// Whether positions and forces are in slot order instead of the caller's order.
    pub(in super::super) fn in_slots(&self) -> bool {
        self.positions_in == PositionsIn::Slots
    }

    /// Converts own corners to slot order, or from there to the caller's; for one rank.
    pub(in super::super) fn use_slots(&mut self, in_slots: bool) -> Result<(), CudaError> {
        let RankStages { gpu, bodies, corners, .. } = &mut self.ranks[0];
        let from = if in_slots { bodies.id_of() } else { bodies.slot_of()? };
        bodies.rearrange_pairs(from, corners, &mut self.spare)?;
        // The address of the corners must not change: graphs hold it.
        gpu.copy(&self.spare, corners)?;
        self.positions_in = if in_slots { PositionsIn::Slots } else { PositionsIn::Own };
        Ok(())
    }

    /// Copies corners from x and y of the host, in the caller's order, to all ranks.
    pub(in super::super) fn receive(&mut self, x: &[T], y: &[T]) -> Result<(), CudaError> {
        let in_slots = self.in_slots();
        let RankStages { gpu, bodies, corners, .. } = &mut self.ranks[0];
        let (mut to_x, mut to_y) = self.spare.split_at_mut(bodies.len());
        gpu.write(x, to_x.reborrow())?;
        gpu.write(y, to_y.reborrow())?;
        let from = in_slots.then(|| bodies.id_of());
        bodies.interleave(from, (to_x.as_view(), to_y.as_view()), corners)?;
        self.copy_positions()
    }

    /// Like [`Stages::receive`], from pairs.
    pub(in super::super) fn receive_pairs(&mut self, pairs: &[T]) -> Result<(), CudaError> {
        let in_slots = self.in_slots();
        let RankStages { gpu, bodies, corners, .. } = &mut self.ranks[0];
        if in_slots {
            gpu.write(pairs, &mut self.spare)?;
            return bodies.rearrange_pairs(bodies.id_of(), &self.spare, corners);
        }
        gpu.write(pairs, corners)?;
        self.copy_positions()
    }

    /// Copies corners from x and y on the first device, in the current order, to all ranks.
    pub(in super::super) fn interleave(
        &mut self,
        x: &DeviceVec<T>,
        y: &DeviceVec<T>,
    ) -> Result<(), CudaError> {
        let RankStages { bodies, corners, .. } = &mut self.ranks[0];
        bodies.interleave(None, (x, y), corners)?;
        self.copy_positions()
    }

    /// Copies forces to x and y of the host, in the caller's order; waits for them.
    pub(in super::super) fn send(&mut self, x: &mut [T], y: &mut [T]) -> Result<(), CudaError> {
        self.enqueue(&COLLECT)?;
        self.peers.wait_for_each_other()?;
        let in_slots = self.in_slots();
        let RankStages { gpu, bodies, forces, .. } = &self.ranks[0];
        let (mut from_x, mut from_y) = self.spare.split_at_mut(bodies.len());
        let from = if in_slots { Some(bodies.slot_of()?) } else { None };
        bodies.deinterleave(from, forces, (from_x.reborrow(), from_y.reborrow()))?;
        gpu.read(from_x.as_view(), x)?;
        gpu.read(from_y.as_view(), y)
    }

    /// Writes the gradient to an array of the host, or adds it there, as in `options`; waits for
    /// it.
    pub(in super::super) fn send_gradient(
        &mut self,
        options: &GradientOptions,
        gradient: &mut [T],
    ) -> Result<(), CudaError> {
        let gpu = self.peers.gpu(0).clone();
        if options.accumulate {
            gpu.write(gradient, &mut self.spare)?;
        }
        // The kernel that writes it borrows the spare array.
        let length = self.spare.len();
        let address = *self.spare.address();
        // SAFETY: `spare` lives and has this many values, and nothing else uses it meanwhile.
        let to = unsafe { DeviceSliceMut::from_raw(&gpu, address, length) };
        self.outputs(options, None, Some(to), None)?;
        self.peers.wait_for_each_other()?;
        gpu.read(&self.spare, gradient)
    }

    /// Returns Σ φ·ρ of the last solve, of all regions; waits for it.
    pub(in super::super) fn read_energy(&mut self) -> Result<f64, CudaError> {
        self.peers.wait_for_each_other()?;
        Ok(self.energy.receive(&self.ranks[0].energy)?[0])
    }

    /// Returns the energies of all regions, by index.
    pub(in super::super) fn read_energies(&mut self) -> Result<&[f64], CudaError> {
        let regions = self.regions();
        let found = self.energy.receive(&self.ranks[0].energy)?;
        Ok(&found[found.len() - regions..])
    }

    /// Returns overflow and maximum of the last density, and the bodies outside their halos, of all
    /// ranks; waits for it.
    pub(in super::super) fn report(&mut self) -> Result<DensityReport, CudaError> {
        self.peers.wait_for_each_other()?;
        let (mut all, in_slots) = (RawStatistics::default(), self.in_slots());
        for RankStages { bodies, density, corners, .. } in &mut self.ranks {
            let slots = in_slots.then_some(&*corners);
            all = all.and(density.raw(bodies, slots)?[0]);
        }
        Ok(self.report_of(all))
    }

    /// Enqueues the density at exact sizes and returns its report; waits for it. The devices keep
    /// the statistics of the previous density.
    pub(in super::super) fn report_exact(&mut self) -> Result<DensityReport, CudaError> {
        let before = self.ranks.iter().map(|rank| rank.density.statistics().try_clone());
        let before = before.collect::<Result<Vec<_>, _>>()?;
        let exact = self.enqueue_with_barrier(&Self::density(true)).and_then(|()| self.report());
        for (rank, before) in self.ranks.iter_mut().zip(&before) {
            rank.density.restore_statistics(before)?;
        }
        exact
    }

    /// Returns the report of all ranks' statistics.
    pub(in super::super) fn report_of(&self, raw: RawStatistics) -> DensityReport {
        self.ranks[0].density.report_of(raw)
    }

    /// Returns the report of every region in the last density; waits for it.
    pub(in super::super) fn report_regions(&mut self) -> Result<Vec<DensityReport>, CudaError> {
        let in_slots = self.in_slots();
        let RankStages { bodies, density, corners, .. } = &mut self.ranks[0];
        let slots = in_slots.then_some(&*corners);
        density.report_regions(bodies, slots)
    }

    /// Returns a map, if `done` includes it. The map of the density is ρ less the background.
    pub(in super::super) fn map(
        &self,
        kind: MapKind,
        done: Done,
    ) -> Result<&DeviceVec<T>, EngineError> {
        let [potential, field_x, field_y] = &self.fields;
        let (map, needs) = match kind {
            MapKind::Density => (&self.centered, Done::Density),
            MapKind::Potential => (potential, Done::Solve),
            MapKind::FieldX => (field_x, Done::Solve),
            MapKind::FieldY => (field_y, Done::Solve),
        };
        done.require(kind.name(), needs)?;
        Ok(map.of(0))
    }
}
