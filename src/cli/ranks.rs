//! One command in several processes, one per rank: `--rank`, `--world`, `--rendezvous`, or the
//! variables of `mpirun` and `torchrun`. NCCL connects the processes.

use super::failure::{Failure, usage};
use crate::engines::EngineChoice;
use clap::Args;
use clap::error::ErrorKind;

/// Options of a rank.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Several processes over NCCL, one GPU per process")]
pub(crate) struct RankArgs {
    /// Number of this process, from 0 [default: from mpirun or torchrun]
    #[arg(long, value_name = "N", requires = "world")]
    rank: Option<usize>,
    /// Number of processes [default: from mpirun or torchrun]
    #[arg(long, value_name = "COUNT", requires = "rank")]
    world: Option<usize>,
    /// Address that connects the processes: a free port of rank 0's host [default: NCCL_COMM_ID, or
    /// MASTER_ADDR and MASTER_PORT]
    #[arg(long, value_name = "HOST:PORT")]
    rendezvous: Option<String>,
    /// Seconds to wait for another process
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 8,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    patience: u64,
}

#[cfg(feature = "cuda")]
pub(crate) use crate::cuda::RankOptions;

/// Without CUDA there are none.
#[cfg(not(feature = "cuda"))]
pub(crate) enum RankOptions {}

#[cfg(feature = "cuda")]
impl RankArgs {
    /// Returns this process's rank, or `None` if it is alone.
    ///
    /// # Errors
    /// Wrong usage for ranks of another engine, that cannot be, or that have no address.
    pub(crate) fn options(&self, engine: EngineChoice) -> Result<Option<RankOptions>, Failure> {
        let on_gpus = matches!(engine, EngineChoice::Cuda(_) | EngineChoice::Several(_));
        let wrong = |message: &str| Err(usage(ErrorKind::InvalidValue, message));
        let options = match self.rank.zip(self.world) {
            Some(_) if !on_gpus => {
                return wrong(
                    "ranks solve on GPUs: expected '--engine cuda', cuda:N, cuda:N,M… or cuda:all",
                );
            }
            Some((rank, world)) => match RankOptions::new(rank, world) {
                Ok(options) => Some(options).filter(|_| world > 1),
                Err(error) => return wrong(&error.to_string()),
            },
            None if on_gpus => RankOptions::from_environment()?,
            None => None,
        };
        if options.is_none() && self.rendezvous.is_some() && self.rank.is_none() {
            return wrong(
                "'--rendezvous' is for ranks: expected '--rank' and '--world', \
                 or mpirun or torchrun",
            );
        }
        let variable = |name: &str| std::env::var(name).ok();
        if let Some(options) = &options {
            let address = self.rendezvous.clone().or_else(|| address(&variable));
            if !address.is_some_and(|address| is_address(&address)) {
                return wrong(&format!(
                    "rank {} of {} does not know where to meet: expected --rendezvous HOST:PORT, \
                     NCCL_COMM_ID, or MASTER_ADDR and MASTER_PORT",
                    options.rank(),
                    options.size()
                ));
            }
        }
        let patience = std::time::Duration::from_secs(self.patience);
        Ok(options.map(|options| options.patience(patience)))
    }

    /// Returns the variables that NCCL reads for this rank, if the process is one.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        if self.rank.is_none() && !matches!(RankOptions::from_environment(), Ok(Some(_))) {
            return Vec::new();
        }
        let variable = |name: &str| std::env::var(name).ok();
        let address = self.rendezvous.clone().or_else(|| address(&variable));
        address.map(|address| (ADDRESS, address)).into_iter().collect()
    }
}

/// The variable that tells NCCL where ranks meet.
#[cfg(feature = "cuda")]
const ADDRESS: &str = "NCCL_COMM_ID";

/// Returns where the ranks meet, as the environment says: the address for NCCL, or the launcher's,
/// and the port after it where the launcher itself listens there (`TORCHELASTIC_USE_AGENT_STORE`).
#[cfg(feature = "cuda")]
fn address(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if let Some(address) = variable(ADDRESS) {
        return Some(address);
    }
    let port: u16 = variable("MASTER_PORT")?.parse().ok()?;
    let listens = variable("TORCHELASTIC_USE_AGENT_STORE");
    let listens = listens.is_some_and(|value| value.eq_ignore_ascii_case("true"));
    Some(format!("{}:{}", variable("MASTER_ADDR")?, port.saturating_add(listens.into())))
}

#[cfg(feature = "cuda")]
fn is_address(text: &str) -> bool {
    let parts = text.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
    matches!(parts, Some((host, Ok(1..))) if !host.is_empty())
}

#[cfg(not(feature = "cuda"))]
impl RankArgs {
    pub(crate) fn options(&self, _: EngineChoice) -> Result<Option<RankOptions>, Failure> {
        let RankArgs { rank, rendezvous, patience: _, world: _ } = self;
        if rank.is_none() && rendezvous.is_none() {
            return Ok(None);
        }
        Err(usage(
            ErrorKind::InvalidValue,
            "this program was built without the cuda feature: no ranks",
        ))
    }

    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Returns the device of a rank: of those that were named, or all of its host, in turn.
#[cfg(feature = "cuda")]
pub(crate) fn device_of(options: &RankOptions, engine: EngineChoice) -> usize {
    let found = crate::cuda::probe().devices.len();
    let all = match engine {
        EngineChoice::Several(devices) => devices.ordinals(found),
        EngineChoice::Cuda(0) => (0..found).collect(),
        EngineChoice::Cuda(device) => vec![device],
        EngineChoice::Auto | EngineChoice::Cpu => Vec::new(),
    };
    // Where there is none, opening it reports that.
    if all.is_empty() { 0 } else { all[options.local_rank() % all.len()] }
}

/// Whether this rank writes files and prints.
pub(crate) fn writes(options: &RankOptions) -> bool {
    #[cfg(feature = "cuda")]
    return options.rank() == 0;
    #[cfg(not(feature = "cuda"))]
    match *options {}
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_where_ranks_meet() {
        let of = |variables: &[(&str, &str)]| {
            let find = |name: &str| {
                let found = variables.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            address(&find)
        };
        let launcher = [("MASTER_ADDR", "node7"), ("MASTER_PORT", "29500")];
        assert_eq!(of(&launcher).as_deref(), Some("node7:29500"));
        let agent = [&launcher[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat();
        assert_eq!(of(&agent).as_deref(), Some("node7:29501"));
        let own = [&launcher[..], &[("NCCL_COMM_ID", "[::1]:80")]].concat();
        assert_eq!(of(&own).as_deref(), Some("[::1]:80"));
        assert_eq!(of(&launcher[..1]), None);
        for (text, is) in
            [("h:1", true), ("[::1]:80", true), ("h", false), (":1", false), ("h:0", false)]
        {
            assert_eq!(is_address(text), is, "{text}");
        }
    }
}
