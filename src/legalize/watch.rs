//! Progress of a legalization, and requests to stop it.

use super::Progress;
use std::ops::ControlFlow;

/// Cells between two calls.
const CELLS_PER_CALL: usize = 256;

/// Calls a function from time to time, until it breaks.
pub(super) struct Watch<'a> {
    call: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>,
    progress: Progress,
    since: usize,
    stopped: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(cells: usize, call: &'a mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Self {
        Watch {
            call,
            progress: Progress { placed: 0, cells },
            since: CELLS_PER_CALL,
            stopped: false,
        }
    }

    /// Counts cells that are placed or looked at again. Returns whether the work is to be stopped.
    pub(super) fn step(&mut self, cells: usize) -> bool {
        self.since += cells;
        self.progress.placed = (self.progress.placed + cells).min(self.progress.cells);
        if self.since >= CELLS_PER_CALL && !self.stopped {
            self.since = 0;
            self.stopped = (self.call)(&self.progress).is_break();
        }
        self.stopped
    }

    /// Returns whether the work is to be stopped.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }
}
