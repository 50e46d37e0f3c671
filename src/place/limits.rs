//! Causes that keep a placement's overflow from falling, found before it begins or at its end.

use super::standard::{ClassOverflow, OverflowParts};
use crate::charge::{Charge, ChargeError};
use crate::parallel;
use crate::warning::{Warning, WarningCode};

/// Returns a lower bound of the overflow of any placement of `charge` with all cells on the die:
/// the movable area that exceeds the space left by fixed cells at the target density, over the
/// movable area. The smoothed overflow can be a little less, because area that is stretched beyond
/// the die's edge is not counted.
pub fn least_overflow(charge: &Charge) -> f64 {
    let of_region = |region: usize| {
        let target = charge.region_target_density(region);
        let room = target * charge.grid().bin_area();
        let fixed = charge.region_fixed(region).as_slice();
        let free = parallel::sum(fixed.len(), |bin| (room - fixed[bin]).max(0.0));
        // Macros weigh the target density once they are placed.
        let macros = charge.macros().iter().map(|&i| i as usize);
        let macros = macros.filter(|&i| charge.region(i) == region);
        let macros: f64 = macros.map(|i| charge.width()[i] * charge.height()[i]).sum();
        let area = charge.region_movable_area(region) - (1.0 - target) * macros;
        if area > 0.0 { (area - free).max(0.0) } else { 0.0 }
    };
    let over: f64 = (0..charge.regions()).map(of_region).sum();
    if over > 0.0 { over / charge.movable_area() } else { 0.0 }
}

/// Returns the first movable cell that is wider or higher than the die.
pub fn too_large(charge: &Charge) -> Option<usize> {
    let die = charge.grid().die();
    let fits = |i: usize| charge.width()[i] <= die.width() && charge.height()[i] <= die.height();
    (0..charge.movable()).find(|&i| !fits(i))
}

/// Returns warnings about placing `charge` to a smoothed overflow of `stop_overflow`.
pub fn obstacles(charge: &Charge, stop_overflow: f64) -> Vec<Warning> {
    let mut found = Vec::new();
    let least = least_overflow(charge);
    if least > stop_overflow {
        let message = format!(
            "no placement on the die has less exact overflow than {least:.4}, \
             for the movable cells are more than \
             the space that fixed cells leave at target density {}; {stop_overflow} is asked for",
            charge.target_density()
        );
        found.push(Warning::new(WarningCode::OverflowOutOfReach, message));
    }
    found
}

/// Returns the main cause of a placement's overflow, as a clause of a sentence. `x` and `y` are
/// lower-left corners, layout units, of at least the movable cells.
///
/// # Errors
/// Never for a valid charge.
pub fn limit(charge: &Charge, x: &[f64], y: &[f64]) -> Result<String, ChargeError> {
    let mut cells = ClassOverflow::of(charge)?;
    let parts = cells.parts(x, y);
    let OverflowParts { on_fixed, on_macros, elsewhere, .. } = parts;
    let all = on_fixed + on_macros + elsewhere;
    let percent = |part: f64| 100.0 * part / all.max(f64::MIN_POSITIVE);
    let least = least_overflow(charge) * charge.movable_area();
    if least > 0.5 * all {
        return Ok(format!(
            "at target density {} the movable cells are more than the space that fixed cells leave",
            charge.target_density()
        ));
    }
    Ok(if on_macros >= on_fixed.max(elsewhere) {
        let macros = match cells.macros().len() {
            1 => "the one movable macro".to_owned(),
            count => format!("{count} movable macros"),
        };
        format!("{:.0} % of the overflow lies on {macros}", percent(on_macros))
    } else if on_fixed >= elsewhere {
        format!("{:.0} % of the overflow lies on and beside fixed cells", percent(on_fixed))
    } else {
        let mean = charge.movable_area() / charge.movable().max(1) as f64;
        format!(
            "{:.0} % of the overflow lies among standard cells, whose mean area is {:.2} of a bin, \
             at target density {}",
            percent(elsewhere),
            mean / charge.grid().bin_area(),
            charge.target_density()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{ChargeOptions, Rectangles};
    use crate::grid::{BinGrid, Rect};

    /// Returns a die of 64, a block of 32 on it, and four cells of `width` x 2.
    fn charge(width: f64, fillers: bool) -> Charge {
        let grid = BinGrid::new(Rect::at(0.0, 0.0, 8.0, 8.0), 8, 8).unwrap();
        let block = [Rect::at(0.0, 0.0, 8.0, 4.0)];
        let (width, height, at) = ([width; 4], [2.0; 4], [0.0; 4]);
        let cells = Rectangles::movable(&width, &height, &at, &at).fixed(&block);
        let options = ChargeOptions::default().fillers(fillers);
        Charge::from_rectangles(grid, &cells, &options).unwrap()
    }

    #[test]
    fn cells_that_do_not_fit_are_known_before() {
        assert_eq!(least_overflow(&charge(4.0, true)), 0.0);
        assert!(obstacles(&charge(4.0, true), 0.07).is_empty());
        // 40 on 32: a fifth overflows.
        let full = charge(5.0, true);
        assert!((least_overflow(&full) - 0.2).abs() < 1e-12);
        let said = obstacles(&full, 0.07);
        assert!(said.len() == 1 && said[0].message.contains("0.2000"), "{said:?}");
        assert!(obstacles(&full, 0.3).is_empty());
        assert_eq!([8.0, 9.0].map(|width| too_large(&charge(width, false))), [None, Some(0)]);
    }

    #[test]
    fn limit_names_where_the_overflow_lies() {
        let charge = charge(2.0, true);
        let said = |x: f64, y: f64| limit(&charge, &[x; 4], &[y; 4]).unwrap();
        assert!(said(3.0, 1.0).contains("100 % of the overflow lies on and beside fixed"));
        assert!(said(3.0, 6.0).contains("100 % of the overflow lies among standard cells"));
    }
}
