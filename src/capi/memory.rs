//! Memory of the caller's: pointers are checked as far as possible before they are followed.

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
/// A pointer that is not null is that of `length` values that nothing writes for `'a`.
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

/// A piece of the caller's memory, which an output must not share.
#[derive(Clone, Copy)]
pub(super) struct Span<'a> {
    start: usize,
    bytes: usize,
    name: &'a str,
}

impl<'a> Span<'a> {
    /// Returns that of `length` values; NULL is no memory.
    pub(super) fn new<T>(start: *const T, length: usize, name: &'a str) -> Self {
        let length = if start.is_null() { 0 } else { length };
        Span { start: start.addr(), bytes: length.saturating_mul(size_of::<T>()), name }
    }

    fn overlaps(&self, other: &Span) -> bool {
        let before = |a: &Span, b: &Span| a.start < b.start.saturating_add(b.bytes);
        self.bytes > 0 && other.bytes > 0 && before(self, other) && before(other, self)
    }
}

/// An error where `output` shares memory with one of `others`.
fn check_apart(output: &Span, others: &[Span]) -> Result<(), Failure> {
    match others.iter().find(|other| output.overlaps(other)) {
        Some(other) => Err(Failure::argument(format!("{} overlaps {}", output.name, other.name))),
        None => Ok(()),
    }
}

/// Returns `length` values to be written at each of these addresses; an error where they overlap
/// each other or `others`, which are the inputs and the other outputs of the call.
///
/// # Safety
/// A pointer that is not null is that of `length` values that nothing else uses for `'a`, and
/// `others` has all memory that the call uses besides.
pub(super) unsafe fn outputs<'a, T, const N: usize>(
    places: [(*mut T, &str); N],
    length: usize,
    others: &[Span],
) -> Result<[&'a mut [T]; N], Failure> {
    if length == 0 {
        return Ok(std::array::from_fn(|_| &mut [][..]));
    }
    let spans = places.map(|(start, name)| Span::new(start, length, name));
    for (i, &(start, name)) in places.iter().enumerate() {
        check::<T>(start.addr(), length, name)?;
        check_apart(&spans[i], others)?;
        check_apart(&spans[i], &spans[..i])?;
    }
    // SAFETY: not null, aligned, apart from each other, and the caller's promise.
    Ok(places.map(|(start, _)| unsafe { std::slice::from_raw_parts_mut(start, length) }))
}

/// The address of one output value, whose memory may be uninitialised.
pub(super) struct Output<T>(*mut T);

impl<T> Output<T> {
    pub(super) fn write(self, value: T) {
        // SAFETY: not null and aligned, and it may be written, as `output` was promised.
        unsafe { self.0.write(value) }
    }
}

/// Returns the address of one output value; an error if it overlaps `others`.
///
/// # Safety
/// A pointer that is not null is that of memory of a `T`, which may be written as long as the
/// result is there.
pub(super) unsafe fn output<T>(
    place: *mut T,
    name: &str,
    others: &[Span],
) -> Result<Output<T>, Failure> {
    check::<T>(place.addr(), 1, name)?;
    check_apart(&Span::new(place, 1, name), others)?;
    Ok(Output(place))
}

/// Returns the address of one output value, or `None` for NULL.
///
/// # Safety
/// See [`output`].
pub(super) unsafe fn optional<T>(
    place: *mut T,
    name: &str,
    others: &[Span],
) -> Result<Option<Output<T>>, Failure> {
    if place.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { output(place, name, others) }.map(Some)
}

/// Returns a structure to be read.
///
/// # Safety
/// A pointer that is not null is that of a `T` that nothing writes for `'a`.
pub(super) unsafe fn plain<'a, T>(place: *const T, what: &str) -> Result<&'a T, Failure> {
    check::<T>(place.addr(), 1, what)?;
    // SAFETY: not null, aligned, and the caller's promise.
    Ok(unsafe { &*place })
}

/// Returns a structure that begins with its size, to be read.
///
/// # Safety
/// A pointer that is not null is that of a `u32`, and of as many bytes as that number says.
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
            "{what} of {size} bytes: this library's have {}; \
             header and library are of different versions",
            size_of::<T>()
        );
        return Err(Failure::argument(message));
    }
    // SAFETY: not null, aligned, and as large as a `T`.
    unsafe { place.write(value) };
    Ok(())
}
