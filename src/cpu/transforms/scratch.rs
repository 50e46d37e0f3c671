//! Working memory of a plan, made with the plan and used by one run at a time.

use super::tile::Run;
use crate::cpu::simd::Row;
use crate::memory::filled;
use crate::parallel::PerThread;
use crate::real::Real;
use num_complex::Complex;

/// Working memory of each thread.
pub(crate) type Threads<T> = PerThread<Scratch<T>>;

/// Working memory of a thread. It carries nothing from one run to the next.
pub(crate) struct Scratch<T: Real> {
    pub(super) tiles: [Vec<Row<T>>; 2],
    /// The FFTs' own.
    pub(super) fft: Vec<Row<T>>,
    pub(super) runs: Vec<Run>,
    /// Of lines that are transformed by themselves.
    pub(super) line: Vec<Complex<T>>,
}

/// Sizes of a thread's working memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScratchLen {
    /// Rows of each tile.
    pub(super) rows: usize,
    pub(super) fft: usize,
    pub(super) line: usize,
}

impl ScratchLen {
    /// Returns memory that suffices for either.
    pub(super) fn max(self, other: ScratchLen) -> ScratchLen {
        ScratchLen {
            rows: self.rows.max(other.rows),
            fft: self.fft.max(other.fft),
            line: self.line.max(other.line),
        }
    }

    /// Returns the working memory of `threads` threads. One is the caller, which then does all work;
    /// in a pool of more threads than there are here they share it, and wait.
    pub(crate) fn threads<T: Real>(self, threads: usize) -> Threads<T> {
        PerThread::new(threads, || Scratch {
            tiles: [(); 2].map(|()| filled(self.rows, T::ROW)),
            fft: filled(self.fft, T::ROW),
            runs: Vec::with_capacity(8 * T::LANES),
            line: filled(self.line, Complex::default()),
        })
    }

    /// Returns the bytes of the working memory of so many threads.
    pub(super) fn bytes<T: Real>(self, threads: usize) -> u64 {
        let rows = (2 * self.rows + self.fft) * size_of::<Row<T>>();
        let each = rows + self.line * size_of::<Complex<T>>();
        (each as u64).saturating_mul(threads as u64)
    }
}
