//! Indices into the model's lists, each with its own type so that they cannot be confused.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of the element at `index` of its list.
            ///
            /// # Panics
            /// The index exceeds `u32::MAX`, which the reader's file limits exclude.
            pub const fn new(index: usize) -> Self {
                assert!(index <= u32::MAX as usize, "file limits keep every list far below 2^32 entries");
                Self(index as u32)
            }

            /// The place in its list.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A body of the world: of a robot, or an object.
    BodyId
);
id!(
    /// A joint of the world.
    JointId
);
id!(
    /// A robot placed in the world.
    RobotId
);
id!(
    /// A sensor or an actuator.
    DeviceId
);
