//! The host of the command's placements: its backend, and the work beside iterations. This work is
//! progress, frames, checkpoints, the history and the user's interrupts.

use super::frames::Frames;
use super::history::Live;
use super::progress::Progress;
use crate::charge::Charge;
use crate::cli::engines::pipeline_note;
use crate::cli::failure::Failure;
use crate::cli::log::{self, Doing};
use crate::cli::options::SolveArgs;
use crate::cli::refine::refining;
use crate::cli::results::tell;
use crate::cli::stages::legalizing;
use crate::cli::stop;
use crate::cpu::engine::milliseconds;
use crate::engine::{Choice, Descriptor};
use crate::engines::{EngineReal, Opened};
use crate::flow::checkpoint::{Checkpoints, PlacementIdentity};
use crate::flow::{Between, Host, Part, Resumed};
use crate::legalize;
use crate::place::routability::{Round, RoundsEnd};
use crate::place::{Backend, PlaceOptions, Placer, Record};
use crate::refine;
use crate::warning::Warning;
use crate::wirelength::Netlist;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

/// The command as a placement's host. An error of drawing or writing must not stop the placement,
/// so it is stored.
pub(super) struct Command<'a, T> {
    pub(super) options: &'a SolveArgs,
    pub(super) place: &'a PlaceOptions,
    pub(super) noise: f64,
    /// Whether the cells are placed again beside legal macros.
    pub(super) places_again: bool,
    /// The design's name.
    pub(super) name: String,
    pub(super) warnings: &'a [Warning],
    pub(super) charge: Arc<Charge>,
    pub(super) netlist: &'a Netlist,
    pub(super) frames: Option<Frames>,
    pub(super) history: Option<Live>,
    pub(super) checkpoints: Checkpoints,
    /// When setup began.
    pub(super) setup: Instant,
    pub(super) ran: Ran,
    pub(super) precision: PhantomData<T>,
}

/// Results of the host once the placement has ended.
#[derive(Default)]
pub(super) struct Ran {
    /// The engine, and the pipeline that it chose.
    pub(super) engine: Option<(Descriptor, Choice)>,
    pub(super) drawn: Option<Failure>,
    /// Milliseconds until the first seed began, and milliseconds of frames.
    pub(super) setup_ms: Option<f64>,
    pub(super) frames_ms: f64,
    /// Iterations of the descents before this one.
    before: usize,
    /// Iterations of this descent so far.
    iterations: usize,
    /// Whether a checkpoint was just read, so that nothing has been computed yet.
    resumed: bool,
    notes: Vec<String>,
    /// Whether notes and warnings were printed.
    told: bool,
    part: Option<Part>,
    progress: Option<Progress>,
    doing: Option<Doing>,
}

impl<T: EngineReal> Host for Command<'_, T> {
    type Error = Failure;

    fn backend(
        &mut self,
        charge: &Arc<Charge>,
        netlist: &Netlist,
    ) -> Result<Box<dyn Backend>, Failure> {
        let Opened { engine: backend, note } =
            self.options.open_backend::<T>(charge.clone(), netlist)?;
        if self.ran.engine.is_none() {
            let choice = backend.choice();
            self.ran.notes.extend(note);
            self.ran.notes.extend(pipeline_note(self.options, &choice));
            self.ran.engine = Some((backend.descriptor(), choice));
        }
        Ok(backend)
    }

    fn resume(&mut self, backend: &mut dyn Backend) -> Result<Option<Resumed>, Failure> {
        stop::listen()?;
        let start = (self.options.seed, self.noise);
        Ok(self.checkpoints.resume::<T>(|| {
            PlacementIdentity::of::<T>(
                &self.name,
                &self.charge,
                self.netlist,
                backend,
                start,
                self.place,
            )
        })?)
    }

    fn begin(&mut self, part: Part) {
        self.ran.setup_ms.get_or_insert_with(|| milliseconds(self.setup));
        self.ran.part = Some(part);
        self.ran.doing = None;
        if let Some(progress) = self.ran.progress.take() {
            progress.finish();
        }
        match part {
            Part::Seed(_) | Part::Continued(_) => self.ran.before = 0,
            Part::Beside(_) | Part::Round(_) | Part::Variant(_) => {
                self.ran.before += self.ran.iterations
            }
            Part::Legal | Part::Detailed => {}
        }
        match part {
            Part::Seed(seed) => log::begin(&format!("spreading cells, seed {seed}")),
            Part::Continued(seed) => log::begin(&format!("going on with seed {seed}")),
            Part::Legal => self.ran.doing = Some(Doing::begin("making the placement legal")),
            Part::Detailed => self.ran.doing = Some(Doing::begin("refining")),
            Part::Beside(macros) => {
                log::begin(&format!("spreading cells again beside {macros} legal macros"));
            }
            Part::Round(round) => log::begin(&format!("round {round} of growing cells")),
            Part::Variant(variant) => log::begin(&format!("a variant: {variant}")),
        }
    }

    fn follow(&mut self, placer: &mut Placer<'_>, records: &[Record]) -> Result<(), Failure> {
        // Printed before the run, but only once it is certain that there will be one.
        if !std::mem::replace(&mut self.ran.told, true) {
            tell(&self.ran.notes, self.warnings);
        }
        self.ran.iterations = records.len();
        let before = self.ran.before;
        let last = Record { iteration: before + placer.last().iteration, ..*placer.last() };
        self.ran.resumed = self.ran.progress.is_none() && records.len() > 1;
        if let Some(history) = &mut self.history {
            match self.ran.progress.is_none() && before == 0 {
                true => history.begin(records),
                false => history.add(&last),
            }
        }
        match &mut self.ran.progress {
            Some(progress) => progress.show(&last),
            None => {
                let again = matches!(self.ran.part, Some(Part::Seed(_))) && self.places_again;
                // Each round has its own limit.
                let round = matches!(self.ran.part, Some(Part::Round(_)));
                let most = self.place.iterations + if round { before } else { 0 };
                self.ran.progress = Some(Progress::new(self.place, most, again));
            }
        }
        // A checkpoint belongs to the first descent.
        if matches!(self.ran.part, Some(Part::Seed(_))) {
            self.checkpoints.follow::<T>(placer, records)?;
        }
        if placer.outcome().is_some()
            && let Some(progress) = self.ran.progress.take()
        {
            progress.finish();
        }
        Ok(())
    }

    fn between(&mut self, between: &mut Between<'_, '_>) -> Result<Option<Vec<f64>>, Failure> {
        let ran = &mut self.ran;
        let varies = matches!(ran.part, Some(Part::Variant(_)));
        if let (Some(frames), None, false) = (&mut self.frames, &ran.drawn, ran.resumed || varies) {
            let begun = Instant::now();
            ran.drawn = frames.show(between, ran.before).err();
            ran.frames_ms += milliseconds(begun);
        }
        Ok(None)
    }

    fn is_asked_to_stop(&mut self) -> bool {
        stop::is_asked()
    }

    fn round(&mut self, round: &Round) {
        log::note(&round.to_string());
    }

    fn rounds_end(&mut self, end: &RoundsEnd) {
        log::note(&end.to_string());
    }

    fn legalizing(&mut self, progress: &legalize::Progress) {
        self.ran.doing.iter().for_each(|doing| doing.show(|| legalizing(progress)));
    }

    fn refining(&mut self, progress: &refine::Progress) {
        self.ran.doing.iter().for_each(|doing| doing.show(|| refining(progress)));
    }
}
