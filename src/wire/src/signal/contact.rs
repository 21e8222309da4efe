//! Contact points of a step.

use super::BodyId;

/// Number of contact points of a step that are kept.
pub const MOST_CONTACTS: usize = 128;

/// A contact point of a body. Single precision is enough for display and log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// The body on which the force acts: the movable one of the two.
    pub body: BodyId,
    /// The other body; `None` for the ground.
    pub other: Option<BodyId>,
    /// Position, world frame, metres.
    pub point: [f32; 3],
    /// Unit normal of the contact, towards the body, world axes.
    pub normal: [f32; 3],
    /// Force on the body, mean over the step, world axes, N.
    pub force: [f32; 3],
    /// Distance of the two surfaces, metres, negative for penetration.
    pub gap: f32,
}

/// The contact points of a step with the largest forces, for the viewer and, with the setting `log.contacts`, for the
/// log. They follow from the state, so they are not part of the state's hash.
#[derive(Debug, Clone, PartialEq)]
pub struct Contacts {
    largest: Vec<Contact>,
    total: usize,
}

impl Contacts {
    /// An empty list, with memory for the largest number of contacts.
    pub fn new() -> Self {
        Self { largest: Vec::with_capacity(2 * MOST_CONTACTS), total: 0 }
    }

    /// The contact points kept, in a repeatable order.
    pub fn largest(&self) -> &[Contact] {
        &self.largest
    }

    /// Number of contact points, kept or not.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Replaces the contacts by those of another step, in linear time and without allocation.
    pub fn refill(&mut self, contacts: impl Iterator<Item = Contact>) {
        self.largest.clear();
        self.total = 0;
        // A contact with at most the smallest of the kept forces is skipped.
        let mut bar = f32::NEG_INFINITY;
        for contact in contacts {
            self.total += 1;
            if size(&contact) <= bar {
                continue;
            }
            if self.largest.len() == 2 * MOST_CONTACTS {
                bar = self.drop_smaller();
            }
            self.largest.push(contact);
        }
        if self.largest.len() > MOST_CONTACTS {
            self.drop_smaller();
        }
    }

    /// Keeps the largest, and returns the size of the smallest of them.
    fn drop_smaller(&mut self) -> f32 {
        let (_, smallest, _) =
            self.largest.select_nth_unstable_by(MOST_CONTACTS - 1, |a, b| size(b).total_cmp(&size(a)));
        let bar = size(smallest);
        self.largest.truncate(MOST_CONTACTS);
        bar
    }
}

/// The square of its force.
fn size(contact: &Contact) -> f32 {
    contact.force.iter().map(|force| force * force).sum()
}

impl Default for Contacts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushing(force: f32) -> Contact {
        let (body, other) = (BodyId::new(0), None);
        Contact { body, other, point: [0.0; 3], normal: [0.0, 1.0, 0.0], force: [0.0, force, 0.0], gap: 0.0 }
    }

    #[test]
    fn the_largest_forces_are_kept_whatever_order_they_come_in() {
        // Each number from 0 to 1008 once, in an order far from sorted.
        let mut contacts = Contacts::new();
        contacts.refill((0..1009).map(|index| pushing((index * 379 % 1009) as f32)));
        let mut kept: Vec<f32> = contacts.largest().iter().map(|contact| contact.force[1]).collect();
        kept.sort_by(f32::total_cmp);
        assert_eq!(kept, (1009 - MOST_CONTACTS..1009).map(|force| force as f32).collect::<Vec<_>>());
        assert_eq!(contacts.total(), 1009);
        contacts.refill((0..3).map(|force| pushing(force as f32)));
        assert_eq!((contacts.largest().len(), contacts.total(), contacts.largest()[2]), (3, 3, pushing(2.0)));
        assert_eq!(contacts.largest.capacity(), 2 * MOST_CONTACTS);
    }
}
