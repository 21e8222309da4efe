//! Tests: a written file reads back, and damage costs no more than the damaged batches.

use super::{
    frame::{CRC, EARLIER_TABLES, EarlierTables, HEADER_LENGTH, MAGIC_1},
    *,
};
use crate::{
    format::{cell::Cell, schema::TableId, table_rows::TableRows},
    write::batch::{Batch, Content},
};

fn batch(number: u64) -> Batch {
    let mut rows = TableRows::default();
    let row = [Cell::Step(number), Cell::Component(1), "x".into(), Cell::Real(f64::MIN)];
    rows.push(TableId::SensorReading, row);
    let content = Content::Rows(rows);
    Batch { run_key: "k".into(), run_index: 0, number, first_step: number, steps: 1, content }
}

fn beginning() -> Batch {
    let content = Content::Begin(TableRows::default());
    Batch { run_key: "k".into(), run_index: 0, number: 1, first_step: 0, steps: 0, content }
}

/// A file with the beginning and batches 2 to `last`.
fn written(folder: &Path, last: u64) -> (PathBuf, Vec<Frame>) {
    let mut spill = SpillWriter::create(folder, "key", 1);
    let frames = (2..=last).map(|number| spill.append_batch(&batch(number), &beginning(), number).unwrap()).collect();
    let path = spill.path().to_owned();
    assert!(!spill.finish(0).unwrap(), "nothing was committed");
    (path, frames)
}

fn sections(path: &Path) -> Vec<Section> {
    SpillReader::open(path).unwrap().read_sections().unwrap()
}

fn whole(sections: &[Section]) -> Vec<u64> {
    let number = |section: &Section| if let Section::Whole(frame) = section { Some(frame.number) } else { None };
    sections.iter().filter_map(number).collect()
}

#[test]
fn batches_come_back_behind_the_beginning_of_their_run() {
    let folder = tempfile::tempdir().unwrap();
    let (path, frames) = written(folder.path(), 3);
    let reader = SpillReader::open(&path).unwrap();
    let sections = reader.read_sections().unwrap();
    assert_eq!(whole(&sections), [1, 2, 3]);
    assert_eq!(
        frames.into_iter().map(|frame| reader.read_batch(frame).unwrap()).collect::<Vec<_>>(),
        [batch(2), batch(3)]
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
        let found = sections(&path);
        assert_eq!(whole(&found), (1..=4).filter(|number| *number != hit).collect::<Vec<_>>(), "at {at}");
        let damaged = found.iter().find_map(|section| match section {
            Section::Damaged { offset, length, frame } => Some((*offset, *length, frame.map(|frame| frame.number))),
            _ => None,
        });
        let (offset, end) = (ends[hit as usize - 1], ends[hit as usize]);
        let is_header = (at as u64 - offset) < HEADER_LENGTH as u64;
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
        let found = sections(&path);
        let frame = (length >= last.offset + HEADER_LENGTH as u64).then_some(last);
        let cut = Section::Cut { offset: last.offset, length: length - last.offset, frame };
        assert_eq!((whole(&found), found.last()), (vec![1, 2], Some(&cut)), "cut at {length}");
    }
    // Bytes that were put in, or taken out, are damage.
    for bytes in [[&good[..20], b"xyz", &good[20..]].concat(), [&good[..20], &good[23..]].concat()] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(whole(&sections(&path)), [2, 3]);
    }
    std::fs::write(&path, [&good[..], &[0; 100]].concat()).unwrap();
    let tail = Section::Damaged { offset: good.len() as u64, length: 100, frame: None };
    assert_eq!(sections(&path).last(), Some(&tail));
}

#[test]
fn a_file_of_the_first_version_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("simpartner-old.spill");
    let frame = |number: u64| {
        let payload = postcard::to_stdvec(&batch(number)).unwrap();
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
    let found = reader.read_sections().unwrap();
    assert_eq!(whole(&found), [2, 4]);
    let Section::Whole(last) = found[2] else { panic!("{found:?}") };
    assert_eq!(reader.read_batch(last).unwrap(), batch(4));
}

#[test]
fn it_begins_anew_once_all_is_committed_and_ends_at_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = SpillWriter::create(folder.path(), "key", 1);
    let first = spill.append_batch(&batch(2), &beginning(), 5).unwrap();
    assert!(first.offset > 0, "the beginning is before it");
    spill.release_committed(4);
    assert_eq!(spill.append_batch(&batch(3), &beginning(), 6).unwrap().offset, first.offset + first.length);
    spill.release_committed(6);
    assert!(!spill.has_batches());
    assert_eq!(std::fs::metadata(spill.path()).unwrap().len(), first.offset, "the beginning stays");
    assert_eq!(spill.append_batch(&batch(4), &beginning(), 7).unwrap().offset, first.offset);
    let path = spill.path().to_owned();
    assert!(!spill.finish(6).unwrap() && path.exists());
    let error = SpillWriter::create(folder.path(), "other", 0).append_batch(&batch(2), &beginning(), 1).unwrap_err();
    assert_eq!(error.to_string(), "it has grown to its limit of 0 MB (log.spill_limit_mb)");
    let empty = SpillWriter::create(folder.path(), "third", 1);
    assert!(empty.path().exists());
    assert_eq!(left_behind(folder.path()), [path], "one that is being written and an empty one are not left behind");
    let third = empty.path().to_owned();
    assert!(empty.finish(0).unwrap() && !third.exists());
}

#[test]
fn a_file_that_is_removed_is_made_again_with_all_that_was_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = SpillWriter::create(folder.path(), "key", 1);
    let (path, reader) = (spill.path().to_owned(), spill.reader());
    let frames: Vec<Frame> = (2..=3)
        .map(|number| {
            let frame = spill.append_batch(&batch(number), &beginning(), number).unwrap();
            std::fs::remove_file(&path).unwrap();
            frame
        })
        .collect();
    assert_eq!(frames.iter().map(|&frame| reader.read_batch(frame).unwrap().number).collect::<Vec<_>>(), [2, 3]);
    assert!(!spill.finish(0).unwrap());
    assert_eq!(whole(&sections(&path)), [1, 2, 3]);
}

/// A whole frame as the earlier version writes it, whose last tables are missing.
fn as_earlier(frame: &[u8], earlier: EarlierTables) -> Vec<u8> {
    let (header, payload) = frame.split_at(HEADER_LENGTH);
    let (payload, missing) = payload.split_at(payload.len() - (TableId::COUNT - earlier.tables));
    assert!(missing.iter().all(|count| *count == 0), "a table without rows is a zero");
    let mut header = header.to_vec();
    header[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[12..16].copy_from_slice(&earlier.checksum().to_le_bytes());
    header[HEADER_LENGTH - 8..HEADER_LENGTH - 4].copy_from_slice(&CRC.checksum(payload).to_le_bytes());
    let sum = CRC.checksum(&header[..HEADER_LENGTH - 4]);
    header[HEADER_LENGTH - 4..].copy_from_slice(&sum.to_le_bytes());
    [&header, payload].concat()
}

#[test]
fn files_of_earlier_tables_are_read_with_null_for_what_they_lack() {
    for earlier in EARLIER_TABLES {
        let folder = tempfile::tempdir().unwrap();
        let of_before = |number: u64| {
            let mut rows = TableRows::default();
            let row = (0..earlier.body_columns as i64).map(Cell::Integer);
            rows.cells_mut(TableId::Body).extend(row.clone().chain(row));
            Batch { content: Content::Begin(rows), ..batch(number) }
        };
        let mut spill = SpillWriter::create(folder.path(), "key", 1);
        let frame = spill.append_batch(&of_before(2), &of_before(1), 2).unwrap();
        let path = spill.path().to_owned();
        assert!(!spill.finish(0).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        let (first, second) = bytes.split_at(frame.offset as usize);
        std::fs::write(&path, [as_earlier(first, earlier), as_earlier(second, earlier)].concat()).unwrap();
        let reader = SpillReader::open(&path).unwrap();
        let sections = reader.read_sections().unwrap();
        assert_eq!(whole(&sections), [1, 2]);
        for section in sections {
            let Section::Whole(frame) = section else { panic!("{section:?}") };
            assert!(frame.is_of_these_tables());
            let Content::Begin(rows) = reader.read_batch(frame).unwrap().content else { panic!() };
            let (cells, width) = (rows.cells(TableId::Body), TableId::Body.width());
            assert_eq!((cells.len(), rows.cells(TableId::Scan).len()), (2 * width, 0));
            for row in cells.chunks(width) {
                assert_eq!(row[earlier.body_columns - 1], Cell::Integer(earlier.body_columns as i64 - 1));
                assert!(row[earlier.body_columns..].iter().all(|cell| *cell == Cell::Null));
            }
        }
    }
}
