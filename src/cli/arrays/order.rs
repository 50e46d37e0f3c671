//! The order of an array's values in memory.

use crate::parallel::{self, chunks_mut};

/// Returns the indices of the value at place `at` of an array of this shape, the last axis
/// contiguous.
pub(super) fn index_of(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &n) in index.iter_mut().zip(shape).rev() {
        *i = at % n;
        at /= n;
    }
    index
}

/// Returns an array of `shape` with its axes in another order: axis `k` of the result is axis
/// `axes[k]`. Both have their last axis contiguous.
pub(super) fn permuted<T: Copy + Send + Sync>(
    values: &[T],
    shape: &[usize],
    axes: &[usize],
) -> Vec<T> {
    let mut stride = vec![1; shape.len()];
    for k in (1..shape.len()).rev() {
        stride[k - 1] = stride[k] * shape[k];
    }
    let new_shape: Vec<usize> = axes.iter().map(|&a| shape[a]).collect();
    let new_stride: Vec<usize> = axes.iter().map(|&a| stride[a]).collect();
    let (&length, outer) = new_shape.split_last().expect("an array has an axis");
    let step = new_stride[axes.len() - 1];
    let mut result = vec![values[0]; values.len()];
    parallel::for_each(chunks_mut(&mut result, length), |line, out| {
        let index = index_of(line, outer);
        let start: usize = index.iter().zip(&new_stride).map(|(i, s)| i * s).sum();
        for (k, out) in out.iter_mut().enumerate() {
            *out = values[start + k * step];
        }
    });
    result
}

/// Returns the order that undoes `axes`.
pub(super) fn inverse(axes: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; axes.len()];
    for (k, &a) in axes.iter().enumerate() {
        inverse[a] = k;
    }
    inverse
}

#[cfg(test)]
mod tests;
