//! The rank of a process and the number of ranks, from options or from the launchers `torchrun` and
//! `mpirun`.

use super::check_count;
use crate::cuda::device::CudaError;
use std::time::Duration;

/// The rank of a process, which has one device, among all ranks that work together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankOptions {
    pub(super) rank: usize,
    pub(super) size: usize,
    local_rank: usize,
    pub(super) patience: Duration,
}

/// Variables that a launcher sets: rank, number of ranks, and rank within the host.
const LAUNCHERS: [[&str; 3]; 3] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
    ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"],
    ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
];

impl RankOptions {
    /// Returns rank `rank` of `size`.
    ///
    /// # Errors
    /// [`CudaError::Peers`] for a rank that is not below `size`, or more than 16 ranks.
    pub fn new(rank: usize, size: usize) -> Result<Self, CudaError> {
        check_count(size)?;
        if rank >= size {
            let counted = format!("rank {rank} of {size}: ranks are counted from 0");
            return Err(CudaError::Peers(counted));
        }
        Ok(RankOptions { rank, size, local_rank: rank, patience: super::nccl::PATIENCE })
    }

    /// Sets the longest wait for other ranks, when they connect and in an exchange: 8 seconds by
    /// default, and at least one.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        RankOptions { patience: patience.max(Duration::from_secs(1)), ..self }
    }

    /// Returns this process's rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the rank within this host, by which a process chooses its device: the launcher's
    /// value, or otherwise the rank.
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// Returns the options set by `torchrun` (`RANK`, `WORLD_SIZE`, `LOCAL_RANK`), Open MPI
    /// (`OMPI_COMM_WORLD_RANK` and so on), MPICH or Intel MPI (`PMI_RANK` and so on). Returns
    /// `None` if no launcher has started this process or it is alone.
    ///
    /// # Errors
    /// [`CudaError::Peers`] for variables that are not numbers or are inconsistent.
    pub fn from_environment() -> Result<Option<Self>, CudaError> {
        Self::from_variables(&|name| std::env::var(name).ok())
    }

    fn from_variables(
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, CudaError> {
        let number = |name: &str| {
            let read = |text: String| {
                let wrong = |_| CudaError::Peers(format!("{name}={text}: expected a whole number"));
                text.parse::<usize>().map_err(wrong)
            };
            variable(name).map(read).transpose()
        };
        for [rank, size, local] in LAUNCHERS {
            let Some((rank, size)) = number(rank)?.zip(number(size)?) else { continue };
            if size == 1 {
                return Ok(None);
            }
            let options = RankOptions::new(rank, size)?;
            let local_rank = number(local)?.unwrap_or(rank);
            return Ok(Some(RankOptions { local_rank, ..options }));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<RankOptions>, CudaError> {
        RankOptions::from_variables(&|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn launchers_are_understood() {
        let found = |variables: &[_]| {
            let RankOptions { rank, size, local_rank, .. } = read(variables).unwrap().unwrap();
            (rank, size, local_rank)
        };
        assert_eq!(found(&[("RANK", "5"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1")]), (5, 8, 1));
        let mpi = [
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "3"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ];
        assert_eq!(found(&mpi), (2, 3, 0));
        assert_eq!(found(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), (1, 2, 1));
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&[("RANK", "3")]).unwrap(), None);
        assert_eq!(read(&[("RANK", "0"), ("WORLD_SIZE", "1")]).unwrap(), None);
    }

    #[test]
    fn inconsistent_rank_options_are_refused() {
        let message = |variables: &[_]| read(variables).unwrap_err().to_string();
        let wrong = [("RANK", "3"), ("WORLD_SIZE", "3")];
        assert!(message(&wrong).contains("rank 3 of 3: ranks are counted from 0"));
        let wrong = [("RANK", "x"), ("WORLD_SIZE", "3")];
        assert!(message(&wrong).contains("RANK=x: expected a whole number"));
        assert!(RankOptions::new(0, 17).is_err());
        assert!(RankOptions::new(0, 0).is_err());
    }
}
