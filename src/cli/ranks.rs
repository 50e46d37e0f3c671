//! Several processes of one command, a rank each: `--rank`, `--world`, `--rendezvous`, or the
//! variables of `mpirun` and `torchrun`.

use super::failure::{Failure, usage};
use super::options::EngineChoice;
use clap::Args;
use clap::error::ErrorKind;

/// Options of a rank.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Several processes, with a GPU each, that solve together over NCCL")]
pub(crate) struct RankArgs {
    /// Which of them this is, counted from 0; with mpirun and torchrun known without
    #[arg(long, value_name = "N", requires = "world")]
    rank: Option<usize>,
    /// How many they are
    #[arg(long, value_name = "COUNT", requires = "rank")]
    world: Option<usize>,
    /// Address of the rendezvous, a free port of rank 0's host; MASTER_ADDR and MASTER_PORT unless
    /// given
    #[arg(long, value_name = "HOST:PORT")]
    rendezvous: Option<String>,
    /// Seconds that another rank is waited for
    #[arg(long, value_name = "SECONDS", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=3600))]
    patience: u64,
}

#[cfg(feature = "cuda")]
pub(crate) use crate::cuda::World;

/// Without CUDA there are none.
#[cfg(not(feature = "cuda"))]
pub(crate) enum World {}

#[cfg(feature = "cuda")]
impl RankArgs {
    /// Connects to the other ranks; `None` if this process is alone.
    ///
    /// # Errors
    /// Wrong usage for ranks of another engine, or that cannot be; else as [`World::join`].
    pub(crate) fn join(&self, engine: EngineChoice) -> Result<Option<World>, Failure> {
        use crate::cuda::WorldOptions;
        let on_gpus = matches!(engine, EngineChoice::Cuda(_) | EngineChoice::Several(_));
        let wrong = |message: &str| Err(usage(ErrorKind::InvalidValue, message));
        let place = self.rendezvous.as_deref();
        let options = match self.rank.zip(self.world) {
            Some(_) if !on_gpus => {
                return wrong(
                    "ranks solve on GPUs: expected '--engine cuda', cuda:N, cuda:N,M… or cuda:all",
                );
            }
            Some((rank, world)) => {
                let variable = |name| std::env::var(name).ok();
                let master = variable("MASTER_ADDR").zip(variable("MASTER_PORT"));
                let master = master.map(|(host, port)| format!("{host}:{port}"));
                let Some(place) = place.or(master.as_deref()) else {
                    return wrong("'--rank' needs '--rendezvous HOST:PORT', where ranks meet");
                };
                match WorldOptions::new(rank, world, place) {
                    Ok(options) => Some(options).filter(|_| world > 1),
                    Err(error) => return wrong(&error.to_string()),
                }
            }
            None if on_gpus => WorldOptions::from_environment(place)?,
            None => None,
        };
        if options.is_none() && place.is_some() && self.rank.is_none() {
            return wrong(
                "'--rendezvous' is for ranks: expected '--rank' and '--world', or mpirun or torchrun",
            );
        }
        let patience = std::time::Duration::from_secs(self.patience);
        Ok(options.map(|options| World::join(&options.patience(patience))).transpose()?)
    }
}

#[cfg(not(feature = "cuda"))]
impl RankArgs {
    pub(crate) fn join(&self, _: EngineChoice) -> Result<Option<World>, Failure> {
        let RankArgs { rank, rendezvous, patience: _, world: _ } = self;
        if rank.is_none() && rendezvous.is_none() {
            return Ok(None);
        }
        Err(usage(
            ErrorKind::InvalidValue,
            "this program was built without the cuda feature: no ranks",
        ))
    }
}

/// Returns the device of a rank: of those that were named, or all of its host, as many ranks are
/// before it there.
#[cfg(feature = "cuda")]
pub(crate) fn device_of(world: &World, engine: EngineChoice) -> usize {
    let found = crate::cuda::probe().devices.len();
    let all = match engine {
        EngineChoice::Several(devices) => devices.ordinals(found),
        EngineChoice::Cuda(0) => (0..found).collect(),
        EngineChoice::Cuda(device) | EngineChoice::Both(device) => vec![device],
        EngineChoice::Auto | EngineChoice::Cpu => Vec::new(),
    };
    // Where there is none, opening it reports that.
    if all.is_empty() { 0 } else { all[world.local_rank() % all.len()] }
}

/// Tells files with other numbers in them from each other.
#[cfg(feature = "cuda")]
pub(crate) fn digest(values: &[f64]) -> String {
    let hash = crate::hash::Fnv1a::new().list(values.iter().map(|v| v.to_bits()));
    format!("{:016x}", hash.finish())
}

/// Whether this rank writes files and prints.
pub(crate) fn writes(world: &World) -> bool {
    #[cfg(feature = "cuda")]
    return world.rank() == 0;
    #[cfg(not(feature = "cuda"))]
    match *world {}
}

/// Reports a failure of this rank to the others.
pub(crate) fn report_failure<V>(
    world: &Option<World>,
    outcome: Result<V, Failure>,
) -> Result<V, Failure> {
    #[cfg(feature = "cuda")]
    if let Some(world) = world {
        return world.report_failure(outcome);
    }
    #[cfg(not(feature = "cuda"))]
    let _ = world;
    outcome
}
