// DFTs of 2 to 16 points of one thread, in registers.
#pragma once
#include "device/common.cuh"

/// cos(πi/2P), i = 0…P, for P = 16, 12 or 10; a constant where i is one.
template <int P> __device__ __forceinline__ constexpr double cosine(int i) {
    static_assert(P == 16 || P == 12 || P == 10, "no table for these parts");
    constexpr double SIXTEEN[] = {
        1.0, 0.99518472667219688624, 0.98078528040323044913, 0.95694033573220886494, 0.92387953251128675613,
        0.88192126434835502971, 0.83146961230254523708, 0.77301045336273696081, 0.70710678118654752440,
        0.63439328416364549822, 0.55557023301960222474, 0.47139673682599764856, 0.38268343236508977173,
        0.29028467725446236764, 0.19509032201612826785, 0.09801714032956060199, 0.0};
    constexpr double TWELVE[] = {
        1.0, 0.99144486137381041114, 0.96592582628906828675, 0.92387953251128675613, 0.86602540378443864676,
        0.79335334029123516458, 0.70710678118654752440, 0.60876142900872063942, 0.5, 0.38268343236508977173,
        0.25881904510252076235, 0.13052619222005159155, 0.0};
    constexpr double TEN[] = {
        1.0, 0.98768834059513772619, 0.95105651629515357212, 0.89100652418836786236, 0.80901699437494742410,
        0.70710678118654752440, 0.58778525229247312917, 0.45399049973954679156, 0.30901699437494742410,
        0.15643446504023086901, 0.0};
    return P == 16 ? SIXTEEN[i] : P == 12 ? TWELVE[i] : TEN[i];
}

/// Multiplies by e^{iπn/2R}, 0 <= n <= R, for R a divisor of 16, 12 or 10.
template <int R> __device__ __forceinline__ cplx rotate(cplx a, int n) {
    if (n == 0) return a;
    if (n == R) return make(-a.y, a.x);
    constexpr int P = 16 % R == 0 ? 16 : 12 % R == 0 ? 12 : 10;
    return a * make(real(cosine<P>(n * (P / R))), real(cosine<P>(P - n * (P / R))));
}

/// A DFT of X points in place, exponent of sign S; X is 2, 3, 4, 5, 6, 8, 10, 12, 15 or 16.
template <int X, int S> __device__ __forceinline__ void dft(cplx* v);

/// From a and b to a + wb and a - wb = 2a - (a + wb): six fused operations, where a product and two sums are eight.
__device__ __forceinline__ void butterfly(cplx& a, cplx& b, cplx w) {
    const cplx sum = make(fma(-w.y, b.y, fma(w.x, b.x, a.x)), fma(w.y, b.x, fma(w.x, b.y, a.y)));
    b = make(fma(real(2), a.x, -sum.x), fma(real(2), a.y, -sum.y));
    a = sum;
}

/// X points, a power of two, from DFTs of the even and of the odd elements. TWIDDLES: element i is
/// multiplied by the i-th power of a twiddle, of which `table` has powers 1, 2, 4, …, X/2 for S = -1.
template <int X, int S, bool TWIDDLES> __device__ __forceinline__ void dft_of_halves(cplx* v, const cplx* table) {
    if constexpr (X > 1) {
        constexpr int HALF = X / 2, QUARTER = X > 2 ? X / 4 : 1;
        cplx even[HALF], odd[HALF];
#pragma unroll
        for (int i = 0; i < HALF; ++i) {
            even[i] = v[2 * i];
            odd[i] = v[2 * i + 1];
        }
        const cplx* const of_halves = TWIDDLES ? table + 1 : table;
        dft_of_halves<HALF, S, TWIDDLES>(even, of_halves);
        dft_of_halves<HALF, S, TWIDDLES>(odd, of_halves);
#pragma unroll
        for (int k = 0; k < HALF; ++k) {
            cplx &a = v[k], &b = v[k + HALF];
            a = even[k];
            b = k < QUARTER ? odd[k] : times_i<S>(odd[k]);
            if (!TWIDDLES && k % QUARTER == 0) {
                const cplx t = a;
                a = t + b;
                b = t - b;
            } else {
                // e^{2πi·k/X} times the twiddle, both for S = 1.
                const cplx w = rotate<QUARTER>(TWIDDLES ? conj(table[0]) : make(1, 0), k % QUARTER);
                butterfly(a, b, S > 0 ? w : conj(w));
            }
        }
    }
}

template <int S> __device__ __forceinline__ void dft3(cplx& v0, cplx& v1, cplx& v2) {
    const real s = real(cosine<12>(4));
    const cplx a = v1 + v2, d = v1 - v2;
    const cplx m = make(v0.x - real(0.5) * a.x, v0.y - real(0.5) * a.y), n = times_i<S>(make(s * d.x, s * d.y));
    v0 = v0 + a;
    v1 = m + n;
    v2 = m - n;
}

template <int S> __device__ __forceinline__ void dft5(cplx& v0, cplx& v1, cplx& v2, cplx& v3, cplx& v4) {
    const real c1 = real(cosine<10>(8)), c2 = real(-cosine<10>(4)), s1 = real(cosine<10>(2)), s2 = real(cosine<10>(6));
    const cplx a = v1 + v4, b = v2 + v3, c = v1 - v4, d = v2 - v3;
    const cplx e = make(v0.x + c1 * a.x + c2 * b.x, v0.y + c1 * a.y + c2 * b.y);
    const cplx f = make(v0.x + c2 * a.x + c1 * b.x, v0.y + c2 * a.y + c1 * b.y);
    const cplx g = times_i<S>(make(s1 * c.x + s2 * d.x, s1 * c.y + s2 * d.y));
    const cplx h = times_i<S>(make(s2 * c.x - s1 * d.x, s2 * c.y - s1 * d.y));
    v0 = v0 + a + b;
    v1 = e + g;
    v4 = e - g;
    v2 = f + h;
    v3 = f - h;
}

/// The multiple of Q below P·Q that is 1 modulo P.
__device__ __forceinline__ constexpr int unit(int p, int q) {
    int k = q;
    while (k % p != 1) k += q;
    return k;
}

/// P·Q points, P and Q without a common divisor: DFTs of Q, then of P. With element Qa + Pb and the output that is
/// c modulo P and d modulo Q there is no twiddle between DFTs of Q over b and of P over a (Good 1958).
template <int P, int Q, int S> __device__ __forceinline__ void dft_of_product(cplx* v) {
    cplx rows[P][Q];
#pragma unroll
    for (int a = 0; a < P; ++a) {
#pragma unroll
        for (int b = 0; b < Q; ++b) rows[a][b] = v[(Q * a + P * b) % (P * Q)];
        dft<Q, S>(rows[a]);
    }
#pragma unroll
    for (int d = 0; d < Q; ++d) {
        cplx column[P];
#pragma unroll
        for (int a = 0; a < P; ++a) column[a] = rows[a][d];
        dft<P, S>(column);
#pragma unroll
        for (int c = 0; c < P; ++c) v[(unit(P, Q) * c + unit(Q, P) * d) % (P * Q)] = column[c];
    }
}

template <int X, int S> __device__ __forceinline__ void dft(cplx* v) {
    if constexpr ((X & (X - 1)) == 0) dft_of_halves<X, S, false>(v, nullptr);
    else if constexpr (X == 3) dft3<S>(v[0], v[1], v[2]);
    else if constexpr (X == 5) dft5<S>(v[0], v[1], v[2], v[3], v[4]);
    else if constexpr (X % 4 == 2) dft_of_product<2, X / 2, S>(v);
    else dft_of_product<3, X / 3, S>(v);
}

/// The DFT of v with element i multiplied by the i-th power of a twiddle. `table` has its powers 1, 2, 4 and 8 that
/// are below X, for S = -1.
template <int X, int S> __device__ __forceinline__ void dft_with_twiddles(cplx* v, const cplx* table) {
    if constexpr ((X & (X - 1)) == 0) {
        dft_of_halves<X, S, true>(v, table);
    } else {
        cplx w[X];
#pragma unroll
        for (int p = 1, row = 0; p < X; p *= 2, ++row) w[p] = S > 0 ? conj(table[row]) : table[row];
#pragma unroll
        for (int p = 1; p < X; ++p) {
            const int high = p >= 8 ? 8 : p >= 4 ? 4 : p >= 2 ? 2 : 1;
            if (p != high) w[p] = w[high] * w[p - high];
            v[p] = v[p] * w[p];
        }
        dft<X, S>(v);
    }
}
