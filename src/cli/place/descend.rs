//! The iterations of a placement, and what is done beside them: progress, frames,
//! checkpoints, the user's wish to stop.

use super::checkpoint::{self, Subject};
use super::frames::Frames;
use super::history::Live;
use super::progress::Progress;
use crate::Real;
use crate::cli::failure::Failure;
use crate::cli::stop;
use crate::cpu::engine::milliseconds;
use crate::place::{Outcome, PlaceOptions, Placer, Record};
use std::path::Path;
use std::time::Instant;

/// What a descent is watched by.
pub(super) struct Beside<'a> {
    /// When the time is spent.
    pub(super) deadline: Option<Instant>,
    pub(super) checkpoints: Option<Checkpoints<'a>>,
    pub(super) frames: Option<&'a mut Frames>,
    pub(super) history: Option<&'a mut Live>,
}

/// Where checkpoints go, and when.
pub(super) struct Checkpoints<'a> {
    pub(super) path: &'a Path,
    pub(super) every: usize,
    pub(super) subject: &'a Subject,
}

/// Every iteration's record, and how drawing its frames and writing its checkpoints went: one that
/// cannot be written must not cost the placement.
pub(super) struct Descent {
    pub(super) records: Vec<Record>,
    pub(super) drawn: Result<(), Failure>,
    pub(super) saved: Result<(), Failure>,
    /// Milliseconds.
    pub(super) frames: f64,
    pub(super) checkpoints: f64,
}

/// Steps until the placement ends or the user or the clock ends it; `records` are those of the
/// iterations so far.
pub(super) fn descend<T: Real>(
    placer: &mut Placer<'_>,
    options: &PlaceOptions,
    records: Vec<Record>,
    beside: Beside<'_>,
) -> Result<Descent, Failure> {
    let Beside { deadline, checkpoints, mut frames, mut history } = beside;
    let mut progress = Progress::new(options);
    if let Some(history) = &mut history {
        history.begin(&records);
    }
    let mut descent =
        Descent { records, drawn: Ok(()), saved: Ok(()), frames: 0.0, checkpoints: 0.0 };
    // Where a checkpoint was gone on from, nothing has been computed yet.
    let resumed_at = Some(placer.last().iteration).filter(|&iteration| iteration > 0);
    loop {
        let iteration = placer.last().iteration;
        if let (Some(frames), Ok(())) = (&mut frames, &descent.drawn)
            && resumed_at != Some(iteration)
        {
            let begun = Instant::now();
            descent.drawn = frames.show(placer);
            descent.frames += milliseconds(begun);
        }
        if let (Some(checkpoints), Ok(())) = (&checkpoints, &descent.saved) {
            let begun = Instant::now();
            let due = iteration > 0 && iteration.is_multiple_of(checkpoints.every);
            if due || placer.outcome().is_some() {
                let taken = placer.checkpoint()?;
                let Checkpoints { path, subject, .. } = checkpoints;
                descent.saved = checkpoint::write::<T>(path, subject, &taken, &descent.records);
            }
            descent.checkpoints += milliseconds(begun);
        }
        let Some(record) = placer.step()? else { break };
        descent.records.push(*record);
        if let Some(history) = &mut history {
            history.add(record);
        }
        progress.show(record);
        if stop::is_asked() {
            placer.stop(Outcome::Interrupted);
        } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            placer.stop(Outcome::OutOfTime);
        }
    }
    progress.finish();
    Ok(descent)
}
