//! Vectors of real numbers, one type for each vector unit, and code written once for all.
//!
//! LLVM vectorises simple loops by itself (`vectorised`), but not the butterflies of an FFT, which
//! use twenty vectors at once. Butterflies are written with these types.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Sub};

/// A few real numbers that are computed with at once.
///
/// Values come from a [`Unit`], which exists only where the processor has the vectors: that is
/// what makes the operations sound.
pub trait Vector:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// `f32` or `f64`.
    type Number: Copy + 'static;
    /// Numbers in a vector.
    const LANES: usize;

    /// Returns `self · a + b`, rounded once where the unit can.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// Returns `self · a − b`, rounded once where the unit can.
    fn mul_sub(self, a: Self, b: Self) -> Self;

    /// Returns the same number in every lane.
    ///
    /// # Safety
    /// The processor has this unit.
    unsafe fn splat(value: Self::Number) -> Self;

    /// # Safety
    /// The processor has this unit, and [`Vector::LANES`] numbers from `from` on may be read.
    unsafe fn load(from: *const Self::Number) -> Self;

    /// # Safety
    /// [`Vector::LANES`] numbers from `to` on may be written.
    unsafe fn store(self, to: *mut Self::Number);

    /// Stores as [`Vector::store`] does, past the caches if the unit can.
    ///
    /// # Safety
    /// See [`Vector::store`]. `to` is a multiple of the vector's size, and a
    /// [`Vector::fence`] comes between this and whatever else reads or writes the numbers.
    unsafe fn stream(self, to: *mut Self::Number);

    /// Streamed values before this are visible to every thread that sees the writes after it.
    fn fence();
}

/// The vectors of a number's type, and the rows of tiles made of them.
pub trait Vectors: Copy + Debug + Send + Sync + 'static {
    /// 512 bits.
    type Avx512: Vector<Number = Self>;
    /// 256 bits.
    type Avx2: Vector<Number = Self>;
    /// The unit that every processor of the family has: 128 bits.
    type Portable: Vector<Number = Self>;
    /// 128 bytes of numbers: two cache lines, the real parts of [`Vectors::LANES`] complex numbers,
    /// then their imaginary parts.
    type Row: Copy + Debug + Send + Sync + AsRef<[Self]> + AsMut<[Self]>;
    /// Zeros.
    const ROW: Row<Self>;
    /// Complex numbers in a row.
    const LANES: usize;

    /// Returns a square of numbers with rows and columns exchanged.
    fn transposed(square: [[Self; 4]; 4]) -> [[Self; 4]; 4];
}

/// [`Vectors::Row`] at the beginning of a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub struct Row<T: Vectors>(pub(crate) T::Row);

impl<T: Vectors> Row<T> {
    /// Returns all of its numbers.
    #[inline(always)]
    pub(crate) fn numbers(&self) -> &[T] {
        self.0.as_ref()
    }

    /// Returns all of its numbers.
    #[inline(always)]
    pub(crate) fn numbers_mut(&mut self) -> &mut [T] {
        self.0.as_mut()
    }
}

/// The promise that this processor has the unit whose vectors are `V`.
#[derive(Clone, Copy)]
pub(crate) struct Unit<V>(std::marker::PhantomData<V>);

impl<V: Vector> Unit<V> {
    /// # Safety
    /// The processor has this unit.
    #[inline(always)]
    unsafe fn new() -> Self {
        Unit(std::marker::PhantomData)
    }

    #[inline(always)]
    pub(crate) fn splat(self, value: V::Number) -> V {
        // SAFETY: this value is the promise that the processor has the unit.
        unsafe { V::splat(value) }
    }

    /// Returns the numbers from `at` on.
    ///
    /// # Panics
    /// When there are not that many.
    #[inline(always)]
    pub(crate) fn load(self, from: &[V::Number], at: usize) -> V {
        let from = &from[at..][..V::LANES];
        // SAFETY: the slice has as many numbers, and this value is the promise of the unit.
        unsafe { V::load(from.as_ptr()) }
    }

    /// # Panics
    /// When there are not that many numbers from `at` on.
    #[inline(always)]
    pub(crate) fn store(self, vector: V, to: &mut [V::Number], at: usize) {
        let to = &mut to[at..][..V::LANES];
        // SAFETY: the slice has as many numbers.
        unsafe { vector.store(to.as_mut_ptr()) }
    }

    /// Stores as [`Unit::store`] does, past the caches if the unit can.
    ///
    /// # Panics
    /// See [`Unit::store`], and where the place is no multiple of the vector's size.
    ///
    /// # Safety
    /// A [`Vector::fence`] comes between this and whatever else reads or writes the numbers.
    #[inline(always)]
    pub(crate) unsafe fn stream(self, vector: V, to: &mut [V::Number], at: usize) {
        let to = &mut to[at..][..V::LANES];
        assert!(to.as_ptr().addr().is_multiple_of(size_of_val(to)), "the beginning of a vector");
        // SAFETY: the slice has as many numbers, at a multiple of the vector's size; the fence is
        // the caller's promise.
        unsafe { vector.stream(to.as_mut_ptr()) }
    }
}

/// Work written for any unit. `run` and all it calls with vectors is to be `#[inline(always)]`,
/// closures included: code that is not inlined is not compiled for the unit, and as slow as calls
/// are.
pub(crate) trait SimdKernel<T: Vectors> {
    type Output;
    fn run<V: Vector<Number = T>>(self, unit: Unit<V>) -> Self::Output;
}

/// Runs `work` on [`Simd::current`](super::Simd::current).
#[inline]
pub(crate) fn dispatch<T: Vectors, W: SimdKernel<T>>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use super::Simd;

        #[target_feature(
            enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,popcnt"
        )]
        fn with_avx512<T: Vectors, W: SimdKernel<T>>(work: W) -> W::Output {
            // SAFETY: the caller has made sure of these features.
            work.run(unsafe { Unit::<T::Avx512>::new() })
        }
        #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,popcnt")]
        fn with_avx2<T: Vectors, W: SimdKernel<T>>(work: W) -> W::Output {
            // SAFETY: the caller has made sure of these features.
            work.run(unsafe { Unit::<T::Avx2>::new() })
        }
        match Simd::current() {
            // SAFETY: `current` is never more than what the processor was found to have.
            Simd::Avx512 => return unsafe { with_avx512(work) },
            // SAFETY: as above.
            Simd::Avx2 => return unsafe { with_avx2(work) },
            Simd::Portable => {}
        }
    }
    // SAFETY: every processor has it.
    work.run(unsafe { Unit::<T::Portable>::new() })
}

/// Four numbers in what every processor of the family has.
#[derive(Clone, Copy, Debug)]
pub struct Four<T>([T; 4]);

macro_rules! each {
    ($($operator:ident $method:ident),*) => {$(
        impl<T: Copy + $operator<Output = T>> $operator for Four<T> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let (a, b) = (self.0, other.0);
                Four([
                    a[0].$method(b[0]),
                    a[1].$method(b[1]),
                    a[2].$method(b[2]),
                    a[3].$method(b[3]),
                ])
            }
        }
    )*};
}
each!(Add add, Sub sub, Mul mul, Div div);

impl<T> Vector for Four<T>
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T> + 'static,
{
    type Number = T;
    const LANES: usize = 4;

    // Without an instruction for it, `f32::mul_add` is a call of a function.
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }
    #[inline(always)]
    fn mul_sub(self, a: Self, b: Self) -> Self {
        self * a - b
    }
    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Four([value; 4])
    }
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller promises four numbers there; they need no alignment beyond their own.
        Four(unsafe { from.cast::<[T; 4]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: as above.
        unsafe { to.cast::<[T; 4]>().write(self.0) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut T) {
        // SAFETY: as above.
        unsafe { self.store(to) }
    }
    #[inline(always)]
    fn fence() {}
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Add, Div, Mul, Sub, Vector};
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($name:ident, $register:ty, $number:ty, $lanes:literal,
         [$($operator:ident $method:ident $of_two:ident),*], $mul_add:ident, $mul_sub:ident,
         $splat:ident, $load:ident, $store:ident, $stream:ident) => {
            /// Numbers in one register.
            #[derive(Clone, Copy, Debug)]
            pub struct $name($register);

            $(impl $operator for $name {
                type Output = Self;
                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: a vector comes from `splat` or `load`, whose caller promises the
                    // unit.
                    $name(unsafe { $of_two(self.0, other.0) })
                }
            })*
            impl Vector for $name {
                type Number = $number;
                const LANES: usize = $lanes;

                #[inline(always)]
                fn mul_add(self, a: Self, b: Self) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $mul_add(self.0, a.0, b.0) })
                }
                #[inline(always)]
                fn mul_sub(self, a: Self, b: Self) -> Self {
                    // SAFETY: as above.
                    $name(unsafe { $mul_sub(self.0, a.0, b.0) })
                }
                #[inline(always)]
                unsafe fn splat(value: $number) -> Self {
                    // SAFETY: the caller promises the unit.
                    $name(unsafe { $splat(value) })
                }
                #[inline(always)]
                unsafe fn load(from: *const $number) -> Self {
                    // SAFETY: the caller promises the unit and the numbers.
                    $name(unsafe { $load(from) })
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $number) {
                    // SAFETY: as above; the caller promises the numbers.
                    unsafe { $store(to, self.0) }
                }
                #[inline(always)]
                unsafe fn stream(self, to: *mut $number) {
                    // SAFETY: as above; the caller promises the alignment and the fence.
                    unsafe { $stream(to, self.0) }
                }
                #[inline(always)]
                fn fence() {
                    // SAFETY: SSE is part of x86-64.
                    unsafe { _mm_sfence() }
                }
            }
        };
    }
    vector!(
        F32x16,
        __m512,
        f32,
        16,
        [
            Add add _mm512_add_ps,
            Sub sub _mm512_sub_ps,
            Mul mul _mm512_mul_ps,
            Div div _mm512_div_ps
        ],
        _mm512_fmadd_ps,
        _mm512_fmsub_ps,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_stream_ps
    );
    vector!(
        F64x8,
        __m512d,
        f64,
        8,
        [
            Add add _mm512_add_pd,
            Sub sub _mm512_sub_pd,
            Mul mul _mm512_mul_pd,
            Div div _mm512_div_pd
        ],
        _mm512_fmadd_pd,
        _mm512_fmsub_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_stream_pd
    );
    vector!(
        F32x8,
        __m256,
        f32,
        8,
        [
            Add add _mm256_add_ps,
            Sub sub _mm256_sub_ps,
            Mul mul _mm256_mul_ps,
            Div div _mm256_div_ps
        ],
        _mm256_fmadd_ps,
        _mm256_fmsub_ps,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_stream_ps
    );
    vector!(
        F64x4,
        __m256d,
        f64,
        4,
        [
            Add add _mm256_add_pd,
            Sub sub _mm256_sub_pd,
            Mul mul _mm256_mul_pd,
            Div div _mm256_div_pd
        ],
        _mm256_fmadd_pd,
        _mm256_fmsub_pd,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_stream_pd
    );
}

macro_rules! vectors {
    ($number:ty, $avx512:ident, $avx2:ident, $lanes:literal, $transposed:path) => {
        impl Vectors for $number {
            #[cfg(target_arch = "x86_64")]
            type Avx512 = x86::$avx512;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = x86::$avx2;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx512 = Four<$number>;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx2 = Four<$number>;
            type Portable = Four<$number>;
            type Row = [$number; 2 * $lanes];
            const ROW: Row<Self> = Row([0.0; 2 * $lanes]);
            const LANES: usize = $lanes;

            #[inline(always)]
            fn transposed(square: [[Self; 4]; 4]) -> [[Self; 4]; 4] {
                $transposed(square)
            }
        }
    };
}
vectors!(f32, F32x16, F32x8, 16, squares::of_f32);
vectors!(f64, F64x8, F64x4, 8, squares::of_f64);

/// Squares of numbers transposed: LLVM makes sixteen moves of it.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod squares {
    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::*;
    #[cfg(target_arch = "aarch64")]
    use std::arch::aarch64::{
        vld1q_f64 as load, vst1q_f64 as store, vzip1q_f64 as firsts, vzip2q_f64 as seconds,
    };
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::{
        _mm_loadu_pd as load, _mm_storeu_pd as store, _mm_unpackhi_pd as seconds,
        _mm_unpacklo_pd as firsts,
    };

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn of_f32(square: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
        let [a, b, c, d] = &square;
        let mut turned = [[0.0; 4]; 4];
        let [to_a, to_b, to_c, to_d] = &mut turned;
        // SAFETY: SSE is part of x86-64; each array has the four numbers that are read or written.
        unsafe {
            let (a, b) = (_mm_loadu_ps(a.as_ptr()), _mm_loadu_ps(b.as_ptr()));
            let (c, d) = (_mm_loadu_ps(c.as_ptr()), _mm_loadu_ps(d.as_ptr()));
            let (low_ab, low_cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
            let (high_ab, high_cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
            _mm_storeu_ps(to_a.as_mut_ptr(), _mm_movelh_ps(low_ab, low_cd));
            _mm_storeu_ps(to_b.as_mut_ptr(), _mm_movehl_ps(low_cd, low_ab));
            _mm_storeu_ps(to_c.as_mut_ptr(), _mm_movelh_ps(high_ab, high_cd));
            _mm_storeu_ps(to_d.as_mut_ptr(), _mm_movehl_ps(high_cd, high_ab));
        }
        turned
    }

    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub(super) fn of_f32(square: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
        let mut turned = [[0.0; 4]; 4];
        // SAFETY: NEON is part of AArch64; 16 numbers are read and as many written.
        unsafe {
            // Reads number i of all rows into vector i.
            let columns = vld4q_f32(square.as_ptr().cast());
            vst1q_f32(turned[0].as_mut_ptr(), columns.0);
            vst1q_f32(turned[1].as_mut_ptr(), columns.1);
            vst1q_f32(turned[2].as_mut_ptr(), columns.2);
            vst1q_f32(turned[3].as_mut_ptr(), columns.3);
        }
        turned
    }

    #[inline(always)]
    pub(super) fn of_f64(square: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        let mut turned = [[0.0; 4]; 4];
        for i in [0, 2] {
            for j in [0, 2] {
                // SAFETY: SSE2 is part of x86-64 and NEON of AArch64; from both places on each
                // array has two numbers.
                unsafe {
                    let a = load(square[i][j..].as_ptr());
                    let b = load(square[i + 1][j..].as_ptr());
                    store(turned[j][i..].as_mut_ptr(), firsts(a, b));
                    store(turned[j + 1][i..].as_mut_ptr(), seconds(a, b));
                }
            }
        }
        turned
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod squares {
    #[inline(always)]
    fn of<T: Copy>([a, b, c, d]: [[T; 4]; 4]) -> [[T; 4]; 4] {
        std::array::from_fn(|i| [a[i], b[i], c[i], d[i]])
    }

    #[inline(always)]
    pub(super) fn of_f32(square: [[f32; 4]; 4]) -> [[f32; 4]; 4] {
        of(square)
    }

    #[inline(always)]
    pub(super) fn of_f64(square: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        of(square)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_transposed() {
        let numbers: [[f64; 4]; 4] =
            std::array::from_fn(|i| std::array::from_fn(|j| (10 * i + j) as f64));
        let turned = f64::transposed(numbers);
        let single = f32::transposed(numbers.map(|row| row.map(|v| v as f32)));
        for (i, row) in numbers.iter().enumerate() {
            for (j, &number) in row.iter().enumerate() {
                assert_eq!((turned[j][i], f64::from(single[j][i])), (number, number));
            }
        }
    }
}
