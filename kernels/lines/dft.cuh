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

template <int S> __device__ __forceinline__ void dft2(cplx& a, cplx& b) {
    cplx t = a;
    a = t + b;
    b = t - b;
}

template <int S> __device__ __forceinline__ void dft3(cplx& v0, cplx& v1, cplx& v2) {
    const real s = real(cosine<12>(4));
    const cplx a = v1 + v2, d = v1 - v2;
    const cplx m = make(v0.x - real(0.5) * a.x, v0.y - real(0.5) * a.y), n = times_i<S>(make(s * d.x, s * d.y));
    v0 = v0 + a;
    v1 = m + n;
    v2 = m - n;
}

template <int S> __device__ __forceinline__ void dft4(cplx& v0, cplx& v1, cplx& v2, cplx& v3) {
    cplx a = v0 + v2, b = v0 - v2, c = v1 + v3, d = times_i<S>(v1 - v3);
    v0 = a + c;
    v2 = a - c;
    v1 = b + d;
    v3 = b - d;
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

/// Multiplies by e^{S·2πin/16}; n is 0, 1, 2, 3, 4, 6 or 9.
template <int S> __device__ __forceinline__ cplx turn(cplx a, int n) {
    const real c = real(cosine<16>(4)), s = real(cosine<16>(12)), h = real(cosine<16>(8));
    switch (n) {
        case 0: return a;
        case 1: return a * make(c, S * s);
        case 2: return make(h * (a.x - S * a.y), h * (a.y + S * a.x));
        case 3: return a * make(s, S * c);
        case 4: return times_i<S>(a);
        case 6: return make(-h * (a.x + S * a.y), h * (S * a.x - a.y));
        default: return a * make(-c, -S * s);
    }
}

/// P·Q points: DFTs of Q, then of P. P and Q without a common divisor: with element Qa + Pb and
/// the output that is c modulo P and d modulo Q there is no twiddle between DFTs of Q over b and
/// of P over a (Good 1958). Else, of 8 and 16 points, with element a + Pb and output Qc + d (Cooley
/// and Tukey 1965).
template <int P, int Q, int S> __device__ __forceinline__ void dft_of_product(cplx* v) {
    constexpr bool COPRIME = P % 2 != 0 || Q % 2 != 0;
    cplx rows[P][Q];
#pragma unroll
    for (int a = 0; a < P; ++a) {
#pragma unroll
        for (int b = 0; b < Q; ++b) rows[a][b] = v[((COPRIME ? Q : 1) * a + P * b) % (P * Q)];
        dft<Q, S>(rows[a]);
    }
    if (!COPRIME) {
#pragma unroll
        for (int a = 1; a < P; ++a)
#pragma unroll
            for (int d = 1; d < Q; ++d) rows[a][d] = turn<S>(rows[a][d], a * d * 16 / (P * Q));
    }
    constexpr int FIRST = COPRIME ? unit(P, Q) : Q, SECOND = COPRIME ? unit(Q, P) : 1;
#pragma unroll
    for (int d = 0; d < Q; ++d) {
        cplx column[P];
#pragma unroll
        for (int a = 0; a < P; ++a) column[a] = rows[a][d];
        dft<P, S>(column);
#pragma unroll
        for (int c = 0; c < P; ++c) v[(FIRST * c + SECOND * d) % (P * Q)] = column[c];
    }
}

template <int X, int S> __device__ __forceinline__ void dft(cplx* v) {
    if constexpr (X == 2) dft2<S>(v[0], v[1]);
    else if constexpr (X == 3) dft3<S>(v[0], v[1], v[2]);
    else if constexpr (X == 4) dft4<S>(v[0], v[1], v[2], v[3]);
    else if constexpr (X == 5) dft5<S>(v[0], v[1], v[2], v[3], v[4]);
    else if constexpr (X == 16) dft_of_product<4, 4, S>(v);
    else if constexpr (X == 8 || X % 4 != 0 && X % 2 == 0) dft_of_product<2, X / 2, S>(v);
    else dft_of_product<3, X / 3, S>(v);
}

/// The twiddles of a stage of radix X, w[1] to w[X-1], from a table's powers 1, 2, 4 and 8.
template <int X, int S> __device__ __forceinline__ void powers_of(const cplx* table, cplx* w) {
#pragma unroll
    for (int p = 1, row = 0; p < X; p *= 2, ++row) w[p] = S > 0 ? conj(table[row]) : table[row];
#pragma unroll
    for (int p = 3; p < X; ++p) {
        int high = p >= 8 ? 8 : p >= 4 ? 4 : 2;
        if (p != high) w[p] = w[high] * w[p - high];
    }
}
