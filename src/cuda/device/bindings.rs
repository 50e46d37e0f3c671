//! The structs that kernels share with the host, and the arguments of every kernel, by folder of
//! `kernels/`. `build.rs` makes them from the kernels' files.

// The kernels' files describe each field. The host sets some fields that it never reads.
#![allow(missing_docs, dead_code)]

use super::arguments::{Any, ArgumentList, Arguments, Array, KernelArgument, Pointer};
use super::constants::*;
use super::error::CudaError;
use super::real::CudaReal;
use super::value::{DeviceValue, Sealed};

include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
