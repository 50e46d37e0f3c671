//! `placefield compress`.

use crate::{Words, close, failure, json_of, names_in, placefield, run, run_json};
use placefield::paper::compress::CpuThresholdPair;
use placefield::paper::compress::{Picture, Samples, compress};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with `in.png` in it: 40 × 24 pixels, RGBA, 8 bits.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        let mut file = std::fs::File::create(folder.path("in.png")).unwrap();
        picture().write_png(&mut file).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `in.png` with its bytes changed.
    fn damage(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path("in.png")).unwrap();
        change(&mut bytes);
        std::fs::write(self.path("in.png"), bytes).unwrap();
    }

    /// Compresses to `out`, which must fail and leave nothing; gives what the line says.
    fn refused(&self, out: &Path) -> String {
        let before = names_in(self.0.path());
        let line = failure(&[&"compress", &self.path("in.png"), &"--threshold 5 -o", &out]);
        assert_eq!(names_in(self.0.path()), before);
        let line = line.strip_prefix("placefield: ").unwrap();
        line.strip_prefix(&format!("{}/", self.0.path().display())).unwrap_or(line).to_owned()
    }
}

fn picture() -> Picture {
    let sample = |i: usize| ((i / 4 % 40 / 6 + i / 160 / 5) * 40 + i * i % 23) as u8;
    Picture::from_samples(40, 24, Samples::U8((0..40 * 24 * 4).map(sample).collect())).unwrap()
}

fn read(path: &Path) -> Picture {
    Picture::read_png(std::fs::File::open(path).unwrap()).unwrap()
}

#[test]
fn writes_the_picture_and_its_numbers() {
    let folder = Folder::new();
    let (input, out, json) = (folder.path("in.png"), folder.path("out.png"), folder.path("n.json"));
    assert_eq!(read(&input), picture());
    let text =
        run(&[&"compress", &input, &"--threshold 1500 -o", &out, &"--engine cpu --json", &json]);
    let mut engine = CpuThresholdPair::<f64>::new(24, 40).unwrap();
    let (want, numbers) = compress::<f64>(&picture(), 1500.0, &mut engine).unwrap();
    assert_eq!(read(&out), want);
    assert_ne!(want, picture());

    let report = json_of(&json);
    let number = |path: &str| report.pointer(path).unwrap().as_f64().unwrap();
    assert_eq!(report["image"]["width"], 40);
    assert_eq!(report["image"]["height"], 24);
    assert_eq!(report["image"]["channels"], 3);
    assert_eq!(report["image"]["alpha"], true);
    assert_eq!(report["image"]["bits"], 8);
    assert_eq!(report["options"]["engine"], "cpu");
    assert_eq!(report["options"]["precision"], "f64");
    assert_eq!(report["kept"]["coefficients"], numbers.kept);
    assert_eq!(report["kept"]["of"], 3 * 40 * 24);
    close("psnr", number("/psnr"), numbers.psnr.unwrap(), 1.0, 1e-9);
    close("share", number("/kept/share"), numbers.kept as f64 / 2880.0, 1.0, 1e-12);
    for stage in ["decode", "setup", "forward", "inverse", "samples", "encode"] {
        assert!(number(&format!("/timings_ms/{stage}")) >= 0.0);
    }
    assert!(text.contains("40 x 24 RGBA, 8 bits"), "{text}");
    assert!(text.contains(&format!("{} of 2880 coefficients", numbers.kept)), "{text}");
    assert!(text.contains(&format!("{:.2} dB", numbers.psnr.unwrap())), "{text}");
}

#[test]
fn the_picture_or_the_json_can_go_to_stdout() {
    let folder = Folder::new();
    let input = folder.path("in.png");
    let png = placefield(&[&"compress", &input, &"--threshold 0 -o - --engine cpu"]);
    let output = { png }.assert().success().get_output().clone();
    assert_eq!(Picture::read_png(&output.stdout[..]).unwrap(), picture());
    let out = folder.path("out.png");
    let report = run_json(&[&"compress", &input, &"--threshold 0 -o", &out, &"--json -"]);
    assert_eq!(report["psnr"], Value::Null);
    assert_eq!(report["kept"]["share"], 1.0);
}

#[test]
fn non_pictures_are_refused() {
    let folder = Folder::new();
    let out = folder.path("out.png");
    let not_png = "in.png: not a PNG file: expected the PNG signature in its first 8 bytes";
    folder.damage(|bytes| bytes[0] = b'X');
    assert_eq!(folder.refused(&out), not_png);
    folder.damage(|bytes| bytes.truncate(4));
    assert_eq!(folder.refused(&out), not_png);
    folder.damage(Vec::clear);
    assert_eq!(folder.refused(&out), not_png);
    std::fs::remove_file(folder.path("in.png")).unwrap();
    assert!(folder.refused(&out).starts_with("in.png: No such file"));
    std::fs::create_dir(folder.path("in.png")).unwrap();
    assert!(folder.refused(&out).starts_with("in.png: "));
}

#[test]
fn truncated_and_damaged_pictures_are_refused() {
    let whole = std::fs::read(Folder::new().path("in.png")).unwrap();
    for length in [8, 20, 33, 50, whole.len() / 2] {
        let folder = Folder::new();
        folder.damage(|bytes| bytes.truncate(length));
        let line = folder.refused(&folder.path("out.png"));
        assert!(line.starts_with("in.png: damaged or unsupported PNG file: "), "{length}: {line}");
    }
    let folder = Folder::new();
    folder.damage(|bytes| bytes[whole.len() / 2] ^= 0x55);
    let line = folder.refused(&folder.path("out.png"));
    assert!(line.starts_with("in.png: damaged or unsupported PNG file: "), "{line}");
}

/// The header's checksum, so that only its numbers are wrong.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    })
}

#[test]
fn oversized_png_headers_are_refused() {
    for (width, height, want) in [
        (60_000_u32, 60_000_u32, "in.png: 60000 x 60000 pixels: expected at most 268435456 in all"),
        (16_384, 16_384, "in.png: damaged PNG file: 16384 x 16384 pixels cannot come of "),
        (0, 24, "in.png: damaged or unsupported PNG file: "),
    ] {
        let folder = Folder::new();
        folder.damage(|bytes| {
            bytes[16..20].copy_from_slice(&width.to_be_bytes());
            bytes[20..24].copy_from_slice(&height.to_be_bytes());
            let sum = crc(&bytes[12..29]);
            bytes[29..33].copy_from_slice(&sum.to_be_bytes());
        });
        let line = folder.refused(&folder.path("out.png"));
        assert!(line.starts_with(want), "{line}");
    }
}

/// Zeros compress a thousandfold: without a limit, a file of 4 MB takes 4 GB. Profiles are left
/// behind anyway.
#[cfg(target_os = "linux")]
#[allow(clippy::zombie_processes)] // `wait4` waits
#[test]
fn a_profile_is_not_unpacked_without_limit() {
    let folder = Folder::new();
    let mut info = png::Info::with_size(4, 3);
    info.icc_profile = Some(vec![0; 384 << 20].into());
    let file = std::fs::File::create(folder.path("in.png")).unwrap();
    let mut png = png::Encoder::with_info(file, info).unwrap().write_header().unwrap();
    png.write_image_data(&[7; 12]).unwrap();
    png.finish().unwrap();
    let program = placefield(&[]).get_program().to_owned();
    let child = std::process::Command::new(program)
        .args(["compress", "--engine", "cpu", "--threshold", "5"])
        .args([folder.path("in.png"), "-o".into(), folder.path("out.png")])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::uninit());
    // SAFETY: both pointers are to places of the types that are asked for.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr()) };
    assert_eq!((waited, status), (child.id() as i32, 0));
    // SAFETY: the call that fills it succeeded.
    let peak_kib = unsafe { usage.assume_init() }.ru_maxrss;
    assert!(peak_kib < 256 << 10, "{peak_kib} KiB");
    assert_eq!(read(&folder.path("out.png")).samples(), Samples::U8(vec![7; 12]));
}

#[test]
fn an_output_that_cannot_be_written_is_refused() {
    let folder = Folder::new();
    assert!(folder.refused(&folder.path("none/out.png")).starts_with("none/out.png: "));
    std::fs::create_dir(folder.path("folder")).unwrap();
    assert!(folder.refused(&folder.path("folder")).starts_with("folder: "));
}

#[cfg(not(feature = "cuda"))]
#[test]
fn cuda_needs_a_build_with_cuda() {
    let folder = Folder::new();
    let out = folder.path("out.png");
    failure(&[&"compress", &folder.path("in.png"), &"--threshold 5 --engine cuda -o", &out]);
    assert!(!out.exists());
}

#[test]
fn coefficients_and_bytes_are_reported() {
    let folder = Folder::new();
    let (input, out) = (folder.path("in.png"), folder.path("out.png"));
    let files: &[&dyn Words] = &[&input, &"-o", &out];
    let report = run_json(&[&"compress --json - --engine cpu --threshold 900", &files]);
    assert_eq!(report["kept"]["of"], 2880);
    assert_eq!(report["bytes"]["before"], std::fs::metadata(&input).unwrap().len());
    assert_eq!(report["bytes"]["after"], std::fs::metadata(&out).unwrap().len());
}
