//! Forms of the stages of a transform that the paper compares: [`crate::paper`] has the transforms
//! made of them.

/// How a DCT of one line is computed by a real FFT (Jiang et al., Algorithm "Four algorithms of 1D
/// DCT via 1D FFT").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm1d {
    /// FFT of 4N values: the samples at odd places, mirrored, zeros between.
    FourN,
    /// FFT of 2N values: the line and its mirror image.
    MirroredTwoN,
    /// FFT of 2N values: the line and as many zeros.
    PaddedTwoN,
    /// FFT of N values: even samples, then odd ones backwards. That of all other plans.
    NPoint,
}

impl Algorithm1d {
    /// All of them, longest FFT first.
    pub const ALL: [Algorithm1d; 4] = [
        Algorithm1d::FourN,
        Algorithm1d::MirroredTwoN,
        Algorithm1d::PaddedTwoN,
        Algorithm1d::NPoint,
    ];

    /// Returns `4n`, `mirrored-2n`, `padded-2n` or `n`, as tables write it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm1d::FourN => "4n",
            Algorithm1d::MirroredTwoN => "mirrored-2n",
            Algorithm1d::PaddedTwoN => "padded-2n",
            Algorithm1d::NPoint => "n",
        }
    }
}

/// How a map is reordered before a DCT's FFT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reorder {
    /// The fastest, that of all other plans: on a GPU a thread moves 32 bytes in 16-byte accesses
    /// where the map's rows are multiples of 32 bytes, and scatters elsewhere; a CPU scatters.
    #[default]
    Wide,
    /// Elements are read where they stand and written where they go.
    Scatter,
    /// Elements are written where they stand and read from where they come.
    Gather,
}

impl Reorder {
    /// All three.
    pub const ALL: [Reorder; 3] = [Reorder::Wide, Reorder::Scatter, Reorder::Gather];
}

/// How DCT coefficients are taken from an FFT's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PostProcessing {
    /// Two complex numbers in, four coefficients out: each read and written once. That of all
    /// other plans.
    #[default]
    Efficient,
    /// One coefficient at a time, two complex numbers read for each.
    Naive,
}

impl PostProcessing {
    /// Both.
    pub const ALL: [PostProcessing; 2] = [PostProcessing::Efficient, PostProcessing::Naive];
}
