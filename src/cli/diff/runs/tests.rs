use super::*;

fn run(name: &str, hpwl: Option<f64>, overflow_smoothed: f64) -> Run {
    let overflow_smoothed = Some(overflow_smoothed);
    let result = ResultPart { hpwl, overflow_smoothed, ..ResultPart::default() };
    Run { name: name.to_owned(), result, ..Run::default() }
}

#[test]
fn a_run_beats_those_it_dominates() {
    let [short, even, long] = [1.0, 1.5, 2.0].map(Some);
    let (a, b, c) = (run("a", short, 0.2), run("b", long, 0.1), run("c", long, 0.2));
    assert!(!a.beats(&b) && !b.beats(&a) && a.beats(&c) && b.beats(&c));
    assert!(!a.beats(&run("d", short, 0.2)), "alike");
    assert!(run("e", even, 0.1).beats(&b) && !a.beats(&run("none", None, 1.0)));
}
