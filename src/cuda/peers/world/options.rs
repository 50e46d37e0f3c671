//! Rank of a process, number of ranks, and address of their rendezvous.

use super::WorldError;
use crate::cuda::peers::MOST_RANKS;
use std::time::Duration;

/// How long a rank waits for the others.
const PATIENCE: Duration = Duration::from_secs(8);

/// How a process finds the other ranks of its [`World`](super::World).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldOptions {
    pub(super) rank: usize,
    pub(super) size: usize,
    pub(super) rendezvous: String,
    pub(super) patience: Duration,
}

impl WorldOptions {
    /// Makes rank `rank` of `size`, with the rendezvous `HOST:PORT` of rank 0.
    ///
    /// # Errors
    /// [`WorldError::Options`] for a rank that is not below `size`, more than 16 ranks, or an
    /// address without a port.
    pub fn new(rank: usize, size: usize, rendezvous: &str) -> Result<Self, WorldError> {
        if !(1..=MOST_RANKS).contains(&size) {
            let expected = format!("a world of {size} ranks: expected 1 to {MOST_RANKS}");
            return Err(WorldError::Options(expected));
        }
        if rank >= size {
            let expected = format!("rank {rank} of {size}: ranks are counted from 0");
            return Err(WorldError::Options(expected));
        }
        let port = rendezvous.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
        match port {
            Some((host, Ok(1..))) if !host.is_empty() => {
                let rendezvous = rendezvous.to_owned();
                Ok(WorldOptions { rank, size, rendezvous, patience: PATIENCE })
            }
            _ => Err(WorldError::Options(format!(
                "{rendezvous:?} is no place to meet: expected HOST:PORT of rank 0"
            ))),
        }
    }

    /// Sets how long others are waited for, at the rendezvous and in an exchange: 8 seconds unless
    /// set, and at least one.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        WorldOptions { patience: patience.max(Duration::from_secs(1)), ..self }
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the options that `torchrun` or `mpirun` set, or `None` if neither has started this
    /// process or it is alone.
    ///
    /// | | rank, ranks | where they meet |
    /// |---|---|---|
    /// | `torchrun` | `RANK`, `WORLD_SIZE` | `MASTER_ADDR`, `MASTER_PORT`; the port after it where the launcher itself listens there (`TORCHELASTIC_USE_AGENT_STORE`) |
    /// | Open MPI | `OMPI_COMM_WORLD_RANK`, `OMPI_COMM_WORLD_SIZE` | `MASTER_ADDR`, `MASTER_PORT` |
    /// | MPICH, Intel MPI | `PMI_RANK`, `PMI_SIZE` | likewise |
    ///
    /// # Errors
    /// [`WorldError::Options`] for variables that do not fit together; with `rendezvous`, which
    /// goes before the environment, only for ranks.
    pub fn from_environment(rendezvous: Option<&str>) -> Result<Option<Self>, WorldError> {
        Self::from_variables(&|name| std::env::var(name).ok(), rendezvous)
    }

    fn from_variables(
        variable: &dyn Fn(&str) -> Option<String>,
        rendezvous: Option<&str>,
    ) -> Result<Option<Self>, WorldError> {
        const LAUNCHERS: [[&str; 2]; 3] = [
            ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
            ["PMI_RANK", "PMI_SIZE"],
            ["RANK", "WORLD_SIZE"],
        ];
        let set = |[rank, size]: [&'static str; 2]| {
            Some([(rank, variable(rank)?), (size, variable(size)?)])
        };
        let Some([rank, size]) = LAUNCHERS.into_iter().find_map(set) else { return Ok(None) };
        let number = |(name, text): &(&str, String)| {
            let wrong = || format!("{name}={text}: expected a whole number");
            text.parse::<usize>().map_err(|_| WorldError::Options(wrong()))
        };
        let (rank, size) = (number(&rank)?, number(&size)?);
        if size == 1 {
            return Ok(None);
        }
        let address = match rendezvous {
            Some(rendezvous) => rendezvous.to_owned(),
            None => {
                let (Some(host), Some(port)) = (variable("MASTER_ADDR"), variable("MASTER_PORT"))
                else {
                    let missing = format!(
                        "rank {rank} of {size} is not told where to meet: expected --rendezvous \
                         HOST:PORT, or MASTER_ADDR and MASTER_PORT"
                    );
                    return Err(WorldError::Options(missing));
                };
                let port = number(&("MASTER_PORT", port))?;
                let taken = variable("TORCHELASTIC_USE_AGENT_STORE");
                let taken = taken.is_some_and(|value| value.eq_ignore_ascii_case("true"));
                format!("{host}:{}", port.saturating_add(taken.into()))
            }
        };
        WorldOptions::new(rank, size, &address).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        variables: &[(&str, &str)],
        rendezvous: Option<&str>,
    ) -> Result<Option<WorldOptions>, WorldError> {
        let of = |name: &str| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        };
        WorldOptions::from_variables(&of, rendezvous)
    }

    #[test]
    fn launchers_are_understood() {
        let torchrun = [
            ("RANK", "1"),
            ("WORLD_SIZE", "4"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node7"),
            ("MASTER_PORT", "29500"),
        ];
        let found = read(&torchrun, None).unwrap().unwrap();
        assert_eq!((found.rank, found.size, found.rendezvous.as_str()), (1, 4, "node7:29500"));
        let agent = [&torchrun[..], &[("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat();
        assert_eq!(read(&agent, None).unwrap().unwrap().rendezvous, "node7:29501");
        assert_eq!(read(&agent, Some("a:7")).unwrap().unwrap().rendezvous, "a:7");
        let mpi = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3")];
        let found = read(&mpi, Some("[::1]:80")).unwrap().unwrap();
        assert_eq!((found.rank, found.size), (2, 3));
        let hydra = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        assert_eq!(read(&hydra, Some("h:1")).unwrap().unwrap().size, 2);
        assert_eq!(read(&[], None).unwrap(), None);
        assert_eq!(read(&[("RANK", "3")], None).unwrap(), None);
        assert_eq!(read(&[("RANK", "0"), ("WORLD_SIZE", "1")], None).unwrap(), None);
    }

    #[test]
    fn inconsistent_rank_options_are_refused() {
        let message =
            |variables: &[_], rendezvous| read(variables, rendezvous).unwrap_err().to_string();
        let mpi = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "3")];
        assert!(message(&mpi, None).contains("rank 2 of 3 is not told where to meet"));
        for (place, expected) in [("host", "HOST:PORT"), (":1", "HOST:PORT"), ("h:0", "HOST:PORT")]
        {
            assert!(message(&mpi, Some(place)).contains(expected), "{place}");
        }
        let wrong = [("RANK", "3"), ("WORLD_SIZE", "3")];
        assert!(message(&wrong, Some("h:1")).contains("rank 3 of 3: ranks are counted from 0"));
        let wrong = [("RANK", "x"), ("WORLD_SIZE", "3")];
        assert!(message(&wrong, Some("h:1")).contains("RANK=x: expected a whole number"));
        assert!(WorldOptions::new(0, 17, "h:1").is_err());
        assert!(WorldOptions::new(0, 0, "h:1").is_err());
    }
}
