//! What is written comes back, and what is damaged costs nothing but itself.

use std::path::PathBuf;

use super::*;
use crate::recorder::{
    cell::Cell,
    portion::{Content, Portion},
    table::{Batch, Table as Rows},
};

fn portion(number: u64) -> Portion {
    let mut batch = Batch::default();
    batch.of(Rows::SensorReading).extend([Cell::Step(number), Cell::Part(1), "x".into(), Cell::Real(f64::MIN)]);
    let content = Content::Rows(batch);
    Portion { run_key: "k".into(), epoch: 0, number, first_step: number, steps: 1, content }
}

fn beginning() -> Portion {
    let content = Content::Begin(Batch::default());
    Portion { run_key: "k".into(), epoch: 0, number: 1, first_step: 0, steps: 0, content }
}

/// A file with the beginning and batches 2 to `last`.
fn written(folder: &Path, last: u64) -> (PathBuf, Vec<Frame>) {
    let mut spill = Spill::create(folder, "key", 1);
    let frames = (2..=last).map(|number| spill.append(&portion(number), &beginning(), number).unwrap()).collect();
    let path = spill.path().to_owned();
    assert!(!spill.finish(0).unwrap(), "nothing was committed");
    (path, frames)
}

fn places(path: &Path) -> Vec<Place> {
    SpillReader::open(path).unwrap().places().unwrap()
}

fn whole(places: &[Place]) -> Vec<u64> {
    places.iter().filter_map(|place| if let Place::Whole(frame) = place { Some(frame.number) } else { None }).collect()
}

#[test]
fn batches_come_back_behind_the_beginning_of_their_run() {
    let folder = tempfile::tempdir().unwrap();
    let (path, frames) = written(folder.path(), 3);
    let reader = SpillReader::open(&path).unwrap();
    let places = reader.places().unwrap();
    assert_eq!(whole(&places), [1, 2, 3]);
    assert_eq!(
        frames.into_iter().map(|frame| reader.portion(frame).unwrap()).collect::<Vec<_>>(),
        [portion(2), portion(3)]
    );
}

#[test]
fn a_flipped_bit_costs_one_batch_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let (path, frames) = written(folder.path(), 4);
    let good = std::fs::read(&path).unwrap();
    let ends: Vec<u64> =
        std::iter::once(0).chain([frames[0].offset]).chain(frames.iter().map(|f| f.offset + f.length)).collect();
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        let hit = ends.iter().filter(|&&end| end <= at as u64).count() as u64;
        let found = places(&path);
        assert_eq!(whole(&found), (1..=4).filter(|number| *number != hit).collect::<Vec<_>>(), "at {at}");
        let damaged = found.iter().find_map(|place| match place {
            Place::Damaged { offset, length, frame } => Some((*offset, *length, frame.map(|frame| frame.number))),
            _ => None,
        });
        let (offset, end) = (ends[hit as usize - 1], ends[hit as usize]);
        let is_header = (at as u64 - offset) < HEADER as u64;
        assert_eq!(damaged, Some((offset, end - offset, (!is_header).then_some(hit))), "at {at}");
    }
}

#[test]
fn only_a_batch_that_the_end_of_the_file_cuts_is_called_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (path, frames) = written(folder.path(), 3);
    let good = std::fs::read(&path).unwrap();
    let last = frames[1];
    for length in last.offset + 1..last.offset + last.length {
        std::fs::write(&path, &good[..length as usize]).unwrap();
        let found = places(&path);
        let frame = (length >= last.offset + HEADER as u64).then_some(last);
        let cut = Place::Cut { offset: last.offset, length: length - last.offset, frame };
        assert_eq!((whole(&found), found.last()), (vec![1, 2], Some(&cut)), "cut at {length}");
    }
    // Bytes that were put in, or taken out, are damage.
    for bytes in [[&good[..20], b"xyz", &good[20..]].concat(), [&good[..20], &good[23..]].concat()] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(whole(&places(&path)), [2, 3]);
    }
    std::fs::write(&path, [&good[..], &[0; 100]].concat()).unwrap();
    let tail = Place::Damaged { offset: good.len() as u64, length: 100, frame: None };
    assert_eq!(places(&path).last(), Some(&tail));
}

#[test]
fn a_file_of_the_first_version_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("simpartner-old.spill");
    let frame = |number: u64| {
        let payload = postcard::to_stdvec(&portion(number)).unwrap();
        let mut bytes = MAGIC_1.to_vec();
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        for value in [number, number, 1] {
            bytes.extend(value.to_le_bytes());
        }
        let mut digest = CRC.digest();
        digest.update(&bytes[8..]);
        digest.update(&payload);
        bytes.extend(digest.finalize().to_le_bytes());
        bytes.extend(payload);
        bytes
    };
    let mut bytes = [frame(2), frame(3), frame(4)].concat();
    let middle = frame(2).len() + 60;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let reader = SpillReader::open(&path).unwrap();
    let found = reader.places().unwrap();
    assert_eq!(whole(&found), [2, 4]);
    let Place::Whole(last) = found[2] else { panic!("{found:?}") };
    assert_eq!(reader.portion(last).unwrap(), portion(4));
}

#[test]
fn it_begins_anew_once_all_is_committed_and_ends_at_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = Spill::create(folder.path(), "key", 1);
    let first = spill.append(&portion(2), &beginning(), 5).unwrap();
    assert!(first.offset > 0, "the beginning is before it");
    spill.release(4);
    assert_eq!(spill.append(&portion(3), &beginning(), 6).unwrap().offset, first.offset + first.length);
    spill.release(6);
    assert!(!spill.holds_batches());
    assert_eq!(std::fs::metadata(spill.path()).unwrap().len(), first.offset, "the beginning stays");
    assert_eq!(spill.append(&portion(4), &beginning(), 7).unwrap().offset, first.offset);
    let path = spill.path().to_owned();
    assert!(!spill.finish(6).unwrap() && path.exists());
    let error = Spill::create(folder.path(), "other", 0).append(&portion(2), &beginning(), 1).unwrap_err();
    assert_eq!(error.to_string(), "it has grown to its limit of 0 MB (log.spill_limit_mb)");
    let empty = Spill::create(folder.path(), "third", 1);
    assert!(empty.path().exists());
    assert_eq!(left_behind(folder.path()), [path], "one that is being written and an empty one are not left behind");
    let third = empty.path().to_owned();
    assert!(empty.finish(0).unwrap() && !third.exists());
}

#[test]
fn a_file_that_is_removed_is_made_again_with_all_that_was_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = Spill::create(folder.path(), "key", 1);
    let (path, reader) = (spill.path().to_owned(), spill.reader());
    let frames: Vec<Frame> = (2..=3)
        .map(|number| {
            let frame = spill.append(&portion(number), &beginning(), number).unwrap();
            std::fs::remove_file(&path).unwrap();
            frame
        })
        .collect();
    assert_eq!(frames.iter().map(|&frame| reader.portion(frame).unwrap().number).collect::<Vec<_>>(), [2, 3]);
    assert!(!spill.finish(0).unwrap());
    assert_eq!(whole(&places(&path)), [1, 2, 3]);
}
