//! Status codes of functions, and the message beside them.

use crate::charge::ChargeError;
use crate::design::DesignError;
use crate::engine::EngineError;
use crate::grid::GridError;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Status code of every function that can fail. Numbers are never given a new meaning.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done. Outputs are written then, and only then.
    Ok = 0,
    /// A pointer is NULL that must not be NULL.
    NullPointer = 1,
    /// A handle that was freed, or never was one of this kind.
    BadHandle = 2,
    /// A number out of its range, not finite, or not aligned memory; outputs that overlap; memory
    /// that is not the device's, a stream of another context.
    BadArgument = 3,
    /// A length that is not the grid's or the engine's.
    BadLength = 4,
    /// `precision` is not that of the handle.
    WrongPrecision = 5,
    /// A stage was called before the stage that it needs.
    OutOfOrder = 6,
    /// CUDA cannot be used: the message names the missing part.
    NoDevice = 7,
    /// Memory of the device or of the host ran out.
    OutOfMemory = 8,
    /// The device or one of its libraries failed.
    DeviceFailed = 9,
    /// A fault of the library, in this call or an earlier one on the same handle, which
    /// can only be freed now.
    Panicked = 10,
    /// A file cannot be read or written, or violates its format: the message names file, line and
    /// column.
    FileFailed = 11,
}

const NAMES: [(Status, &CStr); 12] = [
    (Status::Ok, c"PLACEFIELD_STATUS_OK"),
    (Status::NullPointer, c"PLACEFIELD_STATUS_NULL_POINTER"),
    (Status::BadHandle, c"PLACEFIELD_STATUS_BAD_HANDLE"),
    (Status::BadArgument, c"PLACEFIELD_STATUS_BAD_ARGUMENT"),
    (Status::BadLength, c"PLACEFIELD_STATUS_BAD_LENGTH"),
    (Status::WrongPrecision, c"PLACEFIELD_STATUS_WRONG_PRECISION"),
    (Status::OutOfOrder, c"PLACEFIELD_STATUS_OUT_OF_ORDER"),
    (Status::NoDevice, c"PLACEFIELD_STATUS_NO_DEVICE"),
    (Status::OutOfMemory, c"PLACEFIELD_STATUS_OUT_OF_MEMORY"),
    (Status::DeviceFailed, c"PLACEFIELD_STATUS_DEVICE_FAILED"),
    (Status::Panicked, c"PLACEFIELD_STATUS_PANICKED"),
    (Status::FileFailed, c"PLACEFIELD_STATUS_FILE_FAILED"),
];

pub(super) fn name(status: i32) -> &'static CStr {
    NAMES.iter().find(|(s, _)| *s as i32 == status).map_or(c"unknown", |(_, name)| name)
}

/// A status and its message, in the caller's memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ErrorText {
    /// The placefield_status that the function returned.
    pub status: i32,
    /// One sentence that ends with a zero; a long one is cut at the end of a character. Empty for
    /// PLACEFIELD_STATUS_OK.
    pub message: [c_char; 508],
}

/// A status that is not `Ok`, and its message.
#[derive(Debug)]
pub(super) struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    pub(super) fn new(status: Status, message: impl Into<String>) -> Self {
        Failure { status, message: message.into() }
    }

    pub(super) fn argument(message: impl Into<String>) -> Self {
        Failure::new(Status::BadArgument, message)
    }
}

impl From<GridError> for Failure {
    fn from(error: GridError) -> Self {
        Failure::argument(error.to_string())
    }
}

impl From<ChargeError> for Failure {
    fn from(error: ChargeError) -> Self {
        let status = match error {
            ChargeError::Length { .. } => Status::BadLength,
            ChargeError::Memory(_) => Status::OutOfMemory,
            _ => Status::BadArgument,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<DesignError> for Failure {
    fn from(error: DesignError) -> Self {
        let status = match error {
            DesignError::Length { .. } => Status::BadLength,
            _ => Status::BadArgument,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let status = match &error {
            EngineError::Length { .. } => Status::BadLength,
            EngineError::OutOfOrder { .. } => Status::OutOfOrder,
            EngineError::OutOfMemory { .. } | EngineError::HostMemory(_) => Status::OutOfMemory,
            EngineError::Device(_) if crate::ffi::is_missing(&error) => Status::NoDevice,
            EngineError::Device(_) if crate::ffi::is_the_callers(&error) => Status::BadArgument,
            EngineError::Device(_) => Status::DeviceFailed,
            _ => Status::BadArgument,
        };
        Failure::new(status, error.to_string())
    }
}

/// Runs the body of a function: its failure, or its panic, becomes a status, and is written to
/// `error`.
///
/// # Safety
/// `error` is null or points to an [`ErrorText`].
pub(super) unsafe fn call(
    error: *mut ErrorText,
    body: impl FnOnce() -> Result<(), Failure>,
) -> Status {
    // State that a panic leaves incomplete is behind a lock, which is poisoned by it.
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Failure::new(Status::Panicked, format!("a fault of placefield: {said}")))
    });
    let (status, message) = match result {
        Ok(()) => (Status::Ok, String::new()),
        Err(Failure { status, message }) => (status, message),
    };
    // SAFETY: the caller's promise.
    unsafe { say(error, status, &message) };
    status
}

/// Writes a message, if `error` is not null.
///
/// # Safety
/// `error` is null or points to an [`ErrorText`].
pub(super) unsafe fn say(error: *mut ErrorText, status: Status, message: &str) {
    // SAFETY: the caller's promise.
    let Some(error) = (unsafe { error.as_mut() }) else { return };
    error.status = status as i32;
    error.message.fill(0);
    write_text(&mut error.message, message);
}

/// Writes `message` and a zero to memory. A long message is cut at the end of a character. Memory
/// without space for the zero is not changed.
pub(super) fn write_text(to: &mut [c_char], message: &str) {
    let Some(room) = to.len().checked_sub(1) else { return };
    let cut = message.floor_char_boundary(room);
    let bytes = message.as_bytes()[..cut].iter().filter(|&&byte| byte != 0);
    let ended = bytes.chain([&0]);
    to.iter_mut().zip(ended).for_each(|(to, &byte)| *to = byte as c_char);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_codes_and_names_are_fixed() {
        for (number, (status, _)) in NAMES.iter().enumerate() {
            assert_eq!(*status as usize, number);
        }
        assert_eq!(name(2), c"PLACEFIELD_STATUS_BAD_HANDLE");
        assert_eq!(name(-1), c"unknown");
    }

    #[test]
    fn missing_memory_of_the_host_has_its_status() {
        let missing = || crate::memory::require("all", u64::MAX).unwrap_err();
        let failures: [Failure; 2] =
            [EngineError::from(missing()).into(), ChargeError::from(missing()).into()];
        for failure in failures {
            assert_eq!(failure.status, Status::OutOfMemory);
            assert!(failure.message.starts_with("all need about "), "{}", failure.message);
        }
    }

    #[test]
    fn panics_are_statuses_and_messages_are_cut() {
        let mut text = ErrorText { status: -1, message: [1; 508] };
        // SAFETY: `text` is there.
        let status = unsafe { call(&mut text, || panic!("{}", "é".repeat(1000))) };
        assert_eq!((status, text.status), (Status::Panicked, Status::Panicked as i32));
        // SAFETY: it ends in a zero.
        let said = unsafe { CStr::from_ptr(text.message.as_ptr()) }.to_str().unwrap();
        assert!(said.starts_with("a fault of placefield: éé") && said.ends_with('é'));
        // SAFETY: none is allowed.
        let status = unsafe { call(std::ptr::null_mut(), || Ok(())) };
        assert_eq!(status, Status::Ok);
    }
}
