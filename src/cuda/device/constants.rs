//! Numbers that the host shares with the kernels, made of `kernels/device/constants.cuh` by
//! `build.rs`.

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
