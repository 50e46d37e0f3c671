//! Names of engines and devices.

use std::str::FromStr;

/// A device of an engine or of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// The processors, and the host's memory.
    Cpu,
    /// A CUDA device by its ordinal.
    Cuda(usize),
}

/// The engine to open, by one of the names in [`engines`](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// CUDA device 0 if it can be used, otherwise the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// A CUDA device by its ordinal.
    Cuda(usize),
    /// Several CUDA devices, if they take less time than one.
    Several(Devices),
}

/// Most devices that can be named.
const MOST_DEVICES: usize = 16;

/// The devices of `cuda:0,1` in this order, or of `cuda:all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devices {
    named: [u8; MOST_DEVICES],
    /// 0: all of the machine's.
    count: usize,
}

impl Devices {
    /// Returns the ordinals, on a machine with this number of devices.
    pub fn ordinals(&self, machine: usize) -> Vec<usize> {
        match self.count {
            0 => (0..machine.min(MOST_DEVICES)).collect(),
            count => self.named[..count].iter().map(|&device| device.into()).collect(),
        }
    }

    /// Returns the first ordinal.
    pub fn first(&self) -> usize {
        self.named[0].into()
    }
}

impl FromStr for Devices {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut devices = Devices { named: [0; MOST_DEVICES], count: 0 };
        if text == "all" {
            return Ok(devices);
        }
        for number in text.split(',') {
            let number = number.parse().map_err(|_| ())?;
            if devices.named[..devices.count].contains(&number) {
                return Err(());
            }
            *devices.named.get_mut(devices.count).ok_or(())? = number;
            devices.count += 1;
        }
        Ok(devices)
    }
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').unwrap_or((text, "0"));
        match (name, number.parse().ok(), number.parse().ok()) {
            ("auto", ..) if name == text => Ok(EngineChoice::Auto),
            ("cpu", ..) if name == text => Ok(EngineChoice::Cpu),
            ("cuda", Some(device), _) => Ok(EngineChoice::Cuda(device)),
            ("cuda", None, Some(devices)) => Ok(EngineChoice::Several(devices)),
            _ => {
                Err("expected auto, cpu, cuda, cuda:N, cuda:N,M… (each once) or cuda:all"
                    .to_owned())
            }
        }
    }
}

impl From<Device> for EngineChoice {
    fn from(device: Device) -> Self {
        match device {
            Device::Cpu => EngineChoice::Cpu,
            Device::Cuda(ordinal) => EngineChoice::Cuda(ordinal),
        }
    }
}

#[cfg(test)]
mod tests;
