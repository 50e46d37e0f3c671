use super::*;

#[test]
fn sizes_have_units() {
    for (text, bytes) in [("1", 1), ("500M", 500_000_000), ("1.5g", 1_500_000_000)] {
        assert_eq!(size(text), Ok(bytes));
    }
    for wrong in ["", "G", "0", "-1", "4X", "1e30", "nan", "inf", "4GB", "1é"] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
}
