// Numbers that kernels and the host share. build.rs makes the Rust constants of src/cuda/device/constants.rs from this
// file: `constexpr int NAME = NUMBER;` on a line of its own, below the comment that documents it.
#pragma once

/// Threads in a block, where nothing else is said.
constexpr unsigned int BLOCK = 256;
/// Most ranks: devices that share work.
constexpr unsigned int MOST_RANKS = 16;
/// Words from one signal of a rank to the next, 128 bytes.
constexpr unsigned int SIGNAL_WORDS = 32;

/// Bins along a side of a tile.
constexpr int TILE = 32;
/// Bins along a side of a patch: a body of up to 3 bins may begin in its last bin but two; rounded up to whole fours.
constexpr int PATCH = 44;
/// No chunk of a tile has more movable cells, nor more fillers, and with both at most one body more: sums in shared
/// memory have 21 bits to the bin area and room for 2¹¹ of them, each class in sums of its own.
constexpr int LARGEST_CHUNK = 2047;
/// Bodies per thread of order_count and order_place. Measured on an H200 (4.9 million bodies on 2048² bins, corners in
/// slots, order_place alone): 4 per thread of blocks of 512 or 256 and two blocks' registers 75 µs; three blocks', or 8
/// per thread, which spill, 90.
constexpr int ORDER_EACH = 4;
/// Bodies per thread of force_pairs and force_halves, whose accesses at random are in flight at once.
constexpr unsigned int RETURN_EACH = 4;
/// Regions whose weights a launch of the force takes.
constexpr unsigned int MOST_WEIGHTS = 64;

/// Most pins of a chunk of nets.
constexpr unsigned int CHUNK_PINS = 128;
/// Most pins of a net that one block takes; of one with more, blocks take pieces of this many.
constexpr unsigned int PIECE_PINS = 1024;
/// A thread sums the pins of a cell of at most this many, a warp those of more.
constexpr unsigned int HEAVY = 64;
/// Sums of a gradient in a descent.
constexpr int DESCENT_SUMS = 4;
/// Numbers of an evaluation: these sums, that of the step, HPWL, WA, energy, three statistics, and whether a rank has
/// waited in vain.
constexpr int DESCENT_NUMBERS = 12;

/// Side of a transpose's tile.
constexpr unsigned int TRANSPOSE_TILE = 32;

/// Neighbours of a row that are put into every order.
constexpr unsigned int WINDOW_CELLS = 4;
/// Neighbours of a row that are shifted together at most: no proposal has more changes.
constexpr unsigned int STRETCH_CELLS = 48;
/// Most neighbours that give way to a cell.
constexpr unsigned int PUSHED_CELLS = 8;
/// Pins of a cell whose nets fit into a thread's own memory.
constexpr unsigned int FEW_PINS = 12;
/// Pairs of sums of gains.
constexpr unsigned int GAIN_SUMS = 64;
