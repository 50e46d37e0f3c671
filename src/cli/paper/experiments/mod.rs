//! One experiment per table or figure of the paper.

mod amdahl;
mod breakdown;
mod compression;
mod content;
mod designs;
mod idct_idxst;
mod one_dimensional;
mod post_processing;
mod reordering;
mod single_precision;
mod three_dimensional;
mod two_dimensional;
mod utilisation;

use super::designs::Designs;
use super::session::Session;
use super::table::Table;
use super::target::BenchError;

/// A table or figure of the paper, or a claim of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Experiment {
    /// Gather and scatter in the DCT's pre-processing (table II).
    Reordering,
    /// Naive and efficient post-processing (table III).
    PostProcessing,
    /// Four algorithms of the 1-D DCT (table IV).
    OneDimensional,
    /// DCT and IDCT: row-column, fused, FFT alone (table V).
    TwoDimensional,
    /// The same in `f32` ("Settings").
    SinglePrecision,
    /// IDCT_IDXST, fused ("DREAMPlace").
    IdctIdxst,
    /// Share of every stage of the 1024 × 1024 DCT (figure 6).
    Breakdown,
    /// Occupancy and memory throughput of pre- and post-processing (table VI).
    Utilisation,
    /// 3-D DCT and IDCT ("Other Transforms and Platforms").
    ThreeDimensional,
    /// Compression of an image ("Image compression").
    Compression,
    /// Amdahl's law on four designs ("Case studies").
    Amdahl,
    /// A placer's step on eight designs (table VII).
    Designs,
}

impl Experiment {
    /// All, in the paper's order.
    pub const ALL: [Experiment; 12] = [
        Experiment::Reordering,
        Experiment::PostProcessing,
        Experiment::OneDimensional,
        Experiment::TwoDimensional,
        Experiment::SinglePrecision,
        Experiment::Breakdown,
        Experiment::Utilisation,
        Experiment::ThreeDimensional,
        Experiment::Compression,
        Experiment::IdctIdxst,
        Experiment::Amdahl,
        Experiment::Designs,
    ];

    /// The name of its subcommand.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// What it shows.
    pub fn title(self) -> &'static str {
        self.about().1
    }

    /// Where it stands in the paper.
    pub fn source(self) -> &'static str {
        self.about().2
    }

    /// Its part of the time, relative to the others'.
    pub fn weight(self) -> f64 {
        self.about().3
    }

    fn about(self) -> (&'static str, &'static str, &'static str, f64) {
        match self {
            Experiment::Reordering => {
                ("reordering", "Pre-processing of a 2-D DCT by gather and scatter", "table II", 1.0)
            }
            Experiment::PostProcessing => (
                "post-processing",
                "Post-processing of a 2-D DCT, naive and efficient",
                "table III",
                1.0,
            ),
            Experiment::OneDimensional => {
                ("one-dimensional", "Four algorithms of the 1-D DCT", "table IV", 0.5)
            }
            Experiment::TwoDimensional => ("two-dimensional", "2-D DCT and IDCT", "table V", 4.0),
            Experiment::SinglePrecision => (
                "single-precision",
                "2-D DCT and IDCT, the speed-up in f32 and in f64",
                "section \"Settings\"",
                1.0,
            ),
            Experiment::IdctIdxst => {
                ("idct-idxst", "2-D IDCT_IDXST beside IDCT", "section \"DREAMPlace\"", 1.0)
            }
            Experiment::Breakdown => ("breakdown", "Stages of the fused 2-D DCT", "figure 6", 0.5),
            Experiment::Utilisation => {
                ("utilisation", "Kernels of the fused 2-D DCT", "table VI", 0.5)
            }
            Experiment::ThreeDimensional => (
                "three-dimensional",
                "3-D DCT and IDCT",
                "section \"Other Transforms and Platforms\"",
                1.0,
            ),
            Experiment::Compression => {
                ("compression", "Image compression", "section \"Image compression\"", 1.0)
            }
            Experiment::Amdahl => (
                "amdahl",
                "Amdahl's estimate of a step's speed-up",
                "equation of \"Case studies\"",
                2.0,
            ),
            Experiment::Designs => {
                ("designs", "One step at the statistics of the ISPD 2005 designs", "table VII", 4.0)
            }
        }
    }

    /// Measures it within the session's time.
    ///
    /// # Errors
    /// When a design cannot be generated.
    pub fn run(
        self,
        session: &mut Session<'_>,
        designs: &mut Designs,
    ) -> Result<Table, BenchError> {
        let content = match self {
            Experiment::Reordering => reordering::run(session),
            Experiment::PostProcessing => post_processing::run(session),
            Experiment::OneDimensional => one_dimensional::run(session),
            Experiment::TwoDimensional => two_dimensional::run(session),
            Experiment::SinglePrecision => single_precision::run(session),
            Experiment::IdctIdxst => idct_idxst::run(session),
            Experiment::Breakdown => breakdown::run(session),
            Experiment::Utilisation => utilisation::run(session),
            Experiment::ThreeDimensional => three_dimensional::run(session),
            Experiment::Compression => compression::run(session),
            Experiment::Amdahl => amdahl::run(session, designs),
            Experiment::Designs => designs::run(session, designs),
        }?;
        Ok(Table {
            name: self.name().to_owned(),
            title: self.title().to_owned(),
            paper: self.source().to_owned(),
            precision: session.settings.precision,
            groups: content.groups,
            claims: content.claims,
            notes: content.notes,
            budget_s: session.budget(),
            seconds: session.elapsed(),
        })
    }
}
