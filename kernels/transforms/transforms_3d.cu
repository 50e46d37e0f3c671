// Pre- and post-processing of 3-D transforms through one 3-D real FFT (Jiang et
// al., "Higher dimensions"): a thread has four complex numbers on one side and
// the eight real ones they hold on the other, each read and written once. The
// reordering is reorder.cuh's, along all three axes.
//
// Volumes are [l][m][n], n contiguous; spectra from cuFFT are [l][m][n/2 + 1].
// w[k] = e^{-jπk/2N} for N = l, m, n. Blocks of 256 threads cover
// (m/2 + 1) × (n/2 + 1); blockIdx.z counts l/2 + 1 for every volume of a batch. No shared
// memory. One read and one write an element.
//
// Along one axis, with C the DCT and V the FFT of the reordered line:
//   C[k] = (w V[k] + conj(w) V[N-k]) / 2,  C[N-k] = j (w V[k] - conj(w) V[N-k]) / 2
//   V[k] = conj(w) (C[k] - j C[N-k]) / 2,  V[N-k] = w (C[k] + j C[N-k]) / 2
// with C[N] = 0. They hold for complex lines, so they can be taken one axis after
// the other (dct_pair and idct_pair with conj(w)); along the last one, the lines being real,
// one of the pair is enough.
#include "fft/reorder.cuh"
#include "lines/real_lines.cuh"

__device__ __forceinline__ cplx scaled(real s, cplx a) { return make(s * a.x, s * a.y); }

/// The axes' lengths, what a thread is at along each, and where it has a mirror
/// image of its own.
struct Octet {
    u32 l, m, n, t, u, v;

    __device__ __forceinline__ Octet(u32 l, u32 m, u32 n) : l(l), m(m), n(n) {
        Index c = first_index();
        t = blockIdx.z % (l / 2 + 1);
        u = c.i;
        v = c.j;
    }
    __device__ __forceinline__ u32 volume() const { return blockIdx.z / (l / 2 + 1); }
    __device__ __forceinline__ bool inside() const { return 2 * u <= m && 2 * v <= n; }
    __device__ __forceinline__ bool has_mirror(int axis) const {
        u32 k = axis == 0 ? t : axis == 1 ? u : v, length = axis == 0 ? l : axis == 1 ? m : n;
        return k && 2 * k < length;
    }
    /// Row (t or its mirror image, u or its mirror image); index N is index 0.
    __device__ __forceinline__ size_t row(bool mirror_t, bool mirror_u) const {
        u32 i = mirror_t && t ? l - t : t, j = mirror_u && u ? m - u : u;
        return size_t(i) * m + j;
    }
};

PF_KERNEL(BLOCK) dct3_post(const cplx* __restrict__ in, real* __restrict__ out, u32 l, u32 m, u32 n,
                           const cplx* __restrict__ wl, const cplx* __restrict__ wm, const cplx* __restrict__ wn) {
    Octet o(l, m, n);
    if (!o.inside()) return;
    u32 h = n / 2 + 1;
    in += o.volume() * (size_t(l) * m * h) + o.v;
    out += o.volume() * (size_t(l) * m * n);
    cplx x[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) x[i][j] = in[o.row(i, j) * h];
    const cplx a = wl[o.t], b = wm[o.u], c = scaled(real(0.25), wn[o.v]);
    dct_pair(conj(a), x[0][0], x[1][0]);
    dct_pair(conj(a), x[0][1], x[1][1]);
    dct_pair(conj(b), x[0][0], x[0][1]);
    dct_pair(conj(b), x[1][0], x[1][1]);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            if ((i && !o.has_mirror(0)) || (j && !o.has_mirror(1))) continue;
            cplx z = c * x[i][j];
            real* line = out + o.row(i, j) * n;
            line[o.v] = z.x;
            if (o.has_mirror(2)) line[n - o.v] = -z.y;
        }
}

PF_KERNEL(BLOCK) idct3_pre(const Input* __restrict__ in, cplx* __restrict__ out, u32 l, u32 m, u32 n,
                           const cplx* __restrict__ wl, const cplx* __restrict__ wm, const cplx* __restrict__ wn) {
    Octet o(l, m, n);
    if (!o.inside()) return;
    u32 h = n / 2 + 1;
    in += o.volume() * (size_t(l) * m * n);
    out += o.volume() * (size_t(l) * m * h) + o.v;
    const cplx a = wl[o.t], b = wm[o.u], c = conj(scaled(real(0.125), wn[o.v]));
    cplx x[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            // Index N stands for a zero.
            bool there = (!i || o.t) && (!j || o.u);
            const Input* line = in + o.row(i, j) * n;
            x[i][j] = there ? c * make(real(line[o.v]), o.v ? -real(line[n - o.v]) : real(0)) : make(0, 0);
        }
    idct_pair(conj(a), x[0][0], x[1][0]);
    idct_pair(conj(a), x[0][1], x[1][1]);
    idct_pair(conj(b), x[0][0], x[0][1]);
    idct_pair(conj(b), x[1][0], x[1][1]);
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j)
            if ((!i || o.has_mirror(0)) && (!j || o.has_mirror(1))) out[o.row(i, j) * h] = x[i][j];
}
