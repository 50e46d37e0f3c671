//! Messages between rank 0 and the others: JSON after its length, over TCP.

use super::WorldError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Longest message: what ranks tell each other is a few numbers.
const LONGEST: usize = 1 << 20;
/// Begins a greeting.
pub(super) const GREETING: &str = "placefield ranks";

/// The greeting of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) greeting: String,
    pub(super) version: String,
    pub(super) rank: usize,
    pub(super) size: usize,
    /// Differs between hosts.
    pub(super) host: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// To rank 0, first of all.
    Hello(Hello),
    /// From rank 0, once all are there: the host of each.
    Welcome(Vec<String>),
    /// Now and then, so that silence means that a process or its host is gone.
    Alive,
    /// To rank 0: a rank's value for a gathering.
    Offer { what: String, value: Value },
    /// From rank 0: what all gave, by rank.
    All(Vec<Value>),
    /// Ranks do not, or no longer, work together: why.
    Failed(WorldError),
    /// The rank needs the others no more.
    Left,
}

pub(super) fn send(mut to: &TcpStream, message: &Message) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > LONGEST {
        return Err(io::Error::other("a message longer than ranks send"));
    }
    // At once: two short packets wait for each other.
    let framed = [&(text.len() as u32).to_be_bytes()[..], &text].concat();
    to.write_all(&framed)
}

pub(super) fn receive(mut from: &TcpStream) -> io::Result<Message> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no message of a rank"));
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Returns a name that distinguishes this host from others.
pub(super) fn host() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    format!("{} {}", read("/proc/sys/kernel/hostname"), read("/proc/sys/kernel/random/boot_id"))
}
