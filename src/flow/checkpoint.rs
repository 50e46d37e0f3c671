//! Files with the state of an unfinished placement.
//!
//! A file begins with one line of JSON, which has the design, the options and the state of the
//! schedule. Vectors follow as little-endian numbers of the placement's precision: positions, the
//! other sequence, gradient and the best placement, each all x, then all y. The last four bytes are
//! the CRC-32 (as in gzip) of all preceding bytes, little-endian.

use super::Resumed;
use crate::Real;
use crate::charge::Charge;
use crate::hash::Fnv1a;
use crate::output::write_whole;
use crate::place::{
    Backend, Checkpoint, PlaceError, PlaceOptions, Placer, PointVector, Record, State,
};
use crate::text::file::check_readable;
use crate::wirelength::Netlist;
use flate2::Crc;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Version of the file layout.
const FORMAT: u32 = 5;
/// Bytes of the checksum at the end.
const CHECKSUM: u64 = 4;
/// Longest first line that a checkpoint may have, bytes.
const LONGEST_LINE: u64 = 1 << 30;

/// Why a checkpoint could not be written or read, as one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckpointError {
    /// The file could not be.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// The contents are not those of a valid checkpoint.
    #[error("{0}: {1}")]
    Unfit(String, String),
}

fn named(path: &Path, error: io::Error) -> CheckpointError {
    CheckpointError::Io(path.display().to_string(), error)
}

/// The placement that a checkpoint belongs to; no other can be resumed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlacementIdentity {
    design: String,
    bodies: usize,
    bins: [usize; 2],
    precision: String,
    engine: String,
    seed: u64,
    /// Hash of sizes, nets and fixed area.
    contents: u64,
    /// The pipeline, and all that decides about start and steps, in words.
    how: String,
}

impl PlacementIdentity {
    /// Returns the subject of a placement of the design called `name` by the engine of `backend`.
    /// The limits at which it stops may change between runs and are no part of it.
    pub(crate) fn of<T: Real>(
        name: &str,
        charge: &Charge,
        netlist: &Netlist,
        backend: &dyn Backend,
        (seed, noise): (u64, f64),
        place: &PlaceOptions,
    ) -> Self {
        let steps = place.stop_overflow(0.0).iterations(0);
        let numbers = [charge.width(), charge.height(), charge.fixed().as_slice()];
        let pins = [netlist.weight(), netlist.pin_x(), netlist.pin_y()];
        let mut hash = Fnv1a::new();
        for column in numbers.into_iter().chain(pins).chain([&[charge.target_density()][..]]) {
            hash = hash.list(column.iter().map(|v| v.to_bits()));
        }
        hash = hash.list(netlist.net_start().iter().map(|&v| v as u64));
        hash = hash.list(netlist.pin_body().iter().map(|&v| v as u64));
        hash = hash.list([netlist.smooth() as u64].into_iter());
        PlacementIdentity {
            design: name.to_owned(),
            bodies: charge.bodies(),
            bins: [charge.grid().nx(), charge.grid().ny()],
            precision: T::PRECISION.name().to_owned(),
            engine: backend.descriptor().engine.to_owned(),
            seed,
            contents: hash.finish(),
            how: format!("{}, noise {noise}, {steps:?}", backend.choice().pipeline),
        }
    }

    /// Returns the first way in which the two differ.
    fn difference(&self, other: &PlacementIdentity) -> Option<String> {
        let differ = |what: &str, a: &dyn std::fmt::Debug, b: &dyn std::fmt::Debug| {
            Some(format!("{what} {a:?}, expected {b:?}"))
        };
        match (self, other) {
            (a, b) if a.design != b.design => differ("design", &a.design, &b.design),
            (a, b) if a.bins != b.bins => differ("bins", &a.bins, &b.bins),
            (a, b) if a.precision != b.precision => differ("precision", &a.precision, &b.precision),
            (a, b) if a.engine != b.engine => differ("engine", &a.engine, &b.engine),
            (a, b) if a.bodies != b.bodies => differ("bodies", &a.bodies, &b.bodies),
            (a, b) if a.seed != b.seed => differ("seed", &a.seed, &b.seed),
            (a, b) if a.contents != b.contents => {
                Some("other sizes, nets or options than this run's".to_owned())
            }
            (a, b) if a.how != b.how => differ("options", &a.how, &b.how),
            _ => None,
        }
    }
}

/// The first line: of references when it is written, of values when it is read.
#[derive(Serialize, Deserialize)]
struct Head<Of, At, Records> {
    placefield_checkpoint: u32,
    subject: Of,
    state: At,
    records: Records,
}

/// Where checkpoints of a placement go and come from.
pub(crate) struct Checkpoints {
    /// File to write.
    pub(crate) to: Option<PathBuf>,
    /// Iterations from one to the next.
    pub(crate) every: usize,
    /// Where the placement goes on from.
    pub(crate) from: Option<PathBuf>,
    /// The placement they belong to, once it is known.
    pub(crate) subject: Option<PlacementIdentity>,
    /// How writing went: a checkpoint that cannot be written must not cost the placement.
    pub(crate) saved: Result<(), CheckpointError>,
    /// Time spent on writing.
    pub(crate) milliseconds: f64,
}

impl Checkpoints {
    /// Writes to one file and reads from another, if they are given.
    pub(crate) fn new(to: Option<PathBuf>, every: usize, from: Option<PathBuf>) -> Self {
        Checkpoints { to, every, from, subject: None, saved: Ok(()), milliseconds: 0.0 }
    }

    /// Returns where the placement of `subject` goes on from, if anywhere.
    pub(crate) fn resume<T: Real>(
        &mut self,
        subject: impl FnOnce() -> PlacementIdentity,
    ) -> Result<Option<Resumed>, CheckpointError> {
        if self.to.is_none() && self.from.is_none() {
            return Ok(None);
        }
        let subject = self.subject.insert(subject());
        self.from.as_deref().map(|from| read::<T>(from, subject)).transpose()
    }

    /// Writes a checkpoint if it is due or the placement has ended.
    pub(crate) fn follow<T: Real>(
        &mut self,
        placer: &mut Placer<'_>,
        records: &[Record],
    ) -> Result<(), PlaceError> {
        let (Some(path), Some(subject), Ok(())) = (&self.to, &self.subject, &self.saved) else {
            return Ok(());
        };
        let iteration = placer.last().iteration;
        let due = iteration > 0 && iteration.is_multiple_of(self.every);
        if due || placer.outcome().is_some() {
            let begun = Instant::now();
            let taken = placer.checkpoint()?;
            self.saved = write::<T>(path, subject, &taken, records);
            self.milliseconds += 1e3 * begun.elapsed().as_secs_f64();
        }
        Ok(())
    }
}

/// Writes a checkpoint, whole or not at all.
fn write<T: Real>(
    path: &Path,
    subject: &PlacementIdentity,
    checkpoint: &Checkpoint,
    records: &[Record],
) -> Result<(), CheckpointError> {
    let state = &checkpoint.state;
    let head = Head { placefield_checkpoint: FORMAT, subject, state, records };
    let line = serde_json::to_string(&head).map_err(|e| named(path, e.into()))?;
    write_whole(path, |out| {
        let mut checksum = Crc::new();
        let mut put = |bytes: &[u8]| {
            checksum.update(bytes);
            out.write_all(bytes)
        };
        put(line.as_bytes())?;
        put(b"\n")?;
        for values in checkpoint.vectors.iter().flatten() {
            let bytes: Vec<u8> = match T::PRECISION {
                crate::Precision::F32 => {
                    values.iter().flat_map(|v| (*v as f32).to_le_bytes()).collect()
                }
                crate::Precision::F64 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            };
            put(&bytes)?;
        }
        out.write_all(&checksum.sum().to_le_bytes())
    })
    .map_err(|e| named(path, e))
}

/// Reads the file that [`write()`] made of the same `subject`.
fn read<T: Real>(path: &Path, subject: &PlacementIdentity) -> Result<Resumed, CheckpointError> {
    let file = check_readable(path).and_then(|()| File::open(path)).map_err(|e| named(path, e))?;
    let bytes = file.metadata().map_err(|e| named(path, e))?.len();
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    file.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(|e| named(path, e))?;
    let wrong = |what: &str| CheckpointError::Unfit(path.display().to_string(), what.to_owned());
    let head: Head<PlacementIdentity, State, Vec<Record>> = serde_json::from_slice(&line)
        .map_err(|e| wrong(&format!("line 1: expected a checkpoint of placefield: {e}")))?;
    if head.placefield_checkpoint != FORMAT {
        return Err(wrong(&format!(
            "a checkpoint of format {}, expected {FORMAT}",
            head.placefield_checkpoint
        )));
    }
    if let Some(difference) = head.subject.difference(subject) {
        return Err(wrong(&format!("a checkpoint of {difference}")));
    }
    let size = size_of::<T>() as u64;
    let numbers = 2 * PointVector::ALL.len() as u64 * subject.bodies as u64 * size;
    let expected = line.len() as u64 + numbers + CHECKSUM;
    if bytes != expected {
        return Err(wrong(&format!("{bytes} bytes, expected {expected}")));
    }
    let mut checksum = Crc::new();
    checksum.update(&line);
    let mut column = || -> std::io::Result<Vec<f64>> {
        let mut raw = vec![0; subject.bodies * size_of::<T>()];
        file.read_exact(&mut raw)?;
        checksum.update(&raw);
        Ok(match T::PRECISION {
            crate::Precision::F32 => raw
                .chunks_exact(4)
                .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
                .collect(),
            crate::Precision::F64 => raw
                .chunks_exact(8)
                .map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")))
                .collect(),
        })
    };
    let vectors = PointVector::ALL
        .iter()
        .map(|_| Ok([column()?, column()?]))
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(|e| named(path, e))?;
    let mut stored = [0; CHECKSUM as usize];
    file.read_exact(&mut stored).map_err(|e| named(path, e))?;
    if u32::from_le_bytes(stored) != checksum.sum() {
        return Err(wrong("the file is damaged: its checksum is that of other bytes"));
    }
    let in_order = head.records.iter().enumerate().all(|(k, record)| record.iteration == k);
    if !in_order || head.records.len() != head.state.last().iteration + 1 {
        return Err(wrong("expected a record of every iteration up to the last"));
    }
    if head.state.best_iteration().is_some_and(|best| best >= head.records.len()) {
        return Err(wrong("the best placement is of an iteration to come"));
    }
    if vectors.iter().flatten().flatten().any(|v| !v.is_finite()) {
        return Err(wrong("a number is not finite"));
    }
    Ok(Resumed { checkpoint: Checkpoint { state: head.state, vectors }, records: head.records })
}
