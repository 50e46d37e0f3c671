//! `placefield place`: a global placement of a design.

use super::Failure;
use super::common::{
    EvaluationArgs, Opened, charge_of, check_output, open_design, tell, with_precision,
};
use super::engines::{self, Chosen, EngineReal};
use clap::{Args, ValueEnum};
use placefield::bookshelf::write_pl;
use placefield::place::{HostBackend, PlaceOptions, Placer, schedule, start};
use placefield::wirelength::{LARGE_NET, Netlist};
use std::path::PathBuf;

/// Options of `placefield place`.
#[derive(Args)]
pub(crate) struct PlaceArgs {
    /// The design's .aux file
    #[arg(value_name = "DESIGN.aux")]
    aux: PathBuf,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// The placement, as a .pl file
    #[arg(short, long, value_name = "OUT.pl")]
    output: PathBuf,
    /// Where cells start: where the .pl file has them, or at the die's centre
    #[arg(long, value_enum, default_value_t = InitArg::Center, value_name = "START")]
    init: InitArg,
    /// Smoothed overflow at which the placement is done
    #[arg(long, value_name = "OVERFLOW", default_value_t = 0.07)]
    stop_overflow: f64,
    /// Most iterations
    #[arg(long, value_name = "K", default_value_t = 1000)]
    iterations: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InitArg {
    File,
    Center,
}

pub(crate) fn run(args: &PlaceArgs) -> Result<(), Failure> {
    args.evaluation.options.engine.only_one()?;
    check_output(&args.output)?;
    let opened = open_design(&args.aux, &args.evaluation)?;
    with_precision!(args.evaluation.options.precision(), T => place::<T>(args, opened))
}

fn place<T: EngineReal>(args: &PlaceArgs, opened: Opened) -> Result<(), Failure> {
    let options = &args.evaluation.options;
    let charge = charge_of(&opened.design, options)?;
    let netlist = Netlist::from_design(&opened.design, LARGE_NET)
        .ok_or("the design has no nets to place by")?;
    let (x, y) = match args.init {
        InitArg::File => (charge.initial_x.clone(), charge.initial_y.clone()),
        InitArg::Center => start::centred(&charge, 1000),
    };
    let least_hpwl = schedule::least_hpwl(&netlist, &charge);
    let Chosen { mut engines, note } =
        engines::open::<T>(charge, &options.engine_options(), options.engine)?;
    tell(note.as_deref(), &[]);
    let mut backend = HostBackend::new(engines.remove(0), &netlist)?;
    let place_options = PlaceOptions {
        stop_overflow: args.stop_overflow,
        iterations: args.iterations,
        least_hpwl,
        warm: args.init == InitArg::File,
    };
    let begun = std::time::Instant::now();
    let mut placer = Placer::new(&mut backend, &x, &y, &place_options)?;
    while let Some(r) = placer.step()? {
        if r.iteration % 20 == 0 {
            eprintln!("{} hpwl {:.4e} wa {:.4e} ovf {:.4} max {:.2} lambda {:.3e} gamma {:.3} step {:.3e} tries {}",
                r.iteration, r.sample.hpwl, r.sample.wirelength, r.sample.density.overflow, r.sample.density.max, r.lambda, r.gamma, r.step, r.tries);
        }
    }
    let r = *placer.last();
    eprintln!("{:?} {} hpwl {:.4e} ovf {:.4} {:?} {:?}", placer.outcome(), r.iteration, r.sample.hpwl, r.sample.density.overflow, r.times, begun.elapsed());
    let (x, y) = placer.positions()?;
    let mut design = opened.design;
    let movable: Vec<usize> = design.movable().collect();
    for (body, node) in movable.into_iter().enumerate() {
        design.placement.x[node] = x[body];
        design.placement.y[node] = y[body];
    }
    write_pl(&args.output, &design)?;
    Ok(())
}
