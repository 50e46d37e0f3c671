// How many ranks, devices that share work, there can be.
#pragma once

/// Most ranks: MOST_RANKS in src/cuda/bodies/shares.rs.
constexpr unsigned int MOST_RANKS = 16;
