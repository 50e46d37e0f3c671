use super::*;

fn film(frames: usize) -> Film {
    let noise = |seed: usize| (0..512 * 512).map(|k| (k * 7919 * seed % 251) as u8).collect();
    Film {
        nx: 512,
        ny: 512,
        full: 1.5,
        frames: (0..frames).map(|k| (10 * k, noise(k + 1))).collect(),
        ..Film::default()
    }
}

#[test]
fn fifty_frames_of_noise_are_all_kept() {
    let run = Run::new("t", (0..=490).collect(), Vec::new(), &[], Some(film(50))).unwrap();
    assert!(run.quality > 1);
    let frames = run.frames.as_ref().unwrap();
    assert_eq!((frames.images.len(), frames.images[3].row), (50, 30));
    assert_eq!(run.table.rows.len(), 26);
}

#[test]
fn a_frame_is_read_back_nearly_as_it_was() {
    let pixels: Vec<u8> = (0..64 * 32).map(|k| (k % 64 * 4) as u8).collect();
    let file = jpeg(&pixels, 64, 32, QUALITIES[0]);
    assert!(file.starts_with(&[0xff, 0xd8]) && file.len() < 2000);
    let mut run = Run::new("t", vec![0], Vec::new(), &[], Some(film(1))).unwrap();
    let mut times = 1;
    while run.coarsen() {
        times += 1;
    }
    assert_eq!(times, QUALITIES.len());
}
