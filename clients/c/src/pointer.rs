//! Pointers of the caller. No other file reads or writes through one.

#![expect(unsafe_code, reason = "C hands over pointers")]

use std::{
    ffi::{CStr, c_char},
    slice,
};

use crate::status::Failure;

fn check_pointer<T>(pointer: *const T, name: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::of_argument(format!("{name} is NULL")));
    }
    if !pointer.is_aligned() {
        return Err(Failure::of_argument(format!("{name} is not aligned for its type")));
    }
    Ok(())
}

fn check_array<T>(pointer: *const T, count: usize, name: &str) -> Result<(), Failure> {
    check_pointer(pointer, name)?;
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Failure::of_argument(format!("{name} cannot have {count} elements"))),
    }
}

/// The text of a C string.
///
/// # Safety
/// `pointer` is NULL or of a string that ends with a 0 and stays unchanged for `'a`.
pub(crate) unsafe fn read_text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    check_pointer(pointer, name)?;
    // SAFETY: it is not NULL, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|error| Failure::of_argument(format!("{name} is not UTF-8: {error}")))
}

/// The text of a C string; `None` for NULL.
///
/// # Safety
/// That of [`read_text`].
pub(crate) unsafe fn read_optional_text<'a>(pointer: *const c_char, name: &str) -> Result<Option<&'a str>, Failure> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller vouches for it.
    unsafe { read_text(pointer, name) }.map(Some)
}

/// The elements of an array. An empty array may be NULL.
///
/// # Safety
/// `pointer` is NULL or of `count` elements that stay unchanged for `'a`.
pub(crate) unsafe fn read_array<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check_array(pointer, count, name)?;
    // SAFETY: it is aligned and not NULL, the length fits, and the caller vouches for the elements.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// The elements of an array to write. An empty array may be NULL.
///
/// # Safety
/// `pointer` is NULL or of `count` elements that nothing else uses for `'a`.
pub(crate) unsafe fn write_array<'a, T>(pointer: *mut T, count: usize, name: &str) -> Result<&'a mut [T], Failure> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_array(pointer, count, name)?;
    // SAFETY: it is aligned and not NULL, the length fits, and the caller vouches for the elements.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, count) })
}

/// The texts of an array of C strings.
///
/// # Safety
/// `pointer` is NULL or of `count` pointers, each as for [`read_text`].
pub(crate) unsafe fn read_texts<'a>(
    pointer: *const *const c_char,
    count: usize,
    name: &str,
) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: the caller vouches for it.
    let pointers = unsafe { read_array(pointer, count, name) }?;
    let one = |(index, pointer): (usize, &*const c_char)| {
        // SAFETY: the caller vouches for each of them.
        unsafe { read_text(*pointer, &format!("{name}[{index}]")) }
    };
    pointers.iter().enumerate().map(one).collect()
}

/// The value of a pointer.
///
/// # Safety
/// `pointer` is NULL or of a value.
pub(crate) unsafe fn read_value<T: Copy>(pointer: *const T, name: &str) -> Result<T, Failure> {
    check_pointer(pointer, name)?;
    // SAFETY: it is aligned and not NULL, and the caller vouches for the value.
    Ok(unsafe { pointer.read() })
}

/// A place for a result.
///
/// # Safety
/// `pointer` is NULL or of a place that nothing else uses during the call.
pub(crate) unsafe fn result_place<T>(pointer: *mut T, name: &str) -> Result<Place<T>, Failure> {
    check_pointer(pointer, name)?;
    Ok(Place(pointer))
}

/// A place of the caller for a result of this call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<T>(*mut T);

impl<T> Place<T> {
    /// Writes the result.
    pub(crate) fn set(self, value: T) {
        // SAFETY: `result_place` has checked the pointer, its caller vouches for what it points to, and no place
        // outlives the call.
        unsafe { self.0.write(value) }
    }
}
