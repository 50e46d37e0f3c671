//! Loops compiled for the processor's vector unit.
//!
//! The library is built for the oldest processor of its family. Code that runs over whole maps or
//! all bodies is also compiled for newer vector units, and the library uses the widest unit of the
//! processor at run time. On AArch64 the oldest processor has NEON. There the library's tests pass
//! under QEMU (`qemu-aarch64`), except one with a time limit; its speed is not known.
//!
//! The environment variable `PLACEFIELD_SIMD` (`portable`, `avx2` or `avx512`) limits
//! the width; [`Simd::force`] does so for one thread, so that tests run each unit.

mod exp;
mod vector;

pub(crate) use exp::Exp;
pub(crate) use vector::{Row, SimdKernel, Unit, Vector, Vectors, dispatch};

use std::cell::Cell;
use std::sync::OnceLock;

/// A family of vector instructions, the narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Simd {
    /// The unit that every processor of the family has: SSE2 on x86-64, NEON on AArch64.
    Portable,
    /// AVX2 with FMA: 256 bits.
    Avx2,
    /// AVX-512 F, DQ, BW and VL: 512 bits.
    Avx512,
}

thread_local! {
    static FORCED: Cell<Option<Simd>> = const { Cell::new(None) };
}

impl Simd {
    /// All of them, the narrowest first.
    pub const ALL: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    /// Returns `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Portable => "portable",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }

    /// Returns the units that this processor can run.
    pub fn available() -> impl Iterator<Item = Simd> {
        Simd::ALL.into_iter().filter(|&simd| simd <= Simd::widest())
    }

    /// Returns the unit that loops of this thread use.
    #[inline]
    pub fn current() -> Simd {
        FORCED.get().unwrap_or_else(Simd::allowed)
    }

    /// Runs `work` with loops of this thread compiled for `self`, or for the widest the
    /// processor has where it has no such instructions. Other threads are not
    /// concerned: in a pool that uses the current thread alone, all of it is.
    pub fn force<R>(self, work: impl FnOnce() -> R) -> R {
        struct Restore(Option<Simd>);
        impl Drop for Restore {
            fn drop(&mut self) {
                FORCED.set(self.0);
            }
        }
        let _restore = Restore(FORCED.replace(Some(self.min(Simd::widest()))));
        work()
    }

    /// Returns the widest that the environment allows.
    fn allowed() -> Simd {
        static ALLOWED: OnceLock<Simd> = OnceLock::new();
        *ALLOWED.get_or_init(|| {
            let asked = std::env::var("PLACEFIELD_SIMD").unwrap_or_default();
            let limit = Simd::ALL.into_iter().find(|simd| simd.name() == asked);
            Simd::widest().min(limit.unwrap_or(Simd::Avx512))
        })
    }

    /// Returns the widest that this processor has.
    fn widest() -> Simd {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2")
                && has!("bmi1")
                && has!("bmi2")
                && has!("fma")
                && has!("lzcnt")
                && has!("popcnt");
            let avx512 =
                has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl");
            if avx2 && avx512 {
                return Simd::Avx512;
            }
            if avx2 {
                return Simd::Avx2;
            }
        }
        Simd::Portable
    }
}

/// Runs a loop compiled for [`Simd::current`].
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,popcnt")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        #[target_feature(
            enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,popcnt"
        )]
        fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        match Simd::current() {
            // SAFETY: `current` is never more than `widest`, which has found that the processor
            // has every feature that the function is compiled with.
            Simd::Avx512 => return unsafe { with_avx512(work) },
            // SAFETY: as above.
            Simd::Avx2 => return unsafe { with_avx2(work) },
            Simd::Portable => {}
        }
    }
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forced_unit_ends_with_its_closure() {
        let before = Simd::current();
        for simd in Simd::available() {
            let inside = simd.force(|| (Simd::current(), Simd::Portable.force(Simd::current)));
            assert_eq!(inside, (simd, Simd::Portable));
            assert_eq!(Simd::current(), before);
        }
        assert!(Simd::Avx512.force(Simd::current) <= Simd::widest());
        assert!(std::panic::catch_unwind(|| Simd::Portable.force(|| panic!())).is_err());
        assert_eq!(Simd::current(), before);
    }

    #[test]
    fn every_path_computes_the_same() {
        let sums = Simd::available().map(|simd| {
            simd.force(|| {
                vectorised(
                    #[inline(always)]
                    || (0..1000_u64).map(|k| k * k).sum::<u64>(),
                )
            })
        });
        assert!(sums.into_iter().all(|sum| sum == 332_833_500));
    }
}
