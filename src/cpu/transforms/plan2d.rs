//! Two dimensions.

use crate::cpu::maps::Maps;
use crate::cpu::modify::{Modify, Threshold, Unchanged};
use crate::cpu::scratch::{Parts, Scratch, ScratchLen};
use crate::real::Real;
use crate::transform::{
    LengthError, Plan2dOptions, Sample, ShapeError, Transform, check_length, check_shape,
};

/// Values of the maps that go through the passes together: small maps in
/// groups, that every pass has work for all threads.
const GROUP: usize = 1 << 20;

/// A plan for transforms of `batch` maps of `nx × ny` values, y contiguous.
pub struct Plan2d<T: Real> {
    kind: Transform,
    nx: usize,
    ny: usize,
    batch: usize,
    /// Maps that go through the passes together.
    group: usize,
    options: Plan2dOptions,
    maps: Maps<T>,
}

impl<T: Real> Plan2d<T> {
    /// Plans `kind` of `batch` maps of `nx × ny` values.
    ///
    /// # Errors
    /// When `nx`, `ny` or `batch` is zero or they are beyond any memory.
    pub fn new(
        kind: Transform,
        nx: usize,
        ny: usize,
        options: Plan2dOptions,
        batch: usize,
    ) -> Result<Self, ShapeError> {
        check_shape(&[nx, ny], batch)?;
        let group = (GROUP / (nx * ny)).clamp(1, batch);
        let options = Plan2dOptions { orientation: options.orientation.chosen(nx, ny), ..options };
        let maps = Maps::new(nx, ny, &options);
        Ok(Plan2d { kind, nx, ny, batch, group, options, maps })
    }

    /// The transform.
    pub fn kind(&self) -> Transform {
        self.kind
    }

    /// `[nx, ny]`.
    pub fn shape(&self) -> [usize; 2] {
        [self.nx, self.ny]
    }

    /// Number of maps.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// How it computes, with the orientation that was chosen.
    pub fn options(&self) -> Plan2dOptions {
        self.options
    }

    /// Working memory of a call.
    pub fn scratch_len(&self) -> ScratchLen {
        self.maps.scratch_len(self.group)
    }

    /// Working memory for the pool this is called in.
    pub fn make_scratch(&self) -> Scratch<T> {
        Scratch::new(self.scratch_len(), rayon::current_num_threads())
    }

    /// `output = kind(input)`, both `batch × nx × ny`.
    ///
    /// # Errors
    /// When a slice has another length, or `scratch` is smaller than [`Plan2d::scratch_len`].
    pub fn process<S: Sample>(
        &self,
        input: &[S],
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<(), LengthError> {
        self.modified(input, &Unchanged, output, scratch)
    }

    /// The same with every coefficient of a magnitude below `threshold` counted as zero, in the
    /// post-processing of a DCT and in the pre-processing of an inverse (Jiang, Gu and Pan, §V-A).
    ///
    /// Coefficients are in the scaling of [`Transform`]: unnormalised sums.
    ///
    /// # Errors
    /// As [`Plan2d::process`].
    pub fn process_threshold<S: Sample>(
        &self,
        input: &[S],
        threshold: T,
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<(), LengthError> {
        self.modified(input, &Threshold(threshold), output, scratch)
    }

    fn modified<S: Sample>(
        &self,
        input: &[S],
        by: &impl Modify<T>,
        output: &mut [T],
        scratch: &mut Scratch<T>,
    ) -> Result<(), LengthError> {
        let values = self.batch * self.nx * self.ny;
        check_length("input", values, input.len())?;
        check_length("output", values, output.len())?;
        let mut s = scratch.parts(self.scratch_len())?;
        self.run(input, by, output, &mut s);
        Ok(())
    }

    /// [`Plan2d::process`] of slices whose lengths are known to be right.
    pub(super) fn run<S: Sample>(
        &self,
        input: &[S],
        by: &impl Modify<T>,
        output: &mut [T],
        s: &mut Parts<'_, T>,
    ) {
        let group = self.group * self.nx * self.ny;
        for (x, out) in input.chunks(group).zip(output.chunks_mut(group)) {
            self.maps.process(self.kind, x, by, out, s.reborrow());
        }
    }
}

// A plan may be shared by threads whatever its method.
const _: () = {
    const fn shared<P: Send + Sync>() {}
    shared::<Plan2d<f32>>();
};
