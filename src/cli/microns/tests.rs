use super::*;

#[test]
fn lengths_have_twins_beside_them() {
    let mut document = json!({
        "design": {"units_per_micron": 2000.0, "die": [0, 0, 4000, 8000], "movable_area": 4e6},
        "hpwl": 1000.0,
        "hpwl_weighted": null,
        "displacement": {
            "mean": 200.0, "median": 100.0, "max": 800.0, "p95": 600.0, "cells": 3,
            "rows": {"mean": 2.0, "p95": 6.0, "max": 8.0},
            "farthest": [{"distance": 800.0, "from": [0.0, 0.0], "to": [800.0, 0.0]}],
        },
        "from": {"hpwl": 500.0},
    });
    add(&mut document);
    let at = |path: &str| document.pointer(path).cloned().unwrap_or_default();
    assert_eq!(at("/design/die_um"), json!([0.0, 0.0, 2.0, 4.0]));
    assert_eq!(at("/design/movable_area_um2"), 1.0);
    assert_eq!((at("/hpwl_um"), at("/from/hpwl_um")), (json!(0.5), json!(0.25)));
    assert_eq!((at("/displacement/max_um"), at("/displacement/p95_um")), (json!(0.4), json!(0.3)));
    assert_eq!(at("/displacement/farthest/0/to_um"), json!([0.4, 0.0]));
    for none in ["/hpwl_weighted_um", "/displacement/rows/mean_um", "/displacement/cells_um"] {
        assert_eq!(at(none), Value::Null, "{none}");
    }
    let keys: Vec<&String> = document["design"].as_object().unwrap().keys().collect();
    assert_eq!(keys[1..3], ["die", "die_um"], "beside it");
    let mut other = json!({"design": {"die": [0, 0, 1, 1]}, "hpwl": 1.0});
    let before = other.clone();
    add(&mut other);
    assert_eq!(other, before, "no length is known");
}
