//! Variants of the stages of a transform that the paper compares; [`crate::paper`] has transforms
//! with them.

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

/// Method to reorder a map before a DCT's FFT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reorder {
    /// The fastest method, which all other plans use. On a GPU a thread moves 32 bytes in 16-byte
    /// accesses if the map's rows are multiples of 32 bytes, and scatters otherwise. A CPU scatters.
    #[default]
    Wide,
    /// Scatter: elements are read in order and written to their new positions.
    Scatter,
    /// Gather: elements are written in order and read from their old positions.
    Gather,
}

impl Reorder {
    /// All three.
    pub const ALL: [Reorder; 3] = [Reorder::Wide, Reorder::Scatter, Reorder::Gather];
}

/// Method to compute DCT coefficients from an FFT's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PostProcessing {
    /// Computes four coefficients from two complex numbers; each is read and written once. All
    /// other plans use it.
    #[default]
    Efficient,
    /// One coefficient at a time, two complex numbers read for each.
    Naive,
}

impl PostProcessing {
    /// Both.
    pub const ALL: [PostProcessing; 2] = [PostProcessing::Efficient, PostProcessing::Naive];
}
