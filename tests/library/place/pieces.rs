//! Schedules, Nesterov's coefficients and the clamp, against golden values.

use crate::common::{golden, numbers};
use placefield::charge::{Charge, ChargeOptions, Rectangles};
use placefield::grid::{BinGrid, Rect};
use placefield::place::{Bounds, nesterov, schedule};

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"))
}

fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-13 * want.abs(), "{got} {want}");
}

#[test]
fn gamma_follows_the_overflow() {
    let golden = golden("placer_pieces.json");
    let table = &golden["gamma_schedule"];
    for sample in table["samples"].as_array().unwrap() {
        close(schedule::gamma_factor(number(&sample["overflow"])), number(&sample["coef"]));
    }
    // A line of a published log of adaptec1 on 512 x 512 bins.
    let log = &table["real_log_check"];
    let die = Rect::at(459.0, 459.0, 10_692.0, 10_680.0);
    let base = schedule::base_gamma(&BinGrid::new(die, 512, 512).unwrap(), 4.0, 0.0);
    close(base, number(&log["base_gamma"]));
    let gamma = base * schedule::gamma_factor(number(&log["log_iter_587_overflow"]));
    assert!((gamma - number(&log["log_iter_588_gamma"])).abs() < 1e-5, "{gamma}");
}

#[test]
fn lambda_follows_the_rise_of_wirelength() {
    let golden = golden("placer_pieces.json");
    let table = &golden["density_weight_mu"];
    let reference = number(&table["ref_hpwl"]);
    let samples = table["samples"].as_array().unwrap();
    assert!(samples.len() > 40);
    for sample in samples {
        let iteration = sample["iteration"].as_u64().unwrap() as usize;
        let rise = number(&sample["delta_hpwl"]);
        close(schedule::mu(iteration, rise, reference), number(&sample["mu"]));
    }
}

#[test]
fn lambda_does_not_jump_where_wirelength_stays() {
    for iteration in [1, 100, 202, 900] {
        let (rises, step) = (-400..400, 1e-3);
        let mu = |k: i32| schedule::mu(iteration, 2e5 * step * f64::from(k), 2e5);
        for k in rises {
            assert!((mu(k + 1) - mu(k)).abs() < 0.1 * step, "{iteration}: {k}");
        }
    }
}

#[test]
fn lambda_grows_by_the_given_factor() {
    for growth in [1.01, 1.05, 1.1] {
        close(schedule::growth(schedule::mu(1, 0.0, 1.0), growth), growth);
    }
    // Where DREAMPlace's shrinks or stays, so does it.
    for rise in [2e5, 3e5] {
        let mu = schedule::mu(7, rise, 2e5);
        close(schedule::growth(mu, 1.02), mu);
    }
    close(schedule::growth(schedule::mu(1, 1e5, 2e5), 1.02), 1.02f64.sqrt());
}

#[test]
fn the_final_hpwl_is_guessed_from_the_overflow() {
    // Of a descent of ibm01 that ended at 4.09e7: within a sixth.
    for (hpwl, overflow) in [(1.07e7, 0.896), (1.84e7, 0.785), (2.75e7, 0.637), (3.66e7, 0.436)] {
        let guess = schedule::final_hpwl(hpwl, overflow);
        assert!((guess / 4.09e7 - 1.0).abs() < 0.17, "{overflow}: {guess:e}");
    }
    assert_eq!(schedule::final_hpwl(5.0, 0.0), 5.0);
    assert_eq!(schedule::final_hpwl(2e8, 0.5), 1000.0 * schedule::final_hpwl(2e5, 0.5));
    // Where nothing is spread nothing is infinite.
    assert!(schedule::final_hpwl(1.0, 1.0) > 1000.0 && schedule::final_hpwl(1.0, 1.2) < 1e5);
}

#[test]
fn unspread_starts_get_the_centred_density_weight() {
    let cold = 8e-5;
    assert_eq!(schedule::first_density_weight(1.0, cold), cold);
    assert_eq!(schedule::first_density_weight(1.3, cold), cold);
    assert_eq!(schedule::first_density_weight(0.0, cold), 1.0);
    assert!(schedule::first_density_weight(0.2, cold) > 0.1);
}

#[test]
fn nesterovs_coefficients() {
    let golden = golden("placer_pieces.json");
    let mut a = 1.0;
    for step in golden["nesterov"].as_array().unwrap() {
        let (momentum, next) = nesterov::momentum(a);
        close(a, number(&step["a_k"]));
        close(next, number(&step["a_kp1"]));
        assert!((momentum - number(&step["coef"])).abs() < 1e-14);
        a = next;
    }
}

#[test]
fn cells_are_clamped_into_the_die() {
    let golden = golden("placer_pieces.json");
    let case = &golden["move_boundary"];
    let [xl, yl, xh, yh] = numbers(&case["die"])[..] else { panic!("die") };
    let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| numbers(&case[key]));
    let grid = BinGrid::new(Rect { xl, yl, xh, yh }, 4, 4).unwrap();
    let cells = Rectangles::movable(&w, &h, &x, &y);
    let charge = Charge::from_rectangles(grid, &cells, &ChargeOptions::default()).unwrap();
    let bounds = Bounds::<f64>::of(&charge);
    let (want_x, want_y) = (numbers(&case["expected_x"]), numbers(&case["expected_y"]));
    for i in 0..x.len() {
        assert_eq!(bounds.clamp(i, x[i], y[i]), (want_x[i], want_y[i]), "cell {i}");
    }
}
