//! Numbers that the host shares with the kernels. `build.rs` makes them from
//! `kernels/device/constants.cuh`.

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
