//! PNG files read back.

use std::path::Path;

/// An image in RGB of 8 bits, row by row from the top.
pub struct Png {
    pub width: u32,
    pub height: u32,
    pixels: Vec<[u8; 3]>,
}

impl Png {
    /// Decodes a file.
    pub fn decode(file: &[u8]) -> Png {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().unwrap();
        let (width, height) = reader.info().size();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut bytes).unwrap();
        let rgb = |pixel: &[u8]| match *pixel {
            [grey] | [grey, _] => [grey; 3],
            [r, g, b, ..] => [r, g, b],
            [] => unreachable!("a pixel has a sample"),
        };
        let samples = reader.output_color_type().0.samples();
        Png { width, height, pixels: bytes.chunks_exact(samples).map(rgb).collect() }
    }

    /// Reads the file at `path`.
    pub fn open(path: &Path) -> Png {
        Png::decode(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
    }

    /// The colour in column `x` of row `y`.
    pub fn at(&self, x: u32, y: u32) -> [u8; 3] {
        self.pixels[(y * self.width + x) as usize]
    }

    /// Every pixel's column, row and colour.
    pub fn pixels(&self) -> impl Iterator<Item = (u32, u32, [u8; 3])> {
        let places = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        places.zip(&self.pixels).map(|((x, y), &color)| (x, y, color))
    }
}
