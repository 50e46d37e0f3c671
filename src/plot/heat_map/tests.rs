use super::*;

#[test]
fn bins_and_pixels_divide_evenly_if_possible() {
    for (bins, want) in [(1, 1280), (64, 1280), (512, 1536), (1024, 1024), (2048, 1024)] {
        assert_eq!(whole(bins), want, "{bins}");
    }
    for bins in 1..=32_768 {
        let size = whole(bins);
        assert!((800..=1720).contains(&size), "{bins} bins on {size} pixels");
    }
}
