//! Processes that work together, a rank each, on one host or several: how they connect, agree and
//! notice each other's end.
//!
//! Rank 0 listens at the address that all are given; the others connect to it, and rank 0 forwards
//! each one's messages. A process that ends, fails, or no longer answers is thus noticed by all
//! within seconds, whatever devices are doing. Only a few numbers go this way: maps go from device
//! to device.
//!
//! Nothing here authenticates connections: as with NCCL and the launchers themselves, the network
//! between ranks has to be one that is trusted.

mod meet;
mod options;
mod wire;

pub use options::WorldOptions;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::{Message, receive, send};

/// Between two signs of life.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// Why ranks do not, or no longer, work together. The same on every rank, but for who was waited
/// for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WorldError {
    /// A rank, a number of ranks or an address that cannot be.
    #[error("{0}")]
    Options(String),
    /// Rank 0 cannot listen, or the others cannot reach it.
    #[error("rank {rank}: {address}: {reason}")]
    Address {
        /// The rank whose error it is.
        rank: usize,
        /// The address of the rendezvous.
        address: String,
        /// The reason.
        reason: String,
    },
    /// Ranks that did not come to the rendezvous.
    #[error("{}", absent(.ranks, *.size, .address, *.patience))]
    Absent {
        /// The absent ranks, as rank 0 knows; none where rank 0 did not say.
        ranks: Vec<usize>,
        /// How many there were to be.
        size: usize,
        /// The address of the rendezvous.
        address: String,
        /// How long they were waited for.
        patience: Duration,
    },
    /// Ranks that were started with different things.
    #[error("ranks disagree: {0}")]
    Disagree(String),
    /// Work of a rank failed, or its process ended.
    #[error("rank {rank} failed: {reason}")]
    Failed {
        /// Which.
        rank: usize,
        /// The error it sent, or the one observed.
        reason: String,
    },
}

fn absent(ranks: &[usize], size: usize, address: &str, patience: Duration) -> String {
    let list: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let who = match ranks.len() {
        0 => format!("not all of {size} ranks have"),
        1 => format!("rank {} of {size} has not", list[0]),
        _ => format!("ranks {} of {size} have not", list.join(", ")),
    };
    format!("{who} come to {address} within {} s", patience.as_secs_f32())
}

/// The connected ranks, as one of them sees them. Clones share it; when the last is dropped, the
/// rank leaves.
#[derive(Clone)]
pub struct World(Arc<Member>);

struct Member {
    rank: usize,
    patience: Duration,
    /// The host of each rank.
    hosts: Vec<String>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// State shared by the threads that listen to the others.
struct Shared {
    rank: usize,
    /// To every other rank at rank 0, to rank 0 at the others; by rank.
    links: Vec<Option<Link>>,
    state: Mutex<State>,
    changed: Condvar,
    /// Held while a failure is passed on: no rank leaves meanwhile.
    telling: Mutex<()>,
}

/// A connection: one message at a time is written to it.
struct Link(Mutex<TcpStream>);

#[derive(Default)]
struct State {
    failure: Option<WorldError>,
    /// On rank 0: values that each has offered and rank 0 has not yet used.
    offers: Vec<VecDeque<(String, Value)>>,
    /// On the others: rank 0's answers.
    answers: VecDeque<Vec<Value>>,
    /// Which ranks need the others no more.
    left: Vec<bool>,
    closing: bool,
}

impl World {
    /// Connects to the other ranks.
    ///
    /// # Errors
    /// [`WorldError::Absent`] when not all have come within the options' patience,
    /// [`WorldError::Disagree`] for another version of this crate, another number of ranks, or a
    /// rank that two processes say they are; [`WorldError::Address`] when rank 0 cannot listen. All
    /// connected ranks get the same.
    pub fn join(options: &WorldOptions) -> Result<World, WorldError> {
        let (streams, hosts) = match options.rank {
            0 => meet::receive_all(&meet::listen(options)?, options)?,
            _ => meet::greet(options)?,
        };
        World::of(options, streams, hosts)
    }

    /// From connections to ranks.
    fn of(
        options: &WorldOptions,
        streams: Vec<(usize, TcpStream)>,
        hosts: Vec<String>,
    ) -> Result<World, WorldError> {
        let WorldOptions { rank, size, patience, .. } = *options;
        let address = |error: std::io::Error| WorldError::Address {
            rank,
            address: options.rendezvous.clone(),
            reason: error.to_string(),
        };
        let mut links: Vec<Option<Link>> = (0..size).map(|_| None).collect();
        let mut readers = Vec::new();
        for (peer, stream) in streams {
            stream.set_read_timeout(Some(patience)).map_err(address)?;
            stream.set_write_timeout(Some(patience)).map_err(address)?;
            readers.push((peer, stream.try_clone().map_err(address)?));
            links[peer] = Some(Link(Mutex::new(stream)));
        }
        let state = State {
            offers: vec![VecDeque::new(); size],
            left: vec![false; size],
            ..State::default()
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let shared = Arc::new(Shared { rank, links, state, changed, telling: Mutex::default() });
        // Where a thread cannot be started, those before it end with the member.
        let mut member = Member { rank, patience, hosts, shared, threads: Vec::new() };
        let start =
            |job: Box<dyn FnOnce() + Send>| std::thread::Builder::new().spawn(job).map_err(address);
        for (peer, stream) in readers {
            let shared = member.shared.clone();
            let listen = Box::new(move || shared.listen_to(peer, &stream, patience));
            member.threads.push(start(listen)?);
        }
        let shared = member.shared.clone();
        member.threads.push(start(Box::new(move || shared.beat()))?);
        Ok(World(Arc::new(member)))
    }

    /// Returns this process's rank.
    pub fn rank(&self) -> usize {
        self.0.rank
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.0.hosts.len()
    }

    /// Returns the number of hosts that ranks are on.
    pub fn hosts(&self) -> usize {
        let mut hosts: Vec<&String> = self.0.hosts.iter().collect();
        hosts.sort();
        hosts.dedup();
        hosts.len()
    }

    /// Returns how many ranks before this one are on its host: which of the host's devices it
    /// takes.
    pub fn local_rank(&self) -> usize {
        let (rank, hosts) = (self.rank(), &self.0.hosts);
        hosts[..rank].iter().filter(|host| **host == hosts[rank]).count()
    }

    /// Returns the name that distinguishes this rank's host from others.
    pub(in crate::cuda) fn host(&self) -> &str {
        &self.0.hosts[self.rank()]
    }

    /// Returns how long another rank is waited for in an exchange.
    pub(in crate::cuda) fn patience(&self) -> Duration {
        self.0.patience
    }

    /// Fails, on every rank, unless all ranks give the same values under the same names.
    ///
    /// # Errors
    /// [`WorldError::Disagree`] with the first name and two of the values;
    /// [`WorldError::Failed`] when a rank has failed or ended.
    pub fn agree(&self, values: &[(&str, String)]) -> Result<(), WorldError> {
        let own: Vec<(String, String)> =
            values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let all = self.gather("agree", &own)?;
        for (k, (name, first)) in all[0].iter().enumerate() {
            let other = |values: &Vec<(String, String)>| values.get(k) != Some(&all[0][k]);
            if let Some(rank) = all.iter().position(other) {
                let value = all[rank].get(k).map_or("nothing", |(_, value)| value);
                let what = format!("{name} is {first} on rank 0 and {value} on rank {rank}");
                // Every rank finds this, unless it hears of another's end before: then it hears
                // this.
                let disagree = WorldError::Disagree(what);
                self.0.shared.fail(disagree.clone());
                return Err(disagree);
            }
        }
        Ok(())
    }

    /// Returns the values of every rank, by rank. A failure of a rank is noticed at once, one that
    /// works on is waited for.
    ///
    /// # Errors
    /// [`WorldError::Failed`] when a rank has failed or ended, or asks for something else than
    /// `what`.
    pub(in crate::cuda) fn gather<V: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        value: &V,
    ) -> Result<Vec<V>, WorldError> {
        self.gather_until(what, value, None)
    }

    /// Gathers values as [`Self::gather`] does, and fails at `end`.
    pub(in crate::cuda) fn gather_until<V: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        value: &V,
        end: Option<Instant>,
    ) -> Result<Vec<V>, WorldError> {
        let shared = &self.0.shared;
        let own = serde_json::to_value(value).map_err(|e| self.unclear(&e))?;
        let all = match self.rank() {
            0 => shared.collect(what, own, end)?,
            _ => {
                shared.tell(0, &Message::Offer { what: what.to_owned(), value: own });
                shared.wait(end, |state| state.answers.pop_front().map(Ok))?
            }
        };
        all.into_iter().map(|v| serde_json::from_value(v).map_err(|e| self.unclear(&e))).collect()
    }

    fn unclear(&self, error: &serde_json::Error) -> WorldError {
        WorldError::Failed { rank: self.rank(), reason: error.to_string() }
    }

    /// Reports to all ranks that work of this one has failed. Their later calls to each other fail
    /// with it.
    pub fn fail(&self, reason: &str) {
        let rank = self.rank();
        self.0.shared.fail(WorldError::Failed { rank, reason: reason.to_owned() });
    }

    /// Returns `outcome`; if it is an error, it is sent to all ranks.
    pub fn report_failure<V, E: std::fmt::Display>(&self, outcome: Result<V, E>) -> Result<V, E> {
        if let Err(error) = &outcome {
            self.fail(&error.to_string());
        }
        outcome
    }

    /// Fails when a rank has.
    ///
    /// # Errors
    /// [`WorldError::Failed`].
    pub fn check(&self) -> Result<(), WorldError> {
        self.0.shared.lock().failure.clone().map_or(Ok(()), Err)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A rank that cannot be written to is noticed by the thread that listens to it.
    fn tell(&self, peer: usize, message: &Message) {
        if let Some(Link(stream)) = &self.links[peer] {
            let stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = send(&stream, message);
        }
    }

    fn tell_all(&self, message: &Message) {
        (0..self.links.len()).for_each(|peer| self.tell(peer, message));
    }

    /// Keeps the first failure and passes it on.
    fn fail(&self, failure: WorldError) {
        let _telling = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut state = self.lock();
            if state.failure.is_some() || state.closing {
                return;
            }
            state.failure = Some(failure.clone());
        }
        self.changed.notify_all();
        self.tell_all(&Message::Failed(failure));
    }

    /// Returns the value that `ready` finds, or the failure that comes before it.
    fn wait<V>(
        &self,
        end: Option<Instant>,
        mut ready: impl FnMut(&mut State) -> Option<Result<V, WorldError>>,
    ) -> Result<V, WorldError> {
        let mut state = self.lock();
        loop {
            if let Some(outcome) = ready(&mut state) {
                return outcome;
            }
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            // A value already received counts for more than that its sender has left since.
            if let Some(rank) = state.left.iter().position(|left| *left) {
                let reason = "it has ended its work".to_owned();
                return Err(WorldError::Failed { rank, reason });
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                let (rank, reason) = (self.rank, "it waited for the others in vain".to_owned());
                return Err(WorldError::Failed { rank, reason });
            }
            let left = left.unwrap_or(HEARTBEAT);
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// On rank 0: collects a value of every rank, and sends them to all.
    fn collect(
        &self,
        what: &str,
        own: Value,
        end: Option<Instant>,
    ) -> Result<Vec<Value>, WorldError> {
        let outcome = self.wait(end, |state| {
            let others = &mut state.offers[1..];
            if others.iter().any(VecDeque::is_empty) {
                return None;
            }
            let mut all = vec![own.clone()];
            for (k, offers) in others.iter_mut().enumerate() {
                let (theirs, value) = offers.pop_front()?;
                if theirs != what {
                    let reason = format!("it is at {theirs:?}, rank 0 at {what:?}");
                    return Some(Err(WorldError::Failed { rank: k + 1, reason }));
                }
                all.push(value);
            }
            Some(Ok(all))
        });
        match &outcome {
            Ok(all) => self.tell_all(&Message::All(all.clone())),
            Err(failure) => self.fail(failure.clone()),
        }
        outcome
    }

    /// Reads a rank's messages until it leaves or is gone.
    fn listen_to(&self, peer: usize, stream: &TcpStream, patience: Duration) {
        let lost = |reason: String| self.fail(WorldError::Failed { rank: peer, reason });
        loop {
            match receive(stream) {
                Ok(Message::Alive) => continue,
                Ok(Message::Offer { what, value }) => {
                    self.lock().offers[peer].push_back((what, value));
                }
                Ok(Message::All(values)) => self.lock().answers.push_back(values),
                Ok(Message::Failed(failure)) => self.fail(failure),
                Ok(Message::Left) => {
                    self.lock().left[peer] = true;
                    self.changed.notify_all();
                    return;
                }
                Ok(Message::Hello(_) | Message::Welcome(_)) => {
                    return lost("it said what no rank says".to_owned());
                }
                Err(error) => {
                    use std::io::ErrorKind::{
                        BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof,
                        WouldBlock,
                    };
                    return lost(match error.kind() {
                        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => {
                            "its process ended".to_owned()
                        }
                        WouldBlock | TimedOut => {
                            format!("nothing was heard of it for {} s", patience.as_secs_f32())
                        }
                        _ => error.to_string(),
                    });
                }
            }
            self.changed.notify_all();
        }
    }

    /// Sends that this process is alive, until it leaves.
    fn beat(&self) {
        let mut state = self.lock();
        while !state.closing {
            drop(state);
            self.tell_all(&Message::Alive);
            let start = Instant::now();
            state = self.lock();
            while let Some(left) = HEARTBEAT.checked_sub(start.elapsed()).filter(|_| !state.closing)
            {
                let waited = self.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (rank, reason) = (self.rank, "it panicked".to_owned());
            self.shared.fail(WorldError::Failed { rank, reason });
        }
        let telling = self.shared.telling.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.lock().closing = true;
        drop(telling);
        self.shared.changed.notify_all();
        self.shared.tell_all(&Message::Left);
        for Link(stream) in self.shared.links.iter().flatten() {
            // Written data still arrives; the threads that listen here end.
            let _ = stream.lock().unwrap_or_else(PoisonError::into_inner).shutdown(Shutdown::Both);
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

#[cfg(test)]
mod tests;
