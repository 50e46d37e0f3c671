//! The rendezvous: rank 0 waits for the others, which look for it.

use super::wire::{GREETING, Hello, Message, host, receive, send};
use super::{WorldError, WorldOptions};
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Connections by rank, and the host of every rank.
type Met = (Vec<(usize, TcpStream)>, Vec<String>);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// Time for a connection to send its greeting.
const GREETING_TIME: Duration = Duration::from_secs(1);
/// How much longer others wait than rank 0, which knows who is missing.
const LONGER: Duration = Duration::from_millis(700);

impl WorldOptions {
    fn error(&self, error: impl ToString) -> WorldError {
        let (rank, address) = (self.rank, self.rendezvous.clone());
        WorldError::Address { rank, address, reason: error.to_string() }
    }

    fn hello(&self) -> Hello {
        Hello {
            greeting: GREETING.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rank: self.rank,
            size: self.size,
            host: host(),
        }
    }
}

/// Returns the socket where rank 0 waits: on all of its host's addresses, for others may know it by
/// any; on the loopback alone where that is the address given to all.
pub(super) fn listen(options: &WorldOptions) -> Result<TcpListener, WorldError> {
    let address = &options.rendezvous;
    let (host, port) = address.rsplit_once(':').expect("checked by `WorldOptions::new`");
    let port: u16 = port.parse().expect("likewise");
    let listener = match host {
        "localhost" | "127.0.0.1" | "[::1]" => TcpListener::bind(address),
        _ => TcpListener::bind(("::", port)).or_else(|_| TcpListener::bind(("0.0.0.0", port))),
    };
    listener.map_err(|e| options.error(e))
}

/// Waits for all ranks but 0.
pub(super) fn receive_all(
    listener: &TcpListener,
    options: &WorldOptions,
) -> Result<Met, WorldError> {
    let end = Instant::now() + options.patience;
    listener.set_nonblocking(true).map_err(|e| options.error(e))?;
    let mut met: Vec<Option<(TcpStream, String)>> = (1..options.size).map(|_| None).collect();
    let found = loop {
        if met.iter().all(Option::is_some) {
            break Ok(());
        }
        if Instant::now() >= end {
            let missing = |(k, met): (usize, &Option<_>)| met.is_none().then_some(k + 1);
            break Err(WorldError::Absent {
                ranks: met.iter().enumerate().filter_map(missing).collect(),
                size: options.size,
                address: options.rendezvous.clone(),
                patience: options.patience,
            });
        }
        match listener.accept() {
            Ok((stream, _)) => {
                // Connections from processes that are no rank are ignored.
                let Ok(hello) = greeted(&stream, end) else { continue };
                if let Err(reason) = fits(&hello, options, &met) {
                    let _ = send(&stream, &Message::Failed(reason.clone()));
                    break Err(reason);
                }
                met[hello.rank - 1] = Some((stream, hello.host));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(PAUSE),
            Err(error) => break Err(options.error(error)),
        }
    };
    if let Err(error) = &found {
        for (stream, _) in met.iter().flatten() {
            let _ = send(stream, &Message::Failed(error.clone()));
        }
    }
    found?;
    let (streams, hosts): (Vec<_>, Vec<_>) = met.into_iter().flatten().unzip();
    let hosts: Vec<String> = [host()].into_iter().chain(hosts).collect();
    for stream in &streams {
        send(stream, &Message::Welcome(hosts.clone())).map_err(|e| options.error(e))?;
    }
    Ok(((1..).zip(streams).collect(), hosts))
}

/// Returns the greeting of the process that has connected.
fn greeted(stream: &TcpStream, end: Instant) -> io::Result<Hello> {
    let left = end.saturating_duration_since(Instant::now()).max(PAUSE);
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(left.min(GREETING_TIME)))?;
    stream.set_write_timeout(Some(GREETING_TIME))?;
    match receive(stream)? {
        Message::Hello(hello) if hello.greeting == GREETING => Ok(hello),
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

fn fits<V>(hello: &Hello, options: &WorldOptions, met: &[Option<V>]) -> Result<(), WorldError> {
    let Hello { version, rank, size, .. } = hello;
    let own = env!("CARGO_PKG_VERSION");
    let disagree = |why: String| Err(WorldError::Disagree(why));
    if version != own {
        return disagree(format!("rank {rank} is of version {version}, rank 0 of {own}"));
    }
    if *size != options.size {
        return disagree(format!("rank {rank} counts {size} ranks, rank 0 {}", options.size));
    }
    match met.get(rank.wrapping_sub(1)) {
        Some(None) => Ok(()),
        _ => disagree(format!("two processes say that they are rank {rank}")),
    }
}

/// Looks for rank 0 until it answers.
pub(super) fn greet(options: &WorldOptions) -> Result<Met, WorldError> {
    let end = Instant::now() + options.patience + LONGER;
    let left = || end.saturating_duration_since(Instant::now());
    let absent = |ranks| WorldError::Absent {
        ranks,
        size: options.size,
        address: options.rendezvous.clone(),
        patience: options.patience,
    };
    let stream = loop {
        let addresses = options.rendezvous.to_socket_addrs();
        let connect = |address| TcpStream::connect_timeout(&address, left().max(PAUSE)).ok();
        match addresses.map(|mut all| all.find_map(connect)) {
            Ok(Some(stream)) => break stream,
            // Its host may have no name yet.
            outcome if left().is_zero() => {
                return Err(outcome.map_or_else(|e| options.error(e), |_| absent(vec![0])));
            }
            _ => sleep(PAUSE),
        }
    };
    let exchange = || -> io::Result<Message> {
        stream.set_nodelay(true)?;
        send(&stream, &Message::Hello(options.hello()))?;
        stream.set_read_timeout(Some(left().max(PAUSE)))?;
        receive(&stream)
    };
    match exchange() {
        Ok(Message::Welcome(hosts)) if hosts.len() == options.size => {
            Ok((vec![(0, stream)], hosts))
        }
        Ok(Message::Failed(error)) => Err(error),
        Ok(_) => Err(options.error("what answers there is no rank 0")),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
        {
            Err(absent(Vec::new()))
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            let reason = "its process ended".to_owned();
            Err(WorldError::Failed { rank: 0, reason })
        }
        Err(error) => Err(options.error(error)),
    }
}
