// placefield.h: the density engine of a global placer. Cells are charges, their density is rho, the
// potential phi solves Poisson's equation with Neumann walls around the die, and the field
// E = -grad phi pushes cells apart (the density model of ePlace and DREAMPlace).
//
// Results. Every function that can fail returns a placefield_status. Its last argument is the
// caller's placefield_error for the message, or NULL. Outputs are written only if the status is
// PLACEFIELD_STATUS_OK (placefield_cuda_devices may then also write a message).
//
// Ownership. Memory that is passed in belongs to the caller and is used only during the call, or
// until the work has run for the enqueue functions. Its length must be as given, and no other
// thread may write it meanwhile. Outputs must not overlap inputs or each other. NAME_free frees the
// result of a NAME_new function. A handle is not an address: the library looks it up, so a freed or
// invalid handle gives PLACEFIELD_STATUS_BAD_HANDLE.
//
// Threads. Any thread may call any function. Calls on one handle at a time wait for each other;
// different handles share nothing. Between two calls of one thread, such as an evaluation and the
// reading of its forces, another thread may call functions on the same handle.
//
// Maps are [nx][ny]: x slow, y contiguous; bin (i, j) is at i * ny + j. Positions are lower-left
// corners in layout units. phi is in bin widths squared and E in bin widths: multiply by bin_x^2 and
// bin_x for layout units. Equal input gives equal bits, for any number of threads.
//
// Precision. A function with a `precision`, a placefield_precision, uses arrays of `float` or
// `double`. The precision must be that of the options with which the handle was made; another one
// gives PLACEFIELD_STATUS_WRONG_PRECISION. All other arrays of floating-point numbers are `double`.
//
// Made from the source; do not edit.

#ifndef PLACEFIELD_H
#define PLACEFIELD_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; placefield_version is that of the library. */
#define PLACEFIELD_VERSION_MAJOR 0
#define PLACEFIELD_VERSION_MINOR 1
#define PLACEFIELD_VERSION_PATCH 0


// The value of `options.device` for the CPU; devices of CUDA count from 0.
#define PLACEFIELD_CPU -1

// Status code of every function that can fail. Numbers are never given a new meaning.
enum placefield_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Done. Outputs are written then, and only then.
    PLACEFIELD_STATUS_OK = 0,
    // A pointer is NULL that must not be NULL.
    PLACEFIELD_STATUS_NULL_POINTER = 1,
    // A handle that was freed, or never was one of this kind.
    PLACEFIELD_STATUS_BAD_HANDLE = 2,
    // A number out of its range, not finite, or not aligned memory; outputs that overlap; memory
    // that is not the device's, a stream of another context.
    PLACEFIELD_STATUS_BAD_ARGUMENT = 3,
    // A length that is not the grid's or the engine's.
    PLACEFIELD_STATUS_BAD_LENGTH = 4,
    // `precision` is not that of the handle.
    PLACEFIELD_STATUS_WRONG_PRECISION = 5,
    // A stage was called before the stage that it needs.
    PLACEFIELD_STATUS_OUT_OF_ORDER = 6,
    // CUDA cannot be used: the message names the missing part.
    PLACEFIELD_STATUS_NO_DEVICE = 7,
    // Memory of the device or of the host ran out.
    PLACEFIELD_STATUS_OUT_OF_MEMORY = 8,
    // The device or one of its libraries failed.
    PLACEFIELD_STATUS_DEVICE_FAILED = 9,
    // A fault of the library, in this call or an earlier one on the same handle, which
    // can only be freed now.
    PLACEFIELD_STATUS_PANICKED = 10,
    // A file cannot be read or written, or violates its format: the message names file, line and
    // column.
    PLACEFIELD_STATUS_FILE_FAILED = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_status placefield_status;
#else
typedef int32_t placefield_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of `convention`: the formulas of congestion maps.
enum placefield_convention
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // CircuitNet's features.
    PLACEFIELD_CONVENTION_CIRCUIT_NET = 0,
    // DREAMPlace's operators.
    PLACEFIELD_CONVENTION_DREAM_PLACE = 1,
    // OpenROAD's global router.
    PLACEFIELD_CONVENTION_OPEN_ROAD = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_convention placefield_convention;
#else
typedef int32_t placefield_convention;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of placefield_engine_map's `kind`.
enum placefield_map
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // ρ: area in the bin over the bin's area, of fixed and movable cells and fillers.
    PLACEFIELD_MAP_DENSITY = 0,
    // φ, in bin widths squared.
    PLACEFIELD_MAP_POTENTIAL = 1,
    // E along x, in bin widths.
    PLACEFIELD_MAP_FIELD_X = 2,
    // E along y, in bin widths.
    PLACEFIELD_MAP_FIELD_Y = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_map placefield_map;
#else
typedef int32_t placefield_map;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of `design_arrays.kind`: whether a node moves.
enum placefield_node_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A placer may move it.
    PLACEFIELD_NODE_KIND_MOVABLE = 0,
    // It is fixed and blocks the area under it.
    PLACEFIELD_NODE_KIND_FIXED = 1,
    // It is fixed, and cells may overlap it.
    PLACEFIELD_NODE_KIND_FIXED_OVERLAPPABLE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_node_kind placefield_node_kind;
#else
typedef int32_t placefield_node_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of orientations: the eight of the DEF format, a rotation by quarter turns, flipped or not.
enum placefield_orientation
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    PLACEFIELD_ORIENTATION_N = 0,
    PLACEFIELD_ORIENTATION_S = 1,
    PLACEFIELD_ORIENTATION_E = 2,
    PLACEFIELD_ORIENTATION_W = 3,
    PLACEFIELD_ORIENTATION_FN = 4,
    PLACEFIELD_ORIENTATION_FS = 5,
    PLACEFIELD_ORIENTATION_FE = 6,
    PLACEFIELD_ORIENTATION_FW = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_orientation placefield_orientation;
#else
typedef int32_t placefield_orientation;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of `place_result.outcome`: the end of a stage.
enum placefield_outcome
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The stage reached its goal.
    PLACEFIELD_OUTCOME_CONVERGED = 0,
    // The iterations ran out before.
    PLACEFIELD_OUTCOME_OUT_OF_ITERATIONS = 1,
    // The time limit was reached before.
    PLACEFIELD_OUTCOME_OUT_OF_TIME = 2,
    // The caller stopped the global stage.
    PLACEFIELD_OUTCOME_STOPPED = 3,
    // Overflow stopped falling at any weight of the density.
    PLACEFIELD_OUTCOME_PLATEAU = 4,
    // Wirelength and overflow both grew.
    PLACEFIELD_OUTCOME_DIVERGED = 5,
    // A number was NaN or infinite.
    PLACEFIELD_OUTCOME_NOT_FINITE = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_outcome placefield_outcome;
#else
typedef int32_t placefield_outcome;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of `design_options.pin_offset`: the origin of pin offsets in a .nets file.
enum placefield_pin_offset
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The centre of the node, as in the format.
    PLACEFIELD_PIN_OFFSET_CENTER = 0,
    // The lower-left corner of the node.
    PLACEFIELD_PIN_OFFSET_LOWER_LEFT = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_pin_offset placefield_pin_offset;
#else
typedef int32_t placefield_pin_offset;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of `design_options.pin_position`: the position of a pin of a LEF macro.
enum placefield_pin_position
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The centre of the bounding box of its shapes.
    PLACEFIELD_PIN_POSITION_CENTER = 0,
    // The mean of the centres of its shapes.
    PLACEFIELD_PIN_POSITION_MEAN = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_pin_position placefield_pin_position;
#else
typedef int32_t placefield_pin_position;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of `options.pipeline`: the method of a solve.
enum placefield_pipeline
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The fastest for the grid on the device.
    PLACEFIELD_PIPELINE_FASTEST = 0,
    // 1-D transforms along one axis, then the other.
    PLACEFIELD_PIPELINE_ROW_COLUMN = 1,
    // One 2-D real FFT for each 2-D transform.
    PLACEFIELD_PIPELINE_FUSED = 2,
    // Three passes over memory for the whole solve.
    PLACEFIELD_PIPELINE_THREE_PASS = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_pipeline placefield_pipeline;
#else
typedef int32_t placefield_pipeline;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of `options.precision`.
enum placefield_precision
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Maps, positions and forces are `float`.
    PLACEFIELD_PRECISION_F32 = 0,
    // They are `double`.
    PLACEFIELD_PRECISION_F64 = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_precision placefield_precision;
#else
typedef int32_t placefield_precision;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Numbers of the stages of a placement, in their order.
enum placefield_stage
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Cells are spread, but some overlap.
    PLACEFIELD_STAGE_GLOBAL = 0,
    // Cells are on rows and sites, without overlap.
    PLACEFIELD_STAGE_LEGAL = 1,
    // Wires are shorter, and cells are still legal.
    PLACEFIELD_STAGE_DETAILED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum placefield_stage placefield_stage;
#else
typedef int32_t placefield_stage;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A design: nodes, their placement, nets and rows.
typedef struct placefield_design placefield_design;

// A density engine: made once for the bodies of a design, then used every iteration.
typedef struct placefield_engine placefield_engine;

// A field solve planned for one grid, on one device, in one precision.
typedef struct placefield_solver placefield_solver;

// The nets of a design, to measure their wirelength at positions of the movable cells.
typedef struct placefield_wirelength placefield_wirelength;

// A status and its message, in the caller's memory.
typedef struct placefield_error {
    // The placefield_status that the function returned.
    int32_t status;
    // One sentence that ends with a zero; a long one is cut at the end of a character. Empty for
    // PLACEFIELD_STATUS_OK.
    char message[508];
} placefield_error;

// Device, precision, method and threads. Filled by placefield_options_init, then changed.
typedef struct placefield_options {
    // Set by placefield_options_init.
    uint32_t struct_size;
    // A placefield_precision: that of every map, position and force.
    int32_t precision;
    // PLACEFIELD_CPU, or the ordinal of a CUDA device.
    int32_t device;
    // A placefield_pipeline.
    int32_t pipeline;
    // Threads on the CPU, at most 1024; 0 uses all processors.
    uint32_t threads;
} placefield_options;

// A design in arrays, in layout units. Filled by placefield_design_arrays_init, then changed. The
// design copies the arrays, so they can be freed once it is made.
typedef struct placefield_design_arrays {
    // Set by placefield_design_arrays_init.
    uint32_t struct_size;
    // Not 0: area outside every row is blocked.
    int32_t row_blockage;
    // Number of nodes, the length of the next seven arrays.
    size_t nodes;
    // Widths of the nodes in their orientations.
    const double *width;
    // Heights.
    const double *height;
    // Lower-left corners; NULL: at 0.
    const double *x;
    // Likewise.
    const double *y;
    // For each node a placefield_node_kind; NULL: all are movable.
    const uint8_t *kind;
    // For each node a placefield_orientation; NULL: all are N.
    const uint8_t *orientation;
    // Distinct names of the nodes in UTF-8; NULL: no names, so no placement of the design can be
    // written.
    const char *const *names;
    // Number of nets; 0: the design has none.
    size_t nets;
    // First pin of every net, and the number of pins: `nets` + 1 values.
    const uint32_t *net_start;
    // Weight of every net, at least 0: `nets` values; NULL: all are 1.
    const double *net_weight;
    // Number of pins, the length of the next three arrays.
    size_t pins;
    // The node of every pin.
    const uint32_t *pin_node;
    // Offsets of pins from the centres of their nodes in their orientations; NULL: 0.
    const double *pin_dx;
    // Likewise.
    const double *pin_dy;
    // Number of rows.
    size_t rows;
    // Five numbers for every row: x, y, height, site width, number of sites.
    const double *row;
    // For each row a placefield_orientation; NULL: all are N.
    const uint8_t *row_orientation;
    // Left edge of the die. All four edges 0: the die is the bounding box of the rows.
    double xl;
    // Bottom edge.
    double yl;
    // Right edge.
    double xh;
    // Top edge.
    double yh;
    // Layout units in a micrometre; 0: unknown.
    double units_per_micron;
} placefield_design_arrays;

// The rectangles of a design, in layout units. Filled by placefield_bodies_init, then changed. The
// engine copies the arrays, so they can be freed once it is made.
typedef struct placefield_bodies {
    // Set by placefield_bodies_init.
    uint32_t struct_size;
    // Not 0: fillers fill the free area at the target density.
    int32_t fillers;
    // Number of movable cells, the length of the next four arrays.
    size_t movable;
    // Widths of the movable cells.
    const double *width;
    // Heights.
    const double *height;
    // Lower-left corners of their start; NULL: the lower-left corner of the die.
    const double *x;
    // Likewise.
    const double *y;
    // For each movable cell, not 0 if it is a macro; NULL: large cells are macros. Used only below
    // a target density of 1.
    const uint8_t *macros;
    // Number of fixed cells, the length of the next four arrays.
    size_t fixed;
    // Lower-left corners of the fixed cells.
    const double *fixed_x;
    // Like `fixed_x`.
    const double *fixed_y;
    // Widths of the fixed cells.
    const double *fixed_width;
    // Heights of the fixed cells.
    const double *fixed_height;
    // Height of a row, and so of a filler; 0: the median height of the movable cells.
    double row_height;
    // The largest share of a bin that placement should fill, above 0 and at most 1.
    double target_density;
    // Seed of the fillers' positions.
    uint64_t seed;
    // Number of fences; 0: all cells are in one region, the die. The cells of each fence have a
    // separate density, in which everything outside the fence is blocked. The cells without a
    // fence have another one, in which the fences are blocked.
    size_t fences;
    // For each movable cell the number of its fence, or `fences` if it has none; NULL: no cell has
    // a fence.
    const uint32_t *region;
    // Number of rectangles of all fences, the length of the next five arrays.
    size_t fence_rects;
    // For each rectangle the number of its fence. A fence is the union of its rectangles.
    const uint32_t *fence_of_rect;
    // Lower-left corners of the rectangles.
    const double *fence_x;
    // Like `fence_x`.
    const double *fence_y;
    // Widths of the rectangles.
    const double *fence_width;
    // Heights of the rectangles.
    const double *fence_height;
} placefield_bodies;

// Options of reading a design. Filled by placefield_design_options_init, then changed. The library
// copies them.
typedef struct placefield_design_options {
    // Set by placefield_design_options_init.
    uint32_t struct_size;
    // A placefield_pin_offset, of Bookshelf designs.
    int32_t pin_offset;
    // A placefield_pin_position, of .def designs.
    int32_t pin_position;
    // Not 0: area outside every row is blocked.
    int32_t row_blockage;
    // Not 0: filler cells of a .def design that are not fixed are movable cells like others.
    int32_t keep_fillers;
    // Number of LEF files, the length of the next array.
    size_t lefs;
    // The LEF files of a .def design, the one with the technology first.
    const char *const *lef;
    // A .pl or .def file that replaces the design's own placement; NULL: none.
    const char *placement;
    // A file of net weights in the format of a .wts file; NULL: none.
    const char *net_weights;
} placefield_design_options;

// Counts of a design, and its die.
typedef struct placefield_design_counts {
    // Cells, macros and pads.
    size_t nodes;
    // Number of nodes that move: an engine's movable cells, in this order.
    size_t movable;
    // Number of nets; 0 if they are unknown.
    size_t nets;
    // Pins of all nets.
    size_t pins;
    // The die, the bounding box of the rows: left edge, layout units.
    double xl;
    // Bottom edge.
    double yl;
    // Right edge.
    double xh;
    // Top edge.
    double yh;
    // Layout units in a micrometre; 0 if this is unknown.
    double units_per_micron;
} placefield_design_counts;

// Results of one step besides maps and forces.
typedef struct placefield_evaluation {
    // Smoothed overflow, which placers log: Σ max(0, area − target density · bin area) over bins
    // plus the area off the die, divided by the movable area; without fillers.
    double overflow;
    // Largest smoothed area of a bin, divided by the bin area; without fillers.
    double max_density;
    // Σ φ·ρ over bins (no ½, no bin area).
    double energy;
    // Area of the movable cells off the die at their exact sizes, layout units squared. It is in
    // no bin, but counts as overflow.
    double area_off_die;
} placefield_evaluation;

// A die divided evenly into nx × ny bins. Bins need not be square, and nx and ny need not be
// powers of two.
typedef struct placefield_grid {
    // Left edge of the die, layout units.
    double xl;
    // Bottom edge.
    double yl;
    // Right edge.
    double xh;
    // Top edge.
    double yh;
    // Bins along x, the slow axis of maps: 1 to 32768.
    uint32_t nx;
    // Bins along y, the contiguous axis: 1 to 32768, and at most 2^28 bins in all.
    uint32_t ny;
} placefield_grid;

// An iteration of global placement.
typedef struct placefield_iteration {
    // Its number; 0 is the start.
    size_t iteration;
    // Weighted half-perimeter wirelength, layout units.
    double hpwl;
    // Smoothed overflow.
    double overflow;
} placefield_iteration;

// Options of a placement. Filled by placefield_place_options_init, then changed.
//
// Callbacks are called by one thread at a time, which need not be the caller's, while
// placefield_place waits. A callback returns normally: it throws no exception and does not jump.
// It may call any function of this library; the design has its old placement until the end.
typedef struct placefield_place_options {
    // Set by placefield_place_options_init.
    uint32_t struct_size;
    // The last stage, a placefield_stage. Without rows it is PLACEFIELD_STAGE_GLOBAL.
    int32_t until;
    // Device, precision and pipeline of global placement; threads of every stage.
    struct placefield_options engine;
    // Bins along x; 0, with `ny` 0: chosen for the design.
    uint32_t nx;
    // Bins along y.
    uint32_t ny;
    // The largest share of a bin that placement should fill, above 0 and at most 1. 0: the default
    // of global placement, and no limit in detailed placement.
    double target_density;
    // Not 0: global placement starts from the design's positions; 0: from the die's centre.
    int32_t warm;
    // Largest number of iterations of global placement.
    uint32_t iterations;
    // The smoothed overflow at which global placement ends, from 0 to 1.
    double stop_overflow;
    // At the start every cell moves by up to half of this many times its size: 0 to 1e6.
    double noise;
    // Seed of the start.
    uint64_t seed;
    // Nets of more pins are left out of the objective of global placement; 0 leaves out no net.
    size_t ignore_net_degree;
    // Free sites on either side of every cell: 0 to 1000000.
    uint32_t padding;
    // Largest number of rounds of detailed placement, at least 1.
    uint32_t rounds;
    // Not 0: detailed placement may mirror cells left to right.
    int32_t mirror;
    // Largest displacement of a cell in each of the legal and the detailed stage, |Δx| + |Δy| in
    // row heights. In a warm placement, from the start to the result. 0: no limit.
    double max_displacement;
    // Seconds after which the work ends with the best result so far, at most 1e9; 0: no limit.
    double time_limit;
    // Called with `data` after every iteration of global placement, if not NULL. Returns 0 to
    // continue; another number ends global placement normally, and the later stages follow.
    int32_t (*progress)(void *data, const struct placefield_iteration *iteration);
    // Called with `data` after every iteration of global placement, if not NULL, to replace net
    // weights. `x` and `y` are the lower-left corners of the movable cells, layout units, `movable`
    // values each. `weights` has the present weights, `nets` values in the design's order. If the
    // result is not 0, the values there, each finite and not negative, are the weights from now on;
    // the design then has them after the placement.
    int32_t (*net_weights)(void *data,
                           const struct placefield_iteration *iteration,
                           const double *x,
                           const double *y,
                           size_t movable,
                           double *weights,
                           size_t nets);
    // The first argument of the callbacks.
    void *data;
} placefield_place_options;

// Result of a placement besides positions, which the design has.
typedef struct placefield_place_result {
    // The last stage that ran, a placefield_stage.
    int32_t stage;
    // The end of global placement, or of the only requested stage: a placefield_outcome.
    int32_t outcome;
    // 1 if the placement is legal, 0 if it is not or global placement is the last stage.
    int32_t legal;
    // Cells without a legal place, or farther from their place than `max_displacement`.
    size_t failed;
    // Iterations of global placement; rounds of placefield_design_refine.
    size_t iterations;
    // Half-perimeter wirelength, layout units; NaN without nets.
    double hpwl;
    // Half-perimeter wirelength with net weights.
    double hpwl_weighted;
    // Smoothed overflow of the result; NaN for placefield_design_legalize.
    double overflow;
    // Overflow of the result with every cell at its exact size; NaN as well.
    double overflow_exact;
    // The target density in use, above that of the options if the cells need more; NaN as well.
    double target_density;
} placefield_place_result;

// Number of faults of every kind in a placement.
typedef struct placefield_legality {
    // 1 if there is no fault, else 0.
    int32_t legal;
    // Pairs of cells that share area, one of them movable.
    uint64_t overlaps;
    // The shared area of these pairs, layout units squared.
    double overlap_area;
    // Movable cells whose bottom edge is on no row.
    size_t off_row;
    // Movable cells whose left edge is on no site.
    size_t off_site;
    // Movable cells outside the die.
    size_t outside_die;
    // Movable cells beyond the sites of a row they cover.
    size_t outside_row;
    // Cells with a wrong orientation.
    size_t orientation;
    // Fixed cells whose position or orientation differs from the design's own placement.
    size_t fixed_moved;
    // Cells on the wrong side of a fence.
    size_t fence;
    // Cells in hard blockages.
    size_t blocked;
    // Cells in halos.
    size_t halo;
    // Cells on rows with wrong rails or sites.
    size_t wrong_row;
    // Cells without a position.
    size_t unplaced;
    // Pairs of neighbours closer than their edge types allow.
    size_t edge_spacing;
    // Partial blockages with more cell area than they allow.
    size_t overfilled;
} placefield_legality;

// Wirelength of the nets at positions of the movable cells.
typedef struct placefield_wirelength_result {
    // Weighted-average wirelength, Σ over the nets of net weight · smoothed half-perimeter, layout
    // units. Nets of more pins than `ignore_net_degree` are left out.
    double smooth;
    // Half-perimeter wirelength, Σ over all nets of net weight · half-perimeter, layout units.
    double hpwl;
} placefield_wirelength_result;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library at run time; the PLACEFIELD_VERSION_ macros give that of the
// header: 65536 · major + 256 · minor + patch.
uint32_t placefield_version(void);

// Returns the version as text, such as "0.1.0". Static: do not free it.
const char *placefield_version_text(void);

// Returns the name of a placefield_status, such as "PLACEFIELD_STATUS_BAD_HANDLE"; "unknown" for
// any other number. Static: do not free it.
const char *placefield_status_name(int32_t status);

// Writes the number of CUDA devices that can be used.
//
// Zero devices are not an error; `error`, if given, then has a message with the reason.
placefield_status placefield_cuda_devices(uint32_t *count, struct placefield_error *error);

// Fills `options` with the defaults: f32, the CPU, all threads, the fastest pipeline.
// `struct_size` is sizeof(placefield_options), by which a newer library recognises an older
// caller.
placefield_status placefield_options_init(struct placefield_options *options,
                                          size_t struct_size,
                                          struct placefield_error *error);

// Fills `design_arrays` with the defaults: no nodes, nets or rows. `struct_size` is
// sizeof(placefield_design_arrays).
placefield_status placefield_design_arrays_init(struct placefield_design_arrays *design_arrays,
                                                size_t struct_size,
                                                struct placefield_error *error);

// Makes a design from arrays. Freed by placefield_design_free.
placefield_status placefield_design_from_arrays(const struct placefield_design_arrays *design_arrays,
                                                struct placefield_design **design,
                                                struct placefield_error *error);

// Fills `bodies` with the defaults: none, target density 1, no fillers, seed 1000.
// `struct_size` is sizeof(placefield_bodies).
placefield_status placefield_bodies_init(struct placefield_bodies *bodies,
                                         size_t struct_size,
                                         struct placefield_error *error);

// Writes the sizes of every body, layout units: `bodies` widths and heights, movable cells first,
// then fillers.
placefield_status placefield_engine_sizes(const struct placefield_engine *engine,
                                          double *width,
                                          double *height,
                                          size_t bodies,
                                          struct placefield_error *error);

// Writes the target density of every region, `regions` values (placefield_engine_regions): the
// given one, or with fillers the least at which the region's cells fit if that is larger. If bins
// have separate target densities, it is their mean.
placefield_status placefield_engine_region_target_densities(const struct placefield_engine *engine,
                                                            double *target_densities,
                                                            size_t regions,
                                                            struct placefield_error *error);

// Gives every body another size, layout units: `bodies` widths and heights, movable cells first,
// then fillers. Positions are lower-left corners: a cell that grows about its centre is moved by
// the caller.
//
// This and the functions below take effect at the next evaluation, which is bit-identical to that
// of a new engine. Until then there are no forces and maps. Plans and kernels are reused. After an
// error the engine is unchanged.
placefield_status placefield_engine_set_sizes(struct placefield_engine *engine,
                                              const double *width,
                                              const double *height,
                                              size_t bodies,
                                              struct placefield_error *error);

// Fixes the cells whose `fixed` is not 0, at lower-left corners `x` and `y`, and makes the others
// movable; `movable` values each. Corners of movable cells are ignored. A fixed cell remains a
// body, so that no array changes: it counts as fixed area and has no force.
placefield_status placefield_engine_set_fixed_cells(struct placefield_engine *engine,
                                                    const uint8_t *fixed,
                                                    const double *x,
                                                    const double *y,
                                                    size_t movable,
                                                    struct placefield_error *error);

// Sets the blocked area of every bin besides fixed cells, for example by routing or power. `area`
// is a map of `bins` = nx · ny values, layout units squared; NULL: none.
placefield_status placefield_engine_set_blocked_area(struct placefield_engine *engine,
                                                     const double *area,
                                                     size_t bins,
                                                     struct placefield_error *error);

// Sets a target density for every bin, above 0 and at most 1: a map of `bins` = nx · ny values;
// NULL: the target density of the bodies everywhere.
placefield_status placefield_engine_set_target_densities(struct placefield_engine *engine,
                                                         const double *target_densities,
                                                         size_t bins,
                                                         struct placefield_error *error);

// Makes new fillers that fill the remaining area, at new positions (placefield_engine_start). The
// number of bodies changes (placefield_engine_bodies).
placefield_status placefield_engine_refill(struct placefield_engine *engine,
                                           struct placefield_error *error);

// Fills `design_options` with the defaults: no LEF files, pin offsets and positions from centres,
// the design's own placement and net weights. `struct_size` is sizeof(placefield_design_options).
placefield_status placefield_design_options_init(struct placefield_design_options *design_options,
                                                 size_t struct_size,
                                                 struct placefield_error *error);

// Reads a design: the Bookshelf files that an .aux file names, or a .def file with the LEF files
// of `design_options`, which may be NULL: the defaults. Freed by placefield_design_free.
placefield_status placefield_design_new(const char *file,
                                        const struct placefield_design_options *design_options,
                                        struct placefield_design **design,
                                        struct placefield_error *error);

// Writes the number of warnings: those of reading the design, then those of placefield_place.
placefield_status placefield_design_warnings(const struct placefield_design *design,
                                             size_t *warnings,
                                             struct placefield_error *error);

// Copies warning `index`, counted from 0, to `message`, which has room for `size` bytes: one line,
// ended by a zero, cut at a character's end if it is too long. `length`, if not NULL, gets the
// bytes of the whole line without the zero; with `size` 0 nothing else is written.
placefield_status placefield_design_warning(const struct placefield_design *design,
                                            size_t index,
                                            char *message,
                                            size_t size,
                                            size_t *length,
                                            struct placefield_error *error);

// Frees a design. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
placefield_status placefield_design_free(struct placefield_design *design,
                                         struct placefield_error *error);

// Writes the counts of a design.
placefield_status placefield_design_count(const struct placefield_design *design,
                                          struct placefield_design_counts *counts,
                                          struct placefield_error *error);

// Makes an engine for a design, with its fixed cells, blockages, halos and fences, on nx x ny bins
// over its die. If `fillers` is not 0, fillers fill the free area at the target density. Freed by
// placefield_engine_free; it does not need the design any more.
placefield_status placefield_design_engine(const struct placefield_design *design,
                                           uint32_t nx,
                                           uint32_t ny,
                                           double target_density,
                                           int32_t fillers,
                                           const struct placefield_options *options,
                                           struct placefield_engine **engine,
                                           struct placefield_error *error);

// Computes the half-perimeter wirelength of a design's nets, layout units;
// PLACEFIELD_STATUS_BAD_ARGUMENT if the nets are unknown.
placefield_status placefield_design_hpwl(const struct placefield_design *design,
                                         double *hpwl,
                                         struct placefield_error *error);

// Computes the congestion maps of a design at its current positions, over nx x ny bins of its die:
// `maps` has room for 7 * nx * ny values, map by map with y contiguous, in this order: RUDY, pin
// RUDY, RUDY of long nets, RUDY of short nets, macro region, cell density, pin density.
// `convention` is a placefield_convention; `horizontal` and `vertical` are routing tracks per
// layout unit across them, or 0 both for those that DREAMPlace takes, which only the OpenROAD
// convention refuses.
placefield_status placefield_design_congestion(const struct placefield_design *design,
                                               uint32_t nx,
                                               uint32_t ny,
                                               int32_t convention,
                                               double horizontal,
                                               double vertical,
                                               double *maps,
                                               struct placefield_error *error);

// Moves the movable nodes of a design to these lower-left corners, `movable` values each.
placefield_status placefield_design_move(struct placefield_design *design,
                                         const double *x,
                                         const double *y,
                                         size_t movable,
                                         struct placefield_error *error);

// Writes the lower-left corners, widths and heights of the movable nodes of a design in their
// orientations, layout units: `movable` values each. An array may be NULL.
placefield_status placefield_design_cells(const struct placefield_design *design,
                                          double *x,
                                          double *y,
                                          double *width,
                                          double *height,
                                          size_t movable,
                                          struct placefield_error *error);

// Writes the placement of a design. A path that ends in .def or .def.gz gets a copy of the
// design's .def file with its movable cells placed; any other path gets a .pl file. The file
// appears whole or not at all.
placefield_status placefield_design_write(const struct placefield_design *design,
                                          const char *file,
                                          struct placefield_error *error);

// For an engine on a CUDA device: enqueues density and solve at `positions` to `stream`, a
// CUstream or cudaStream_t (NULL: the legacy default stream), and returns at once. `positions` is
// memory of that device, 2 · `bodies` values of the engine's precision: x of every body, then y.
// `energy`, if not NULL, is where on the device the energy is copied to, a double. Both are used
// when the work runs, so they live until then. Where the stream is being captured, the work
// becomes a part of the caller's graph, once the same has run before; the graph is not to run when
// the engine is gone or was changed (placefield_engine_set_sizes and the like).
placefield_status placefield_engine_enqueue_energy(struct placefield_engine *engine,
                                                   const void *positions,
                                                   size_t bodies,
                                                   double *energy,
                                                   void *stream,
                                                   struct placefield_error *error);

// For an engine on a CUDA device: enqueues weight · factor · force at the positions last given to
// placefield_engine_enqueue_energy to `stream`, and returns at once. `gradient` is memory of that
// device, 2 · `bodies` values of the engine's precision, x of every body, then y; written, or
// added to where `accumulate` is not 0. `factor`, if not NULL, is one value of that precision on
// the device.
placefield_status placefield_engine_enqueue_gradient(struct placefield_engine *engine,
                                                     void *gradient,
                                                     size_t bodies,
                                                     double weight,
                                                     const void *factor,
                                                     int32_t accumulate,
                                                     void *stream,
                                                     struct placefield_error *error);

// For an engine on a CUDA device: reads overflow, largest density and energy of the evaluation
// last enqueued to `stream`; waits for it.
placefield_status placefield_engine_read_evaluation(struct placefield_engine *engine,
                                                    void *stream,
                                                    struct placefield_evaluation *result,
                                                    struct placefield_error *error);

// Between the runs of a caller's graph that holds steps of this engine: sorts the bodies again on
// `stream`, if that is due, so that the runs stay fast. No result depends on it.
placefield_status placefield_engine_order_if_due(struct placefield_engine *engine,
                                                 void *stream,
                                                 struct placefield_error *error);

// Makes an engine. Freed by placefield_engine_free. Positions are on the die: floats are refused
// where the die is so far from 0 that they would be rounded by a noticeable part of a row's
// height. Doubles, or a die moved to 0 by its caller, are right there.
placefield_status placefield_engine_new(const struct placefield_grid *grid,
                                        const struct placefield_bodies *bodies,
                                        const struct placefield_options *options,
                                        struct placefield_engine **engine,
                                        struct placefield_error *error);

// Frees an engine. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
placefield_status placefield_engine_free(struct placefield_engine *engine,
                                         struct placefield_error *error);

// Writes the number of movable cells, and of bodies: movable cells, then fillers.
placefield_status placefield_engine_bodies(const struct placefield_engine *engine,
                                           size_t *movable,
                                           size_t *bodies,
                                           struct placefield_error *error);

// Writes the lower-left corners at which the bodies start, `bodies` values each: the given ones of
// the movable cells, the drawn ones of the fillers.
placefield_status placefield_engine_start(const struct placefield_engine *engine,
                                          int32_t precision,
                                          void *x,
                                          void *y,
                                          size_t bodies,
                                          struct placefield_error *error);

// Computes one step: density, solve and forces for the lower-left corners `x` and `y` (host
// memory, layout units, movable cells first, then fillers; `bodies` values each). `result` may be
// NULL. A body outside the die adds to no bin and feels no force; its area is overflow. Waits until
// all is done. After an error the results of earlier positions are gone: asking for them is
// PLACEFIELD_STATUS_OUT_OF_ORDER.
placefield_status placefield_engine_evaluate(struct placefield_engine *engine,
                                             int32_t precision,
                                             const void *x,
                                             const void *y,
                                             size_t bodies,
                                             struct placefield_evaluation *result,
                                             struct placefield_error *error);

// Writes the force on every body at the positions last evaluated, the direction that spreads, in
// layout area × bin widths: minus the gradient that placers of the DREAMPlace kind descend by.
placefield_status placefield_engine_force(struct placefield_engine *engine,
                                          int32_t precision,
                                          void *force_x,
                                          void *force_y,
                                          size_t bodies,
                                          struct placefield_error *error);

// Writes weight · force to `gradient` in host memory, or adds it if `accumulate` is not 0: x of
// every body, then y, 2 · `bodies` values. A weight of -1 gives the direction in which density
// rises. A weight of -2 / (bin area · bin width) gives the derivative of the energy, except for
// the field's variation within a bin.
placefield_status placefield_engine_gradient(struct placefield_engine *engine,
                                             int32_t precision,
                                             void *gradient,
                                             size_t bodies,
                                             double weight,
                                             int32_t accumulate,
                                             struct placefield_error *error);

// Writes overflow and largest density at the positions last evaluated with every cell at its exact
// size, not smoothed; either may be NULL.
placefield_status placefield_engine_exact(struct placefield_engine *engine,
                                          double *overflow,
                                          double *max_density,
                                          struct placefield_error *error);

// Copies a map of the last step, a placefield_map, `bins` = nx · ny values, y contiguous; with
// fences those of all regions, one after the other, `bins` = regions · nx · ny.
placefield_status placefield_engine_map(struct placefield_engine *engine,
                                        int32_t precision,
                                        int32_t kind,
                                        void *map,
                                        size_t bins,
                                        struct placefield_error *error);

// Fills `place_options` with the defaults: all stages, the defaults of placefield_options_init,
// bins chosen for the design, a start in the middle, seed 1000, no padding, no limits, no
// callbacks. `struct_size` is sizeof(placefield_place_options).
placefield_status placefield_place_options_init(struct placefield_place_options *place_options,
                                                size_t struct_size,
                                                struct placefield_error *error);

// Moves every movable cell of a design to a nearby legal place, in place of the present positions
// (placefield_design_move, placefield_design_cells). Uses `padding`, `max_displacement`,
// `time_limit` and the threads of `place_options`. `result` may be NULL. Cells that find no legal
// place are counted in `result.failed`: that is no error.
// PLACEFIELD_STATUS_BAD_ARGUMENT if the design has no rows; the design is then unchanged.
placefield_status placefield_design_legalize(struct placefield_design *design,
                                             const struct placefield_place_options *place_options,
                                             struct placefield_place_result *result,
                                             struct placefield_error *error);

// Shortens the wires of a legal placement of a design, in place. Uses `padding`, `rounds`,
// `mirror`, `max_displacement`, `time_limit`, `target_density`, the bins, the device and the
// threads of `place_options`. `result` may be NULL. PLACEFIELD_STATUS_BAD_ARGUMENT if the
// placement is not legal or the design has no nets; the design is then unchanged.
placefield_status placefield_design_refine(struct placefield_design *design,
                                           const struct placefield_place_options *place_options,
                                           struct placefield_place_result *result,
                                           struct placefield_error *error);

// Counts the faults of a design's placement.
placefield_status placefield_design_legality(const struct placefield_design *design,
                                             struct placefield_legality *legality,
                                             struct placefield_error *error);

// Places the movable cells of a design, stage by stage, and gives them the result's positions.
// `result` may be NULL. Warnings about the placement are added to those of the design
// (placefield_design_warnings). A placement that stops before its goal or is not legal is no error:
// `result` says so. Calls of other threads that change the design meanwhile are lost. After an
// error the design is unchanged.
placefield_status placefield_place(struct placefield_design *design,
                                   const struct placefield_place_options *place_options,
                                   struct placefield_place_result *result,
                                   struct placefield_error *error);

// Writes the number of regions, which have separate densities: one without fences, else the number
// of fences, plus one if a cell has no fence. `of_bodies`, which may be NULL, gets the region of
// every body, `bodies` values.
placefield_status placefield_engine_regions(const struct placefield_engine *engine,
                                            size_t *regions,
                                            uint32_t *of_bodies,
                                            size_t bodies,
                                            struct placefield_error *error);

// Reads the evaluation of every region at the positions last evaluated, `regions` values: overflow
// and largest density of the region's cells and area, and the energy of its density.
placefield_status placefield_engine_evaluations(struct placefield_engine *engine,
                                                struct placefield_evaluation *evaluations,
                                                size_t regions,
                                                struct placefield_error *error);

// Writes or adds the gradient of placefield_engine_gradient with a weight for the bodies of
// every region: `weights` has `regions` values.
placefield_status placefield_engine_region_gradient(struct placefield_engine *engine,
                                                    int32_t precision,
                                                    void *gradient,
                                                    size_t bodies,
                                                    const double *weights,
                                                    size_t regions,
                                                    int32_t accumulate,
                                                    struct placefield_error *error);

// Plans the solve of densities on `grid`. Freed by placefield_solver_free.
placefield_status placefield_solver_new(const struct placefield_grid *grid,
                                        const struct placefield_options *options,
                                        struct placefield_solver **solver,
                                        struct placefield_error *error);

// Frees a solver. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
placefield_status placefield_solver_free(struct placefield_solver *solver,
                                         struct placefield_error *error);

// Computes φ, Ex and Ey of `density`: four maps of nx × ny values in host memory that do not
// overlap. `bins` is nx · ny. φ is in bin widths squared, E in bin widths. `energy`, if not NULL,
// is Σ φ·ρ. Does not change `density`. Waits until all is done.
placefield_status placefield_solver_solve(struct placefield_solver *solver,
                                          int32_t precision,
                                          const void *density,
                                          void *potential,
                                          void *field_x,
                                          void *field_y,
                                          size_t bins,
                                          double *energy,
                                          struct placefield_error *error);

// Prepares the wirelength of a design's nets. Nets of more than `ignore_net_degree` pins are left
// out of the weighted average; 0 leaves out no net. `options` has the precision of positions and
// gradients and the threads; its device is PLACEFIELD_CPU. Freed by placefield_wirelength_free; it
// does not need the design any more. Floats are refused where they round positions on the die by a
// noticeable part of a row's height.
placefield_status placefield_wirelength_new(const struct placefield_design *design,
                                            size_t ignore_net_degree,
                                            const struct placefield_options *options,
                                            struct placefield_wirelength **wirelength,
                                            struct placefield_error *error);

// Frees a wirelength. NULL has no effect; a freed handle is PLACEFIELD_STATUS_BAD_HANDLE.
placefield_status placefield_wirelength_free(struct placefield_wirelength *wirelength,
                                             struct placefield_error *error);

// Replaces the net weights: `nets` values in the design's order, each finite and not negative;
// NULL: the design's own. The design keeps its weights. After an error the weights are unchanged.
placefield_status placefield_wirelength_set_weights(struct placefield_wirelength *wirelength,
                                                    const double *weights,
                                                    size_t nets,
                                                    struct placefield_error *error);

// Computes the wirelength with the lower-left corners of the movable cells at `x` and `y`, layout
// units: `bodies` values each, at least as many as the design has movable cells. Values after
// those of the movable cells, such as the fillers', are ignored. `gamma` is the smoothing length,
// layout units, above 0. `gradient`, if not NULL, gets the derivative of the weighted average: x of
// every body, then y, 2 · `bodies` values, 0 for other bodies than movable cells.
// placefield_engine_gradient adds the density's. `precision` is the placefield_precision of `x`,
// `y` and `gradient`, which is that of the options.
placefield_status placefield_wirelength_evaluate(struct placefield_wirelength *wirelength,
                                                 int32_t precision,
                                                 const void *x,
                                                 const void *y,
                                                 size_t bodies,
                                                 double gamma,
                                                 struct placefield_wirelength_result *result,
                                                 void *gradient,
                                                 struct placefield_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PLACEFIELD_H */
