//! Handles: numbers in the form of pointers, and the objects behind them.

use super::status::{Failure, Status};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Live objects, by handle.
struct Table {
    next: usize,
    live: HashMap<usize, Arc<dyn Any + Send + Sync>>,
}

static TABLE: LazyLock<Mutex<Table>> =
    // Far from zero, and a number that is no multiple of a pointer's alignment.
    LazyLock::new(|| Mutex::new(Table { next: 0x1001, live: HashMap::new() }));

fn table() -> MutexGuard<'static, Table> {
    // It is whole between any two statements that touch it.
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a handle for `value`; the pointer is never followed, only looked up.
pub(super) fn add<V: Send + 'static, H>(value: V) -> *mut H {
    let mut table = table();
    let number = table.next;
    table.next += 2;
    table.live.insert(number, Arc::new(Mutex::new(value)));
    std::ptr::without_provenance_mut(number)
}

fn bad(what: &str) -> Failure {
    let message = format!("no {what} has this handle: it was freed, or never was one");
    Failure::new(Status::BadHandle, message)
}

/// Calls `body` with the object of `handle`. Threads with the same handle wait for each other.
pub(super) fn with<V: Send + 'static, H, R>(
    handle: *const H,
    what: &str,
    body: impl FnOnce(&mut V) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if handle.is_null() {
        return Err(Failure::new(Status::NullPointer, format!("the {what} is NULL")));
    }
    let found = table().live.get(&handle.addr()).cloned();
    let value = found.and_then(|any| any.downcast::<Mutex<V>>().ok()).ok_or_else(|| bad(what))?;
    let mut value = value.lock().map_err(|_| {
        let message = format!("an earlier call on this {what} was a fault of placefield: free it");
        Failure::new(Status::Panicked, message)
    })?;
    body(&mut value)
}

/// Frees the object of `handle`, once calls of other threads with it have ended. NULL is nothing.
pub(super) fn remove<V: Send + 'static, H>(handle: *mut H, what: &str) -> Result<(), Failure> {
    if handle.is_null() {
        return Ok(());
    }
    let mut table = table();
    let known = table.live.get(&handle.addr()).is_some_and(|any| any.is::<Mutex<V>>());
    let removed = if known { table.live.remove(&handle.addr()) } else { None };
    drop(table);
    removed.map(drop).ok_or_else(|| bad(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Opaque;

    #[test]
    fn freed_foreign_and_poisoned_handles_fail() {
        let handle: *mut Opaque = add(1_u32);
        let status = |result: Result<(), Failure>| format!("{result:?}");
        assert_eq!(with(handle, "x", |v: &mut u32| Ok(*v)).unwrap(), 1);
        assert!(status(with(handle, "x", |_: &mut u64| Ok(()))).contains("BadHandle"));
        let panicked = std::panic::catch_unwind(|| {
            with(handle, "x", |_: &mut u32| -> Result<(), _> { panic!() })
        });
        assert!(panicked.is_err());
        assert!(status(with(handle, "x", |_: &mut u32| Ok(()))).contains("Panicked"));
        assert!(status(remove::<u64, _>(handle, "x")).contains("BadHandle"));
        remove::<u32, _>(handle, "x").unwrap();
        assert!(status(remove::<u32, _>(handle, "x")).contains("BadHandle"));
        let next: *mut Opaque = add(2_u32);
        assert_ne!(next, handle);
        assert!(status(with(handle, "x", |_: &mut u32| Ok(()))).contains("BadHandle"));
        assert!(
            status(with::<u32, Opaque, ()>(std::ptr::null(), "x", |_| Ok(())))
                .contains("NullPointer")
        );
        remove::<u32, _>(next, "x").unwrap();
    }
}
