//! `placefield compress`: removes the small DCT coefficients of a picture.

use super::document::{Content, write_document};
use super::engines::on_cpu;
use super::failure::Failure;
use super::input::use_threads;
use super::options::{number, only_one_device, precision, thread_count};
use super::outputs::{Outputs, read_input};
use super::results::{list, tell, write_output};
use super::terminal::stdout;
use crate::cpu::engine::milliseconds;
use crate::engine::Descriptor;
use crate::engines::{self, EngineChoice, EngineReal, Opened};
use crate::paper::compress::{
    CompressError, Compression, CpuThresholdPair, Failed, Picture, PictureFormat, ThresholdPair,
    compress, orthonormal,
};
use crate::real::with_precision;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Remove the small DCT coefficients of a picture and report the loss
#[derive(Args)]
pub(crate) struct CompressArgs {
    /// A PNG picture, grey or RGB, with or without alpha, 8 or 16 bits; - for standard input
    #[arg(value_name = "IMAGE.png")]
    image: PathBuf,
    /// Remove coefficients below ε. Coefficients are Σ Σ sample·cos·cos without any factor; MATLAB's
    /// orthonormal ones are these times 2/√(width·height)
    #[arg(long, value_name = "EPSILON", value_parser = threshold, allow_hyphen_values = true)]
    threshold: f64,
    /// Write the picture as PNG of the same kind; - for standard output
    #[arg(short, long, value_name = "OUT.png")]
    out: PathBuf,
    /// Engine: auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    engine: EngineChoice,
    /// Working precision
    #[arg(long, value_parser = precision(), default_value = "f64", value_name = "TYPE")]
    precision: crate::Precision,
    /// Threads on the CPU; 0 uses all processors
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = thread_count)]
    threads: usize,
    /// Write the numbers as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Parses `--threshold`.
fn threshold(text: &str) -> Result<f64, String> {
    number(text, |e| e >= 0.0, "a finite number of at least 0")
}

/// The JSON document of a compression.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CompressReport {
    /// The image.
    image: PictureFormat,
    /// Sizes of the input file and of the output file.
    bytes: Bytes,
    /// The options.
    options: CompressOptions,
    /// The coefficients that were kept.
    kept: Kept,
    /// Mean squared difference of samples, without alpha.
    mean_squared_error: f64,
    /// Decibels; null if nothing changed.
    psnr: Option<f64>,
    /// Milliseconds of each part.
    timings_ms: CompressTimings,
}

impl Content for CompressReport {
    const COMMAND: &'static str = "compress";
}

#[derive(Serialize, JsonSchema)]
struct CompressOptions {
    /// `"cpu"` or `"cuda"`.
    engine: &'static str,
    /// The device's name.
    device: String,
    /// Working precision.
    precision: crate::Precision,
    /// Coefficients below it are dropped, in the crate's scaling.
    threshold: f64,
    /// The threshold for orthonormal coefficients.
    threshold_orthonormal: f64,
}

/// Sizes of the files: the PNG encoder's output for both pictures.
#[derive(Serialize, JsonSchema)]
struct Bytes {
    /// Bytes of the file that was read.
    before: usize,
    /// Bytes of the file that was written.
    after: usize,
}

#[derive(Serialize, JsonSchema)]
struct Kept {
    /// Number of coefficients kept.
    coefficients: usize,
    /// All coefficients.
    of: usize,
    /// Share of the kept coefficients.
    share: f64,
    /// Number in every channel.
    per_channel: Vec<usize>,
}

/// Milliseconds per stage.
#[derive(Serialize, JsonSchema)]
struct CompressTimings {
    /// Reading the image.
    decode: f64,
    /// Construction of plans and the engine.
    setup: f64,
    /// DCTs with the threshold in them.
    forward: f64,
    /// IDCTs.
    inverse: f64,
    /// Channels apart, rounding, error, channels together.
    samples: f64,
    /// Encoding of the PNG file.
    encode: f64,
}

/// Reads, compresses, writes, prints.
pub(crate) fn run(args: &CompressArgs) -> Result<(), Failure> {
    only_one_device(args.engine)?;
    Outputs::default()
        .file("--out", Some(&args.out))
        .file("--json", args.json.as_ref())
        .check(std::slice::from_ref(&args.image))?;

    let start = Instant::now();
    let bytes = read_input(&args.image)?;
    let named = |e| -> Failure { format!("{}: {e}", args.image.display()).into() };
    let picture = Picture::read_png(&bytes[..]).map_err(named)?;
    let decode = milliseconds(start);
    use_threads(args.threads)?;
    let (result, mut report, note) =
        with_precision!(args.precision, T => compressed::<T>(args, &picture))?;
    let start = Instant::now();
    let mut png = Vec::new();
    result.write_png(&mut png)?;
    (report.timings_ms.decode, report.timings_ms.encode) = (decode, milliseconds(start));
    report.bytes = Bytes { before: bytes.len(), after: png.len() };

    write_output(&args.out, |out| out.write_all(&png))?;
    let mut files = vec![&*args.out];
    write_document(args.json.as_ref(), &[&args.image], &files, &report)?;
    files.extend(args.json.as_deref());
    tell(note.as_slice(), &[]);
    if files.contains(&Path::new("-")) {
        return Ok(());
    }
    print(&report)?;
    Ok(list(&files)?)
}

/// Returns the picture, its numbers without those of files, and the choice of `auto`.
fn compressed<T: EngineReal>(
    args: &CompressArgs,
    picture: &Picture,
) -> Result<(Picture, CompressReport, Option<String>), CompressError> {
    let start = Instant::now();
    let image = picture.format();
    let Opened { engine: (mut pair, ran), note } = open::<T>(args.engine, &image)?;
    let setup = milliseconds(start);
    let threshold = args.threshold;
    let (result, numbers) = compress::<T>(picture, threshold, &mut *pair)?;
    let Compression { coefficients, kept, kept_per_channel, mean_squared_error, psnr, .. } =
        numbers;
    let report = CompressReport {
        image,
        bytes: Bytes { before: 0, after: 0 },
        options: CompressOptions {
            engine: ran.engine,
            device: ran.device,
            precision: numbers.precision,
            threshold,
            threshold_orthonormal: orthonormal(threshold, &image),
        },
        kept: Kept {
            coefficients: kept,
            of: coefficients,
            share: kept as f64 / coefficients as f64,
            per_channel: kept_per_channel,
        },
        mean_squared_error,
        psnr,
        timings_ms: CompressTimings {
            decode: 0.0,
            setup,
            forward: numbers.forward_ms,
            inverse: numbers.inverse_ms,
            samples: numbers.samples_ms,
            encode: 0.0,
        },
    };
    Ok((result, report, note))
}

/// Transforms, and where they run.
type Pair<T> = (Box<dyn ThresholdPair<T>>, Descriptor);

fn open<T: EngineReal>(
    choice: EngineChoice,
    image: &PictureFormat,
) -> Result<Opened<Pair<T>>, Failed> {
    let Opened { engine: choice, note } = engines::resolve(choice)?;
    let engine: Pair<T> = match choice {
        #[cfg(feature = "cuda")]
        EngineChoice::Cuda(device) => cuda(device, image).map_err(|e| engines::advise(e, &note))?,
        _ => (Box::new(CpuThresholdPair::new(image.height, image.width)?), on_cpu()),
    };
    Ok(Opened { engine, note })
}

#[cfg(feature = "cuda")]
fn cuda<T: EngineReal>(device: usize, image: &PictureFormat) -> Result<Pair<T>, Failed> {
    use crate::cuda::Gpu;
    use crate::paper::compress::CudaThresholdPair;
    let gpu = Gpu::open(device)?;
    let pair = CudaThresholdPair::new(&gpu, image.height, image.width, image.bits)?;
    let device = gpu.info().name.clone();
    Ok((Box::new(pair), Descriptor { engine: "cuda", device }))
}

fn print(report: &CompressReport) -> io::Result<()> {
    let CompressReport { image, options, kept, timings_ms: t, .. } = report;
    let mut out = stdout()?;
    let kind = match (image.channels, image.alpha) {
        (1, false) => "grey",
        (1, true) => "grey and alpha",
        (_, false) => "RGB",
        (_, true) => "RGBA",
    };
    writeln!(out, "picture       {} x {} {kind}, {} bits", image.width, image.height, image.bits)?;
    writeln!(
        out,
        "threshold     {} ({:.6} orthonormal), {} on {} ({})",
        options.threshold,
        options.threshold_orthonormal,
        options.precision,
        options.engine,
        options.device
    )?;
    writeln!(
        out,
        "kept          {} of {} coefficients ({:.3} %)",
        kept.coefficients,
        kept.of,
        100.0 * kept.share
    )?;
    writeln!(out, "PNG           {} bytes, {} before", report.bytes.after, report.bytes.before)?;
    match report.psnr {
        Some(psnr) => writeln!(out, "PSNR          {psnr:.2} dB")?,
        None => writeln!(out, "PSNR          infinite: no sample changed")?,
    }
    writeln!(
        out,
        "time, ms      decode {:.2}, set up {:.2}, DCT and threshold {:.2}, IDCT {:.2}, \
         samples {:.2}, encode {:.2}",
        t.decode, t.setup, t.forward, t.inverse, t.samples, t.encode
    )
}
