//! Image compression by thresholding, the paper's first case study (Jiang, Gu
//! and Pan, §V-A): the 2-D DCT of every channel of a whole picture, every
//! coefficient of a magnitude below ε to zero, the 2-D IDCT.
//!
//! A channel is the matrix `A` of its stored samples, 0 … 255 or 0 … 65535, one row of
//! pixels after the other. ε applies to the coefficients of the paper's definition, `B = Σ Σ
//! A cos cos` without any factor; [`orthonormal`] converts to the scaling of MATLAB's `dct2`. The
//! result, `D = IDCT2(C) · 4/(width·height)`, is rounded to the nearest sample value, halves away
//! from zero, and clamped to the range of samples.
//!
//! Alpha is no part of the visible picture but says how much of it is seen: it is copied and takes
//! no part in any count, and neither does the colour of transparent pixels.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

pub use cpu::CpuThresholdPair;
#[cfg(feature = "cuda")]
pub use cuda::CudaThresholdPair;

use crate::parallel::{self, chunks, chunks_mut};
use crate::real::{Precision, Real};
use crate::transform::InputElement;
use png::{BitDepth, ColorType, DecodingError, EncodingError};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Cursor, Read, Write};

/// Most pixels of a picture (2^28: one `f64` channel of 2 GiB).
pub const MAX_PIXELS: u64 = 1 << 28;

/// Most bytes that deflate makes from one.
const MAX_INFLATION: u64 = 1032;

/// Bytes that decoding may take whatever the file's length.
const DECODER_BYTES: u64 = 1 << 26;

/// Why an engine failed.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Why a picture cannot be read or a transform not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompressError {
    /// The bytes do not begin as a PNG file does.
    #[error("not a PNG file: expected the PNG signature in its first 8 bytes")]
    NotPng,
    /// The picture cannot be decoded.
    #[error("damaged or unsupported PNG file: {0}")]
    Decode(#[source] DecodingError),
    /// More pixels than are taken.
    #[error("{width} x {height} pixels: expected at most {MAX_PIXELS} in all")]
    TooLarge {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// The header promises more than the file could hold.
    #[error("damaged PNG file: {width} x {height} pixels cannot come of {bytes} bytes")]
    Truncated {
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
        /// Length of the file.
        bytes: u64,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// ε is no threshold.
    #[error("threshold {0}: expected a finite number of at least 0")]
    Threshold(f64),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] Failed),
}

/// A picture with 8 or 16 bits a sample: grey or RGB, with or without alpha.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    format: PictureFormat,
    samples: Samples,
}

impl Picture {
    /// Reads a PNG file. Palettes and grey of 1, 2 and 4 bits are expanded to 8;
    /// colour profiles and text are left behind.
    ///
    /// # Errors
    /// When it is no PNG file, damaged, or larger than [`MAX_PIXELS`].
    pub fn read_png(mut file: impl Read) -> Result<Self, CompressError> {
        let mut bytes = Vec::new();
        file.by_ref().take(8).read_to_end(&mut bytes)?;
        if bytes != *b"\x89PNG\r\n\x1a\n" {
            return Err(CompressError::NotPng);
        }
        file.read_to_end(&mut bytes)?;
        let length = bytes.len() as u64;
        // Memory that decoding may take besides the pixels: the file's own pieces, in buffers that
        // double, and a row of the widest pixels, the width standing where every PNG file has it.
        let row = bytes
            .get(16..20)
            .map_or(0, |b| 8 * u64::from(u32::from_be_bytes([b[0], b[1], b[2], b[3]])));
        let most = usize::try_from(4 * length + row + DECODER_BYTES).unwrap_or(usize::MAX);
        let limits = png::Limits { bytes: most };
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(png::Transformations::EXPAND);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let mut reader = decoder.read_info().map_err(CompressError::Decode)?;
        let (width, height) = reader.info().size();
        let pixels = u64::from(width) * u64::from(height);
        if pixels > MAX_PIXELS {
            return Err(CompressError::TooLarge { width, height });
        }
        // Before anything of that size is allocated.
        if pixels * reader.info().bits_per_pixel() as u64 / 8 > length * MAX_INFLATION {
            return Err(CompressError::Truncated { width, height, bytes: length });
        }
        let size = reader.output_buffer_size().expect("fewer pixels than memory has bytes");
        let mut bytes = vec![0; size];
        reader.next_frame(&mut bytes).map_err(CompressError::Decode)?;
        let samples = match reader.output_color_type() {
            (_, BitDepth::Sixteen) => {
                let pairs = bytes.chunks_exact(2);
                Samples::U16(pairs.map(|b| u16::from_be_bytes([b[0], b[1]])).collect())
            }
            _ => Samples::U8(bytes),
        };
        Ok(Picture::from_samples(width, height, samples).expect("samples of every pixel"))
    }

    /// Writes a PNG file of the same kind.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_png(&self, out: impl Write) -> io::Result<()> {
        let PictureFormat { width, height, channels, alpha, .. } = self.format;
        let mut encoder = png::Encoder::new(out, width as u32, height as u32);
        encoder.set_color(match (channels, alpha) {
            (1, false) => ColorType::Grayscale,
            (1, true) => ColorType::GrayscaleAlpha,
            (_, false) => ColorType::Rgb,
            (_, true) => ColorType::Rgba,
        });
        encoder.set_compression(png::Compression::Fast);
        encoder.set_filter(png::Filter::Adaptive);
        let (depth, bytes): (_, Cow<'_, [u8]>) = match &self.samples {
            Samples::U8(samples) => (BitDepth::Eight, samples.into()),
            Samples::U16(samples) => (
                BitDepth::Sixteen,
                samples.iter().flat_map(|sample| sample.to_be_bytes()).collect(),
            ),
        };
        encoder.set_depth(depth);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&bytes)?;
            writer.finish()
        });
        written.map_err(|error| match error {
            EncodingError::IoError(error) => error,
            other => io::Error::other(other),
        })
    }

    /// Returns a picture from interleaved samples.
    ///
    /// `None` when they are not `width · height` times 1 (grey), 2 (grey and
    /// alpha), 3 (RGB) or 4 (RGBA).
    pub fn from_samples(width: u32, height: u32, samples: Samples) -> Option<Self> {
        let pixels = usize::try_from(u64::from(width) * u64::from(height)).ok()?;
        let all = samples.len().checked_div(pixels).filter(|all| all * pixels == samples.len())?;
        let (channels, alpha) = match all {
            1 | 3 => (all, false),
            2 | 4 => (all - 1, true),
            _ => return None,
        };
        let bits = match samples {
            Samples::U8(_) => 8,
            Samples::U16(_) => 16,
        };
        let (width, height) = (width as usize, height as usize);
        Some(Picture { format: PictureFormat { width, height, channels, alpha, bits }, samples })
    }

    /// Returns its samples, interleaved.
    pub fn samples(&self) -> Samples {
        self.samples.clone()
    }

    /// Returns the picture's format.
    pub fn format(&self) -> PictureFormat {
        self.format
    }
}

/// Samples of either width.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// 0 … 255.
    U8(Vec<u8>),
    /// 0 … 65535.
    U16(Vec<u16>),
}

impl Samples {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        match self {
            Samples::U8(v) => v.len(),
            Samples::U16(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Size and kind of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PictureFormat {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Colours: 1 or 3.
    pub channels: usize,
    /// Whether there is alpha.
    pub alpha: bool,
    /// Bits per sample: 8 or 16.
    pub bits: u32,
}

/// A run of one engine on one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChannelRun {
    /// Coefficients that are not below the threshold.
    pub kept: usize,
    /// Milliseconds of the DCT with the threshold in it.
    pub forward_ms: f64,
    /// Milliseconds of the IDCT.
    pub inverse_ms: f64,
}

/// A pair of transforms for channels of one size, on one engine.
pub trait ThresholdPair<T: Real> {
    /// `restored = IDCT2(C)`, where C is `DCT2(samples)` with every coefficient below `threshold`
    /// in magnitude set to zero; `height × width`, rows contiguous, unnormalised.
    ///
    /// # Errors
    /// When the engine fails.
    fn run(
        &mut self,
        samples: &Samples,
        threshold: T,
        restored: &mut [T],
    ) -> Result<ChannelRun, Failed>;
}

/// A compression in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Compression {
    /// Coefficients of all channels.
    pub coefficients: usize,
    /// Coefficients that were kept.
    pub kept: usize,
    /// Coefficients kept in every channel.
    pub kept_per_channel: Vec<usize>,
    /// Mean squared difference of samples, without alpha.
    pub mean_squared_error: f64,
    /// 10·log₁₀(largest sample² / mean squared error), decibels; none when nothing changed.
    pub psnr: Option<f64>,
    /// The precision that was computed in.
    pub precision: Precision,
    /// Milliseconds of all DCTs, with the threshold in them.
    pub forward_ms: f64,
    /// Milliseconds of all IDCTs.
    pub inverse_ms: f64,
    /// Milliseconds of taking channels apart, rounding and putting them together.
    pub samples_ms: f64,
}

/// Returns `picture` without coefficients below the threshold `epsilon`, and the loss.
///
/// # Errors
/// When `epsilon` is negative or not finite, or `engine` fails.
pub fn compress<T: Real>(
    picture: &Picture,
    epsilon: f64,
    engine: &mut dyn ThresholdPair<T>,
) -> Result<(Picture, Compression), CompressError> {
    if !(epsilon >= 0.0 && epsilon.is_finite()) {
        return Err(CompressError::Threshold(epsilon));
    }
    let start = std::time::Instant::now();
    let format = picture.format();
    let mut samples = picture.samples();
    let runs = match &mut samples {
        Samples::U8(v) => channels(v, &format, Samples::U8, epsilon, engine),
        Samples::U16(v) => channels(v, &format, Samples::U16, epsilon, engine),
    }?;
    let squares: f64 = runs.iter().map(|run| run.squares).sum();
    let coefficients = format.width * format.height * format.channels;
    let mean_squared_error = squares / coefficients as f64;
    let peak = ((1u32 << format.bits) - 1) as f64;
    let sum = |of: fn(&ChannelRun) -> f64| runs.iter().map(|run| of(&run.engine)).sum::<f64>();
    let (forward_ms, inverse_ms) = (sum(|run| run.forward_ms), sum(|run| run.inverse_ms));
    let kept_per_channel: Vec<usize> = runs.iter().map(|run| run.engine.kept).collect();
    let compression = Compression {
        coefficients,
        kept: kept_per_channel.iter().sum(),
        kept_per_channel,
        mean_squared_error,
        psnr: (squares > 0.0).then(|| 10.0 * (peak * peak / mean_squared_error).log10()),
        precision: T::PRECISION,
        forward_ms,
        inverse_ms,
        samples_ms: start.elapsed().as_secs_f64() * 1e3 - forward_ms - inverse_ms,
    };
    let (width, height) = (format.width as u32, format.height as u32);
    let picture = Picture::from_samples(width, height, samples).expect("of the size it had");
    Ok((picture, compression))
}

/// Returns ε in the scaling of an orthonormal transform, like MATLAB's `dct2`. For coefficients of
/// a constant row or column the value is 1/√2 times as large (for both ½).
pub fn orthonormal(epsilon: f64, format: &PictureFormat) -> f64 {
    epsilon * 2.0 / ((format.width * format.height) as f64).sqrt()
}

/// The result for one channel.
struct ChannelResult {
    engine: ChannelRun,
    /// Σ (new − old)².
    squares: f64,
}

/// A sample that rounding comes back to.
trait Stored: InputElement {
    const MAX: f64;
    fn stored(value: f64) -> Self;
}

impl Stored for u8 {
    const MAX: f64 = 255.0;
    fn stored(value: f64) -> Self {
        value as u8
    }
}

impl Stored for u16 {
    const MAX: f64 = 65_535.0;
    fn stored(value: f64) -> Self {
        value as u16
    }
}

/// Pixels that a task takes.
const PIXELS: usize = 1 << 14;

/// Compresses every colour channel of interleaved samples in place.
fn channels<T: Real, S: Stored>(
    samples: &mut [S],
    format: &PictureFormat,
    wrap: impl Fn(Vec<S>) -> Samples,
    epsilon: f64,
    engine: &mut dyn ThresholdPair<T>,
) -> Result<Vec<ChannelResult>, CompressError> {
    let pixels = format.width * format.height;
    let step = format.channels + usize::from(format.alpha);
    let mut restored = crate::memory::filled(pixels, T::zero());
    let mut results = Vec::with_capacity(format.channels);
    for channel in 0..format.channels {
        let plane = parallel::map(pixels, |pixel| samples[pixel * step + channel]);
        let run = engine.run(&wrap(plane), T::cast(epsilon), &mut restored)?;
        let scale = 4.0 / pixels as f64;
        // Whole numbers: the sum is equal in any order if it is below 2^53.
        let blocks = (chunks_mut(samples, step * PIXELS), chunks(&restored, PIXELS));
        let squares = parallel::map_items(blocks, |_, (samples, restored)| {
            let stored = samples.chunks_exact_mut(step).zip(restored).map(|(pixel, value)| {
                let value = (value.widen() * scale).round().clamp(0.0, S::MAX);
                let old = std::mem::replace(&mut pixel[channel], S::stored(value));
                (value - old.to_f64()).powi(2)
            });
            stored.sum::<f64>()
        });
        results.push(ChannelResult { engine: run, squares: squares.iter().sum() });
    }
    Ok(results)
}
