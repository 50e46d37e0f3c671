//! Measures how long work takes on the device, with the device's own events.

use super::error::CudaError;
use super::gpu::Gpu;
use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaEvent, DriverError};
use serde::{Deserialize, Serialize};

/// Points of a stream's or a [`Graph`](super::Graph)'s work, whose times are known once it has run.
pub struct Marks {
    gpu: Gpu,
    events: Vec<CudaEvent>,
}

impl Marks {
    /// Makes room for `count` marks on `gpu`'s stream.
    ///
    /// # Errors
    /// When the driver cannot create events.
    pub fn new(gpu: &Gpu, count: usize) -> Result<Self, CudaError> {
        let events = (0..count).map(|_| gpu.event()).collect::<Result<_, _>>()?;
        Ok(Marks { gpu: gpu.clone(), events })
    }

    /// Sets mark `k` after the work enqueued so far. During a capture, the mark is set at that
    /// point of the graph, and every replay sets it anew.
    ///
    /// # Errors
    /// When the driver refuses.
    ///
    /// # Panics
    /// If there are not more than `k` marks.
    pub fn set(&self, k: usize) -> Result<(), CudaError> {
        let stream = self.gpu.stream_guard()?;
        let flag = if stream.is_capturing() {
            sys::CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL
        } else {
            sys::CUevent_record_flags::CU_EVENT_RECORD_DEFAULT
        };
        let event = self.events[k].cu_event();
        // SAFETY: event and stream live and belong to the context just bound;
        // the flag for graphs is given during a capture only.
        unsafe { sys::cuEventRecordWithFlags(event, stream.raw(), flag as u32) }.result()?;
        Ok(())
    }

    /// Returns the milliseconds from mark `k` to mark `l`, whose work must have been waited for;
    /// negative if `l` was passed first.
    ///
    /// # Errors
    /// If a mark has not been set or has not been passed yet.
    ///
    /// # Panics
    /// If there are not more than `k` or `l` marks.
    pub fn ms_between(&self, k: usize, l: usize) -> Result<f64, CudaError> {
        // Every driver has this version of the call. The crate's own wrapper uses a newer one,
        // which drivers before 12.8 lack, and panics there.
        type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
        let (mut ms, [start, stop]) = (0f32, [k, l].map(|mark| self.events[mark].cu_event()));
        // SAFETY: the library is open, the symbol has this type, the call writes one number, and
        // both events live.
        unsafe {
            let Ok(elapsed) = sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0") else {
                return Err(DriverError(CUresult::CUDA_ERROR_NOT_SUPPORTED).into());
            };
            elapsed(&mut ms, start, stop).result()?;
        }
        Ok(f64::from(ms))
    }
}

/// Median and extremes of repeated measurements, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle value.
    pub median: f64,
    /// The fastest.
    pub min: f64,
    /// The slowest.
    pub max: f64,
    /// The number of measurements.
    pub samples: usize,
}

impl Spread {
    /// Returns the spread of the values; zeros if there are no values.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let at = |k: usize| values.get(k).copied().unwrap_or(0.0);
        let n = values.len();
        Spread {
            median: (at(n / 2) + at(n.saturating_sub(1) / 2)) / 2.0,
            min: at(0),
            max: at(n.saturating_sub(1)),
            samples: n,
        }
    }
}

/// Times `body` on the device. After 3 warm-up runs, takes `samples` samples, each the mean of
/// `per_sample` runs in a row. In microseconds per run.
///
/// # Errors
/// An error of `body`, or a failure of the device.
pub fn measure(
    gpu: &Gpu,
    samples: usize,
    per_sample: usize,
    mut body: impl FnMut() -> Result<(), CudaError>,
) -> Result<Spread, CudaError> {
    let marks = Marks::new(gpu, 2)?;
    let per_sample = per_sample.max(1);
    for _ in 0..3 {
        body()?;
    }
    gpu.synchronize()?;
    let mut times = Vec::with_capacity(samples);
    for _ in 0..samples {
        marks.set(0)?;
        for _ in 0..per_sample {
            body()?;
        }
        marks.set(1)?;
        gpu.synchronize()?;
        times.push(marks.ms_between(0, 1)? * 1e3 / per_sample as f64);
    }
    Ok(Spread::of(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_median_and_extremes() {
        let s = Spread::of(vec![5.0, 1.0, 3.0]);
        assert_eq!((s.median, s.min, s.max, s.samples), (3.0, 1.0, 5.0, 3));
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 9.0]).median, 3.0);
        assert_eq!(Spread::of(Vec::new()).median, 0.0);
    }
}
