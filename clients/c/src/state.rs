//! The state of a simulation: reset, snapshots, hash.

#![expect(unsafe_code, reason = "exported to C")]

use std::ffi::c_char;

use crate::{
    pointer,
    simulation::{keeping_results, simpartner_simulation, with_simulation},
    status::{Failure, simpartner_status},
};

/// Number of characters of a hash, without the 0 that ends it.
pub const SIMPARTNER_HASH_LENGTH: usize = 64;

/// Resets to step 0: equal to a fresh start with this seed, bit for bit. NULL keeps the seed.
///
/// # Safety
/// `seed` is NULL or of a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_reset(
    simulation: *mut simpartner_simulation,
    seed: *const u64,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        let seed = match seed.is_null() {
            true => None,
            // SAFETY: the caller vouches for the pointer.
            false => Some(unsafe { pointer::read_value(seed, "seed") }?),
        };
        simulation.events.clear();
        Ok(simulation.inner.reset(seed)?)
    })
}

/// Copies the state into a buffer. `size` gets the number of bytes, also if the buffer is too small; NULL with the
/// capacity 0 asks for the size. The size may change with each step. Commands for later steps are not part of it.
///
/// # Safety
/// `buffer` is NULL or of `capacity` bytes, `size` is NULL or of a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_snapshot(
    simulation: *mut simpartner_simulation,
    buffer: *mut u8,
    capacity: usize,
    size: *mut usize,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        // SAFETY: the caller vouches for the pointer.
        let size = unsafe { pointer::result_place(size, "size") }?;
        let snapshot = simulation.inner.snapshot();
        size.set(snapshot.len());
        if buffer.is_null() && capacity == 0 {
            return Ok(());
        }
        if capacity < snapshot.len() {
            let text = format!("the snapshot has {} bytes, and the buffer has {capacity}", snapshot.len());
            return Err(Failure::new(simpartner_status::SIMPARTNER_BUFFER_TOO_SMALL, text));
        }
        // SAFETY: the caller vouches for the buffer.
        unsafe { pointer::write_array(buffer, snapshot.len(), "buffer") }?.copy_from_slice(&snapshot);
        Ok(())
    })
}

/// Restores the state from a snapshot of the same model, timestep and engine. Commands for later steps are dropped.
///
/// # Safety
/// `buffer` is NULL or of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_restore(
    simulation: *mut simpartner_simulation,
    buffer: *const u8,
    size: usize,
) -> simpartner_status {
    with_simulation(simulation, |simulation| {
        // SAFETY: the caller vouches for the buffer.
        let snapshot = unsafe { pointer::read_array(buffer, size, "buffer") }?;
        Ok(simulation.inner.restore(snapshot)?)
    })
}

/// Writes the hash of the state, as a server's run prints it at its end: 64 characters and a 0. Two simulations with
/// equal hashes continue equally. `capacity` is at least SIMPARTNER_HASH_LENGTH + 1.
///
/// # Safety
/// `hash` is NULL or of `capacity` characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpartner_state_hash(
    simulation: *mut simpartner_simulation,
    hash: *mut c_char,
    capacity: usize,
) -> simpartner_status {
    keeping_results(simulation, |simulation| {
        if capacity <= SIMPARTNER_HASH_LENGTH {
            let text = format!("a hash needs {} characters, and the buffer has {capacity}", SIMPARTNER_HASH_LENGTH + 1);
            return Err(Failure::new(simpartner_status::SIMPARTNER_BUFFER_TOO_SMALL, text));
        }
        // SAFETY: the caller vouches for the buffer.
        let place = unsafe { pointer::write_array(hash, SIMPARTNER_HASH_LENGTH + 1, "hash") }?;
        let hash = simulation.inner.state_hash();
        let letters = hash.bytes().map(|letter| letter as c_char).chain([0]);
        place.iter_mut().zip(letters).for_each(|(place, letter)| *place = letter);
        Ok(())
    })
}
