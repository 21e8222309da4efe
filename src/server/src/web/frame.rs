//! A step as bytes for the page.

use simpartner_model::{BodyId, DeviceId, JointId};
use simpartner_wire::signal::{Contact, Layout, MOST_CONTACTS, StepRecord};

/// What stands at the head of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Head {
    pub(super) step: u64,
    pub(super) time_s: f64,
    pub(super) wall_s: f64,
    pub(super) late_s: f64,
    pub(super) real_time_factor: f64,
    pub(super) rate: f64,
    pub(super) number: u32,
    pub(super) epoch: u32,
    pub(super) slips: u32,
    pub(super) state: u8,
    pub(super) mode: u8,
    pub(super) pages: u32,
}

/// The state of a step that was recorded.
pub(super) const RECORDED: u8 = 3;

/// Length of the head, bytes.
const HEAD: usize = 96;

/// Length of a contact, bytes.
const CONTACT: usize = 48;

/// What stands for the ground where a body could stand.
const GROUND: u32 = u32::MAX;

/// Length of a frame without contacts, bytes.
pub(super) fn length(layout: &Layout) -> usize {
    HEAD + (floats(layout) * 4).next_multiple_of(8) + doubles(layout) * 8
}

/// Length of the longest frame, bytes.
pub(super) fn longest(layout: &Layout) -> usize {
    length(layout) + MOST_CONTACTS * CONTACT
}

/// How many numbers of a record are of bodies and joints, which go as singles.
fn floats(layout: &Layout) -> usize {
    let bodies = layout.bodies().checked_sub(1).map_or(0, |last| layout.wrench(BodyId::new(last)).end);
    layout.joints().checked_sub(1).map_or(bodies, |last| layout.joint(JointId::new(last)).end)
}

/// How many numbers devices have.
fn doubles(layout: &Layout) -> usize {
    layout.devices().iter().map(|device| device.fields.len()).sum()
}

/// Appends the frame of a record.
pub(super) fn write(head: &Head, layout: &Layout, record: &StepRecord, out: &mut Vec<u8>) {
    let (start, values, contacts) = (out.len(), &record.values, &record.contacts);
    let length = length(layout) + contacts.largest().len() * CONTACT;
    out.reserve(length);
    let floats = floats(layout);
    let counts = [layout.bodies(), layout.joints(), doubles(layout), contacts.largest().len()];
    out.extend_from_slice(b"SPV1");
    out.extend_from_slice(&(length as u32).to_le_bytes());
    out.extend_from_slice(&head.step.to_le_bytes());
    for number in [head.time_s, head.wall_s, head.late_s, head.real_time_factor, head.rate] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for number in [head.number, head.epoch, head.slips] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&[head.state, head.mode, 0, 0]);
    counts.iter().for_each(|&count| out.extend_from_slice(&(count as u32).to_le_bytes()));
    out.extend_from_slice(&head.pages.to_le_bytes());
    out.extend_from_slice(&(contacts.total() as u32).to_le_bytes());
    values[..floats].iter().for_each(|&value| out.extend_from_slice(&(value as f32).to_le_bytes()));
    out.resize(start + HEAD + (floats * 4).next_multiple_of(8), 0);
    for (index, info) in layout.devices().iter().enumerate() {
        let reading = record.device(layout, DeviceId::new(index));
        // A long reading is empty where it is not known.
        let unknown = std::iter::repeat_n(&f64::NAN, info.fields.len() - reading.len());
        reading.iter().chain(unknown).for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }
    contacts.largest().iter().for_each(|contact| write_contact(contact, out));
    debug_assert_eq!(out.len(), start + length);
}

fn write_contact(contact: &Contact, out: &mut Vec<u8>) {
    let Contact { body, other, point, normal, force, gap } = contact;
    for body in [Some(body), other.as_ref()] {
        out.extend_from_slice(&body.map_or(GROUND, |body| body.index() as u32).to_le_bytes());
    }
    let numbers = point.iter().chain(normal).chain(force).chain([gap]);
    numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_number_of_singles_is_filled_up_before_the_doubles() {
        let layout = Layout::new(1, 0, Vec::new());
        let mut record = StepRecord::new(&layout);
        record.values = (0..layout.len()).map(|index| index as f64).collect();
        let mut out = vec![7];
        write(&Head { step: 5, number: 9, ..Head::default() }, &layout, &record, &mut out);
        let frame = &out[1..];
        assert_eq!((frame.len(), length(&layout)), (96 + 80, 96 + 80));
        assert_eq!(&frame[..16], [b"SPV1".as_slice(), &176u32.to_le_bytes(), &5u64.to_le_bytes()].concat());
        assert_eq!(frame[56], 9);
        assert_eq!(frame[96 + 18 * 4..], [18f32.to_le_bytes(), [0; 4]].concat());
    }

    #[test]
    fn an_empty_world_is_only_a_head() {
        let layout = Layout::new(0, 0, Vec::new());
        let mut out = Vec::new();
        write(&Head::default(), &layout, &StepRecord::new(&layout), &mut out);
        assert_eq!(out.len(), HEAD);
    }

    #[test]
    fn contacts_stand_behind_all_other_numbers() {
        let layout = Layout::new(1, 0, Vec::new());
        let mut record = StepRecord::new(&layout);
        let (point, normal, force) = ([1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [4.0, 5.0, 6.0]);
        let contact = Contact { body: BodyId::new(0), other: None, point, normal, force, gap: -7.0 };
        record.contacts.refill([contact; 2].into_iter());
        let mut out = Vec::new();
        write(&Head::default(), &layout, &record, &mut out);
        assert_eq!((out.len(), out[84], out[92]), (length(&layout) + 96, 2, 2));
        let last = &out[out.len() - CONTACT..];
        assert_eq!(last[..8], [0, 0, 0, 0, 255, 255, 255, 255]);
        let numbers: Vec<f32> =
            last[8..].chunks(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect();
        assert_eq!(numbers, [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 4.0, 5.0, 6.0, -7.0]);
    }
}
