// The integer types a transform can take its input from. cuFFT has none of them,
// so the first kernel converts as it reads (Jiang et al., "Settings").
#pragma once

/// K(SUFFIX, type) for each.
#define PF_INTEGERS(K)     \
    K(_u8, unsigned char)  \
    K(_i8, signed char)    \
    K(_u16, unsigned short) \
    K(_i16, short)         \
    K(_u32, unsigned)      \
    K(_i32, int)
