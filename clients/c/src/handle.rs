//! Handles: numbers that stand for objects, with the look of pointers.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Distance of two handles, and the first of them. Nothing is ever read at such an address.
const HANDLE_STEP: usize = 16;

/// The next handle, of any kind of object: none is given twice.
static NEXT_HANDLE: AtomicUsize = AtomicUsize::new(HANDLE_STEP);

/// A handle that no object of this process has had before.
pub(crate) fn new_handle() -> usize {
    NEXT_HANDLE.fetch_add(HANDLE_STEP, Ordering::Relaxed)
}

/// The living objects of a kind. An object that is removed lives on until the calls that use it have ended.
pub(crate) struct Registry<T>(RwLock<BTreeMap<usize, Arc<T>>>);

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(BTreeMap::new()))
    }

    /// Adds an object and returns its handle.
    pub(crate) fn add(&self, object: T) -> usize {
        let handle = new_handle();
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(handle, Arc::new(object));
        handle
    }

    /// The object of a handle; `None` if it has been removed or has never been there.
    pub(crate) fn find(&self, handle: usize) -> Option<Arc<T>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&handle).map(Arc::clone)
    }

    /// Removes and returns the object of a handle.
    pub(crate) fn remove(&self, handle: usize) -> Option<Arc<T>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&handle)
    }
}
