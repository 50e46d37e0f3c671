use super::*;

#[test]
fn amdahls_law_by_hand() {
    assert_eq!(amdahls_law(1.0, 2.0), 2.0);
    assert_eq!(amdahls_law(0.0, 2.0), 1.0);
    assert_eq!(amdahls_law(0.5, 2.0), 4.0 / 3.0);
}

#[test]
fn operation_counts_match_the_paper() {
    let [naive, efficient] = operations(256);
    assert_eq!(naive, NAIVE);
    for (got, want) in efficient.into_iter().zip(EFFICIENT) {
        assert!(got >= want && got < 1.02 * want, "{got} {want}");
    }
    let per_read =
        |[reads, multiplications, additions]: Operations| (multiplications + additions) / reads;
    assert_eq!([NAIVE, EFFICIENT].map(per_read), [8.5, 14.0]);
}
