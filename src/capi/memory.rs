//! Memory of the caller's: what can be told of a pointer is checked before it is followed.

use super::status::{Failure, Status};

fn null(what: &str) -> Failure {
    Failure::new(Status::NullPointer, format!("{what} is NULL"))
}

fn check<T>(address: usize, length: usize, what: &str) -> Result<(), Failure> {
    if address == 0 {
        return Err(null(what));
    }
    if !address.is_multiple_of(align_of::<T>()) {
        let message = format!("{what} is not aligned to {} bytes", align_of::<T>());
        return Err(Failure::argument(message));
    }
    match length.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize) {
        Some(_) => Ok(()),
        None => Err(Failure::new(Status::BadLength, format!("{what}: {length} values"))),
    }
}

/// `length` values to be read; none may have the address NULL.
///
/// # Safety
/// A pointer that is not null is that of `length` values that nobody writes for `'a`.
pub(super) unsafe fn values<'a, T>(
    start: *const T,
    length: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    check::<T>(start.addr(), length, what)?;
    // SAFETY: not null, aligned, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}

/// As many values to be written at each of these addresses; they do not overlap each other nor
/// `input`.
///
/// # Safety
/// A pointer that is not null is that of `length` values that nobody else uses for `'a`.
pub(super) unsafe fn outputs<'a, T, const N: usize>(
    places: [(*mut T, &str); N],
    length: usize,
    input: &[T],
) -> Result<[&'a mut [T]; N], Failure> {
    if length == 0 {
        return Ok(std::array::from_fn(|_| &mut [][..]));
    }
    for (i, &(start, what)) in places.iter().enumerate() {
        check::<T>(start.addr(), length, what)?;
        let bytes = length * size_of::<T>();
        let own = (start.addr(), bytes);
        apart(own, (input.as_ptr().addr(), size_of_val(input)), what, "what is read")?;
        for (other, name) in &places[..i] {
            apart(own, (other.addr(), bytes), what, name)?;
        }
    }
    // SAFETY: not null, aligned, apart from each other, and the caller's promise.
    Ok(places.map(|(start, _)| unsafe { std::slice::from_raw_parts_mut(start, length) }))
}

/// An error where two pieces of memory, each an address and a number of bytes, share some.
fn apart(
    (own, bytes): (usize, usize),
    (other, other_bytes): (usize, usize),
    what: &str,
    name: &str,
) -> Result<(), Failure> {
    if own < other.saturating_add(other_bytes) && other < own.saturating_add(bytes) {
        return Err(Failure::argument(format!("{what} overlaps {name}")));
    }
    Ok(())
}

/// [`optional`] of a value that shares no memory with these slices.
///
/// # Safety
/// As [`output`].
pub(super) unsafe fn optional_beside<'a, T, U, const N: usize>(
    place: *mut T,
    what: &str,
    slices: [(&[U], &str); N],
) -> Result<Option<&'a mut T>, Failure> {
    for (slice, name) in slices {
        let other = (slice.as_ptr().addr(), size_of_val(slice));
        apart((place.addr(), size_of::<T>()), other, what, name)?;
    }
    // SAFETY: the caller's promise.
    unsafe { optional(place, what) }
}

/// Where one value is to be written.
///
/// # Safety
/// A pointer that is not null is that of a value that nobody else uses for `'a`.
pub(super) unsafe fn output<'a, T>(place: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    check::<T>(place.addr(), 1, what)?;
    // SAFETY: not null, aligned, and the caller's promise.
    Ok(unsafe { &mut *place })
}

/// The same, or none for NULL.
///
/// # Safety
/// As [`output`].
pub(super) unsafe fn optional<'a, T>(
    place: *mut T,
    what: &str,
) -> Result<Option<&'a mut T>, Failure> {
    if place.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { output(place, what) }.map(Some)
}

/// A structure to be read.
///
/// # Safety
/// A pointer that is not null is that of a `T` that nobody writes for `'a`.
pub(super) unsafe fn plain<'a, T>(place: *const T, what: &str) -> Result<&'a T, Failure> {
    check::<T>(place.addr(), 1, what)?;
    // SAFETY: not null, aligned, and the caller's promise.
    Ok(unsafe { &*place })
}

/// A structure that begins with its size, to be read.
///
/// # Safety
/// A pointer that is not null is that of a `u32`, and of as many bytes as it says.
pub(super) unsafe fn structure<T: Copy>(
    place: *const T,
    what: &str,
    size: impl FnOnce(&T) -> u32,
) -> Result<T, Failure> {
    check::<T>(place.addr(), 1, what)?;
    // SAFETY: not null, aligned, and it begins with its size.
    let said = unsafe { place.cast::<u32>().read() } as usize;
    if said != size_of::<T>() {
        let message = format!(
            "{what}.struct_size is {said}, expected {}: fill it by placefield_{what}_init first",
            size_of::<T>()
        );
        return Err(Failure::argument(message));
    }
    // SAFETY: it is as large as it says.
    let value = unsafe { place.read() };
    debug_assert_eq!(size(&value) as usize, said);
    Ok(value)
}

/// Fills a structure that the caller takes to have `size` bytes.
///
/// # Safety
/// A pointer that is not null is that of `size` bytes.
pub(super) unsafe fn initialise<T>(
    place: *mut T,
    size: usize,
    what: &str,
    value: T,
) -> Result<(), Failure> {
    check::<T>(place.addr(), 1, what)?;
    if size != size_of::<T>() {
        let message = format!(
            "{what} of {size} bytes: this library's have {}; header and library are of different versions",
            size_of::<T>()
        );
        return Err(Failure::argument(message));
    }
    // SAFETY: not null, aligned, and as large as a `T`.
    unsafe { place.write(value) };
    Ok(())
}
