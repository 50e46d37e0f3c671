use super::*;

fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

#[test]
fn every_type_and_order_is_read() {
    let f4: Vec<u8> =
        [1.5f32, -2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let array = Array::parse(&npy("<f4", false, "(2, 3)", &f4), "a").unwrap();
    assert_eq!((array.shape, array.values), (vec![2, 3], vec![1.5, -2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(array.precision, Precision::F32);
    // Column by column: the rows are (1.5, 3, 5) and (-2, 4, 6).
    let array = Array::parse(&npy("<f4", true, "(2, 3)", &f4), "a").unwrap();
    assert_eq!(array.values, [1.5, 3.0, 5.0, -2.0, 4.0, 6.0]);
    let big: Vec<u8> = [1.0f64, 7.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    let array = Array::parse(&npy(">f8", false, "(2,)", &big), "a").unwrap();
    assert_eq!((array.values, array.precision), (vec![1.0, 7.0], Precision::F64));
    assert_eq!(
        Array::parse(&npy("|u1", false, "(3,)", &[1, 2, 255]), "a").unwrap().values[2],
        255.0
    );
    let truth = Array::parse(&npy("|b1", false, "(3,)", &[1, 0, 1]), "a").unwrap();
    assert_eq!((truth.values, truth.precision), (vec![1.0, 0.0, 1.0], Precision::F64));
    // 1.5 and -2 in 16 bits, the second also with its bytes swapped.
    let half = Array::parse(&npy("<f2", false, "(2,)", &[0, 0x3e, 0, 0xc0]), "a").unwrap();
    assert_eq!((half.values, half.precision), (vec![1.5, -2.0], Precision::F32));
    let half = Array::parse(&npy(">f2", false, "(1,)", &[0xc0, 0]), "a").unwrap();
    assert_eq!(half.values, [-2.0]);
    let short = [-2i16, 9].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(Array::parse(&npy("<i2", false, "(1, 2)", &short), "a").unwrap().values[0], -2.0);
}

#[test]
fn files_without_real_arrays_are_refused() {
    for (bytes, want) in [
        (b"PK".to_vec(), "not a NumPy file"),
        (npy("<f4", false, "(1000000000000, 1000)", &[0; 16]), "cut short: "),
        (npy("<f4", false, "(2, 3)", &[0; 20]), "damaged NumPy file: "),
        (npy("<f4", false, "(0, 3)", &[]), "shape [0, 3]: expected"),
        (npy("<f4", false, "()", &[0; 4]), "shape []: expected"),
        (npy("<c8", false, "(1,)", &[0; 8]), "elements '<c8': expected"),
        (npy("<f16", false, "(1,)", &[0; 16]), "elements '<f16': expected"),
        (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "damaged NumPy file: "),
    ] {
        let error = Array::parse(&bytes, "a").err().unwrap();
        assert!(error.starts_with(want), "{error}");
    }
}
