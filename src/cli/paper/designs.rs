//! The contest's designs, generated once for all tables that need them.

use super::target::BenchError;
use crate::charge::{Charge, ChargeOptions};
use crate::cli::generate::{Spec, generate};
use crate::grid::BinGrid;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;
use std::sync::Arc;

/// Charges of generated designs: cells and fillers, without nets, which play no part here.
#[derive(Default)]
pub struct Designs(HashMap<(&'static str, usize), Arc<Charge>>);

impl Designs {
    /// Returns the charge of a design at the statistics of the ISPD 2005 circuit `name`, fillers
    /// included, on `bins × bins` bins, all of them uniform over the die.
    ///
    /// # Errors
    /// When there is no circuit of that name, or it cannot be generated.
    pub fn charge(&mut self, name: &'static str, bins: usize) -> Result<Arc<Charge>, BenchError> {
        if let Some(charge) = self.0.get(&(name, bins)) {
            return Ok(charge.clone());
        }
        let charge = Arc::new(
            make(name, bins).map_err(|e| BenchError::failed(format!("generating {name}"), e))?,
        );
        self.0.insert((name, bins), charge.clone());
        Ok(charge)
    }
}

fn make(name: &str, bins: usize) -> Result<Charge, Box<dyn std::error::Error + Send + Sync>> {
    let design = generate(&Spec { nets: 0, pins: 0, ..Spec::preset(name)? })?;
    let die = design.die().ok_or("no rows")?;
    let options = ChargeOptions::default().fillers(true);
    let mut charge = Charge::from_design(&design, BinGrid::new(die, bins, bins)?, &options)?;
    // Cells uniform over the die, as in the middle of a placement.
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let (mut x, mut y) = (charge.initial_x().to_vec(), charge.initial_y().to_vec());
    for i in 0..charge.movable() {
        let (width, height) = (charge.width()[i], charge.height()[i]);
        x[i] = die.xl + (die.width() - width) * random.random::<f64>();
        y[i] = die.yl + (die.height() - height) * random.random::<f64>();
    }
    charge.set_initial(&x, &y)?;
    Ok(charge)
}
