//! Binary frames: a step as bytes for the page. `clients/viewer/PROTOCOL.md` documents the layout.

use simpartner_model::{BodyId, DeviceId, JointId};
use simpartner_wire::signal::{Contact, Layout, MOST_CONTACTS, StepRecord};

/// Header of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Head {
    pub(super) step: u64,
    /// Simulated time.
    pub(super) time_s: f64,
    /// Wall time since the start of the run.
    pub(super) wall_s: f64,
    /// Delay between the step's deadline and its start.
    pub(super) late_s: f64,
    pub(super) real_time_factor: f64,
    /// Target rate of `realtime`, simulated seconds per wall second.
    pub(super) rate: f64,
    /// Number of the frame on its connection, from 1; 0 in a recorded run.
    pub(super) number: u32,
    pub(super) epoch: u32,
    pub(super) slips: u32,
    /// 0 paused, 1 playing, 2 quitting, or [`RECORDED`].
    pub(super) state: u8,
    /// 0 realtime, 1 fast, 2 lockstep.
    pub(super) mode: u8,
    /// Number of open pages.
    pub(super) pages: u32,
}

/// [`Head::state`] of a step from the log.
pub(super) const RECORDED: u8 = 3;

/// Length of the header, bytes.
const HEADER_BYTES: usize = 96;

/// Length of a contact, bytes.
const CONTACT_BYTES: usize = 48;

/// Body index that stands for the ground.
const GROUND_INDEX: u32 = u32::MAX;

/// Length of a frame without contacts, bytes.
pub(super) fn frame_bytes(layout: &Layout) -> usize {
    HEADER_BYTES + (single_count(layout) * 4).next_multiple_of(8) + double_count(layout) * 8
}

/// Length of the longest frame, bytes.
pub(super) fn longest(layout: &Layout) -> usize {
    frame_bytes(layout) + MOST_CONTACTS * CONTACT_BYTES
}

/// Number of a record's values that belong to bodies and joints. They are sent in single precision.
fn single_count(layout: &Layout) -> usize {
    let bodies = layout.bodies().checked_sub(1).map_or(0, |last| layout.wrench(BodyId::new(last)).end);
    layout.joints().checked_sub(1).map_or(bodies, |last| layout.joint(JointId::new(last)).end)
}

/// Number of values of all devices. They are sent in double precision.
fn double_count(layout: &Layout) -> usize {
    layout.devices().iter().map(|device| device.fields.len()).sum()
}

/// Appends the frame of a record.
pub(super) fn write_frame(head: &Head, layout: &Layout, record: &StepRecord, out: &mut Vec<u8>) {
    let (start, values, contacts) = (out.len(), &record.values, &record.contacts);
    let length = frame_bytes(layout) + contacts.largest().len() * CONTACT_BYTES;
    out.reserve(length);
    let single_count = single_count(layout);
    let counts = [layout.bodies(), layout.joints(), double_count(layout), contacts.largest().len()];
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
    values[..single_count].iter().for_each(|&value| out.extend_from_slice(&(value as f32).to_le_bytes()));
    out.resize(start + HEADER_BYTES + (single_count * 4).next_multiple_of(8), 0);
    for (index, info) in layout.devices().iter().enumerate() {
        let reading = record.device(layout, DeviceId::new(index));
        // A long reading that is unknown is empty; it is sent as NaN.
        let unknown = std::iter::repeat_n(&f64::NAN, info.fields.len() - reading.len());
        reading.iter().chain(unknown).for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }
    contacts.largest().iter().for_each(|contact| write_contact(contact, out));
    debug_assert_eq!(out.len(), start + length);
}

fn write_contact(contact: &Contact, out: &mut Vec<u8>) {
    let Contact { body, other, point, normal, force, gap } = contact;
    for body in [Some(body), other.as_ref()] {
        out.extend_from_slice(&body.map_or(GROUND_INDEX, |body| body.index() as u32).to_le_bytes());
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
        write_frame(&Head { step: 5, number: 9, ..Head::default() }, &layout, &record, &mut out);
        let frame = &out[1..];
        assert_eq!((frame.len(), frame_bytes(&layout)), (96 + 80, 96 + 80));
        assert_eq!(&frame[..16], [b"SPV1".as_slice(), &176u32.to_le_bytes(), &5u64.to_le_bytes()].concat());
        assert_eq!(frame[56], 9);
        assert_eq!(frame[96 + 18 * 4..], [18f32.to_le_bytes(), [0; 4]].concat());
    }

    #[test]
    fn an_empty_world_is_only_a_head() {
        let layout = Layout::new(0, 0, Vec::new());
        let mut out = Vec::new();
        write_frame(&Head::default(), &layout, &StepRecord::new(&layout), &mut out);
        assert_eq!(out.len(), HEADER_BYTES);
    }

    #[test]
    fn contacts_stand_behind_all_other_numbers() {
        let layout = Layout::new(1, 0, Vec::new());
        let mut record = StepRecord::new(&layout);
        let (point, normal, force) = ([1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [4.0, 5.0, 6.0]);
        let contact = Contact { body: BodyId::new(0), other: None, point, normal, force, gap: -7.0 };
        record.contacts.refill([contact; 2].into_iter());
        let mut out = Vec::new();
        write_frame(&Head::default(), &layout, &record, &mut out);
        assert_eq!((out.len(), out[84], out[92]), (frame_bytes(&layout) + 96, 2, 2));
        let last = &out[out.len() - CONTACT_BYTES..];
        assert_eq!(last[..8], [0, 0, 0, 0, 255, 255, 255, 255]);
        let numbers: Vec<f32> =
            last[8..].chunks(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect();
        assert_eq!(numbers, [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 4.0, 5.0, 6.0, -7.0]);
    }
}
