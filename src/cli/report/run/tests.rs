use super::*;
use crate::grid::{BinGrid, Map, Rect};
use crate::plot::{HeatMap, Scale};

fn image(nx: usize, ny: usize, value: impl Fn(usize) -> f64) -> Indexed {
    let map = Map::from_vec(nx, ny, (0..nx * ny).map(value).collect());
    let grid = BinGrid::new(Rect::at(0.0, 0.0, 1.0, 1.0), nx, ny).unwrap();
    HeatMap::new(&map, grid, Scale::Sequential).image()
}

fn film(frames: usize) -> Film {
    let noise = |seed: usize| image(512, 512, |k| (k * 7919 * seed % 251) as f64);
    Film { frames: (0..frames).map(|k| (10 * k, noise(k + 1))).collect(), ..Film::default() }
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
fn frames_lose_detail_until_none_is_left_to_lose() {
    let file = image(64, 32, |k| (k / 32) as f64).jpeg(QUALITIES[0]);
    assert!(file.starts_with(&[0xff, 0xd8]) && file.len() < 4000, "{}", file.len());
    let mut run = Run::new("t", vec![0], Vec::new(), &[], Some(film(1))).unwrap();
    let mut times = 1;
    while run.coarsen() {
        times += 1;
    }
    assert_eq!(times, QUALITIES.len());
}
