//! Kinematics of vehicles with wheels or tracks that roll without slip.
//!
//! Everything is in the vehicle's frame, in the plane: forward, and to the left. A wheel at c moves with u = v + omega
//! x c. It holds the ground along its grip g: u . g = r q' (d . g), with its radius r, its rate q' and the direction d
//! in which it rolls. For an ordinary wheel g is d; for a mecanum or omni wheel, g is the axis of the roller that
//! touches the ground (Muir and Neuman 1987, Kinematic Modeling of Wheeled Mobile Robots).

use bevy_math::DVec2;
use nalgebra::{Matrix3, Vector3};
use simpartner_description::{Steering, Vehicle, VehicleWheel};
use simpartner_wire::signal::DeviceKind;

/// Largest curvature of a path, 1/m, for a vehicle whose steerings have no stops.
const MAX_CURVATURE: f64 = 100.0;
/// Most iterations for the angle of a wheel that is not above its steering axis. Each one reduces the error by the
/// ratio of that distance to the radius of the turn.
const MAX_STEERING_ITERATIONS: usize = 20;
/// Accuracy of that angle, rad.
const STEERING_TOLERANCE: f64 = 1e-14;
/// Halvings of an interval of curvatures: beyond the resolution of a double.
const CURVATURE_HALVINGS: usize = 64;

/// Velocity of a vehicle: of its frame's origin, m/s, and its turn rate to the left, rad/s. Also a displacement, m and
/// rad.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::device) struct Twist {
    pub(in crate::device) velocity: DVec2,
    pub(in crate::device) omega: f64,
}

impl Twist {
    /// Velocity of the point at `place`.
    fn velocity_at(&self, place: DVec2) -> DVec2 {
        self.velocity + self.omega * place.perp()
    }
}

/// A wheel at an angle of its steering.
struct PlacedWheel {
    centre: DVec2,
    rolling: DVec2,
    grip: DVec2,
}

impl PlacedWheel {
    /// The wheel, its steering turned to the left by `angle` from the initial position, rad.
    fn turned_by(wheel: &VehicleWheel, angle: f64) -> Self {
        let Some(steering) = &wheel.steering else {
            return Self { centre: wheel.centre, rolling: wheel.rolling, grip: wheel.grip };
        };
        let rotation = DVec2::from_angle(angle);
        let centre = steering.pivot + rotation.rotate(wheel.centre - steering.pivot);
        Self { centre, rolling: rotation.rotate(wheel.rolling), grip: rotation.rotate(wheel.grip) }
    }

    /// The wheel at a coordinate of its steering joint.
    fn at_coordinate(wheel: &VehicleWheel, coordinate: f64) -> Self {
        Self::turned_by(wheel, wheel.steering.map_or(0.0, |steering| steering.sense * (coordinate - steering.initial)))
    }
}

/// Velocities of a vehicle's wheels from its own, and the other way round.
#[derive(Debug, Clone)]
pub(in crate::device) struct Kinematics {
    vehicle: Vehicle,
    /// Forward coordinate of the line on which the vehicle does not move sideways; `None` if it can move in all
    /// directions.
    pivot_line: Option<f64>,
    /// Curvatures of the tightest turns to the right and to the left, 1/m; infinite for a vehicle that turns on the
    /// spot.
    curvatures: [f64; 2],
}

impl Kinematics {
    pub(in crate::device) fn of_vehicle(vehicle: &Vehicle) -> Self {
        let fixed = vehicle.wheels.iter().filter(|wheel| wheel.steering.is_none());
        let mut abreast: Vec<f64> = fixed.map(|wheel| wheel.centre.x).collect();
        if abreast.is_empty() {
            let all = vehicle.wheels.iter().map(|wheel| wheel.centre.x);
            abreast = all.chain(vehicle.tracks.iter().map(|track| track.centre.x)).collect();
        }
        let mean = abreast.iter().sum::<f64>() / abreast.len() as f64;
        let mut kinematics = Self {
            vehicle: vehicle.clone(),
            pivot_line: (vehicle.kind != DeviceKind::OmnidirectionalController).then_some(mean),
            curvatures: [f64::NEG_INFINITY, f64::INFINITY],
        };
        if vehicle.kind == DeviceKind::AckermannController {
            kinematics.curvatures = [-1.0, 1.0].map(|sign| kinematics.tightest_curvature(sign));
        }
        kinematics
    }

    pub(in crate::device) fn described_vehicle(&self) -> &Vehicle {
        &self.vehicle
    }

    /// Limits a curvature, 1/m, to the stops of the steerings.
    pub(super) fn limit_curvature(&self, curvature: f64) -> f64 {
        curvature.clamp(self.curvatures[0], self.curvatures[1])
    }

    /// The twist with this speed forward and turn rate, without sideways motion on the pivot line.
    pub(super) fn without_sideslip(&self, forward: f64, omega: f64) -> Twist {
        Twist { velocity: DVec2::new(forward, -omega * self.pivot_line.unwrap_or(0.0)), omega }
    }

    /// Rate of a wheel, rad/s, at a coordinate of its steering.
    pub(super) fn wheel_rate(&self, wheel: &VehicleWheel, coordinate: f64, twist: Twist) -> f64 {
        let PlacedWheel { centre, rolling, grip } = PlacedWheel::at_coordinate(wheel, coordinate);
        twist.velocity_at(centre).dot(grip) / (wheel.radius * rolling.dot(grip))
    }

    /// Coordinate of a steering at which its wheel rolls on a path of this curvature, 1/m, within its stops.
    pub(super) fn steering_coordinate(&self, wheel: &VehicleWheel, steering: &Steering, curvature: f64) -> f64 {
        self.unlimited_coordinate(wheel, steering, curvature).clamp(steering.stops[0], steering.stops[1])
    }

    fn unlimited_coordinate(&self, wheel: &VehicleWheel, steering: &Steering, curvature: f64) -> f64 {
        let twist = self.without_sideslip(1.0, curvature);
        let ahead = wheel.rolling * wheel.rolling.x.signum();
        let mut angle = 0.0;
        for _ in 0..MAX_STEERING_ITERATIONS {
            let velocity = twist.velocity_at(PlacedWheel::turned_by(wheel, angle).centre);
            // A wheel on the far side of the turn's centre rolls backward.
            let before = angle;
            let heading = velocity * if velocity.x < 0.0 { -1.0 } else { 1.0 };
            angle = libm::atan2(ahead.perp_dot(heading), ahead.dot(heading));
            if (angle - before).abs() < STEERING_TOLERANCE {
                break;
            }
        }
        steering.initial + steering.sense * angle
    }

    /// Curvature of the tightest turn to the left (`sign` 1) or right (-1), 1/m.
    fn tightest_curvature(&self, sign: f64) -> f64 {
        let is_possible = |curvature: f64| {
            let steered = self.vehicle.wheels.iter().filter_map(|wheel| Some((wheel, wheel.steering?)));
            steered.into_iter().all(|(wheel, steering)| {
                let coordinate = self.unlimited_coordinate(wheel, &steering, sign * curvature);
                (steering.stops[0]..=steering.stops[1]).contains(&coordinate)
            })
        };
        if is_possible(MAX_CURVATURE) {
            return sign * MAX_CURVATURE;
        }
        let (mut low, mut high) = (0.0, MAX_CURVATURE);
        for _ in 0..CURVATURE_HALVINGS {
            let middle = 0.5 * (low + high);
            if is_possible(middle) { low = middle } else { high = middle }
        }
        sign * low
    }

    /// Curvature of the path, 1/m, on which the steered wheels roll at these coordinates, one for each wheel: the least
    /// squares solution for their motion along their axles.
    pub(super) fn steered_curvature(&self, coordinates: &[f64]) -> f64 {
        let pivot = self.pivot_line.unwrap_or(0.0);
        let (mut numerator, mut denominator) = (0.0, 0.0);
        for (wheel, coordinate) in self.vehicle.wheels.iter().zip(coordinates) {
            if wheel.steering.is_some() {
                let PlacedWheel { centre, rolling, .. } = PlacedWheel::at_coordinate(wheel, *coordinate);
                let lever = centre.y * rolling.y + (centre.x - pivot) * rolling.x;
                (numerator, denominator) = (numerator + lever * rolling.y, denominator + lever * lever);
            }
        }
        if denominator > 0.0 { self.limit_curvature(numerator / denominator) } else { 0.0 }
    }

    /// Speed of a track's belt, m/s, whose centre is to the left by `left`, m.
    pub(super) fn belt_speed(left: f64, twist: Twist) -> f64 {
        twist.velocity.x - twist.omega * left
    }

    /// Twist of the vehicle from the rates of its wheels, rad/s, and the coordinates of their steerings, or from the
    /// speeds of its belts, m/s: the least squares solution. From displacements follows a displacement.
    pub(in crate::device) fn estimate_twist(&self, rates: &[f64], coordinates: &[f64]) -> Twist {
        let mut sums = (Matrix3::zeros(), Vector3::zeros());
        let mut add = |direction: DVec2, place: DVec2, speed: f64| {
            let moment = place.perp_dot(direction);
            let row = match self.pivot_line {
                None => Vector3::new(direction.x, direction.y, moment),
                Some(pivot) => Vector3::new(direction.x, 0.0, moment - pivot * direction.y),
            };
            sums.0 += row * row.transpose();
            sums.1 += row * speed;
        };
        for ((wheel, rate), coordinate) in self.vehicle.wheels.iter().zip(rates).zip(coordinates) {
            let PlacedWheel { centre, rolling, grip } = PlacedWheel::at_coordinate(wheel, *coordinate);
            add(grip, centre, wheel.radius * rate * rolling.dot(grip));
            if wheel.steering.is_some() {
                add(rolling.perp(), centre, 0.0);
            }
        }
        for (track, speed) in self.vehicle.tracks.iter().zip(rates) {
            add(DVec2::X, track.centre, *speed);
        }
        if self.pivot_line.is_some() {
            sums.0[(1, 1)] = 1.0;
        }
        let Some(found) = sums.0.cholesky().map(|factor| factor.solve(&sums.1)) else { return Twist::default() };
        match self.pivot_line {
            None => Twist { velocity: DVec2::new(found.x, found.y), omega: found.z },
            Some(_) => self.without_sideslip(found.x, found.z),
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy_math::DVec3;
    use simpartner_description::{MotionLimits, Track};
    use simpartner_model::{BodyId, JointId, Pose, random::Stream};

    use super::*;

    fn wheel(joint: usize, centre: [f64; 2], radius: f64) -> VehicleWheel {
        VehicleWheel {
            joint: JointId::new(joint),
            coordinate: 2,
            radius,
            centre: centre.into(),
            rolling: DVec2::X,
            grip: DVec2::X,
            is_driven: true,
            steering: None,
        }
    }

    fn vehicle(kind: DeviceKind, wheels: Vec<VehicleWheel>) -> Kinematics {
        let none = MotionLimits { speed: f64::INFINITY, acceleration: f64::INFINITY, jerk: f64::INFINITY };
        Kinematics::of_vehicle(&Vehicle {
            kind,
            body: BodyId::new(0),
            pose: Pose::IDENTITY,
            wheels,
            tracks: Vec::new(),
            linear: none,
            angular: none,
            max_steering_rate: f64::INFINITY,
            max_effort: 1.0,
            watchdog: None,
        })
    }

    /// A car with a wheelbase of 2.5 m, a track of 1.5 m and steering axes 0.1 m inside of the wheels.
    fn car(stop: f64) -> Kinematics {
        let steered = |joint: usize, side: f64| VehicleWheel {
            steering: Some(Steering {
                joint: JointId::new(joint + 4),
                coordinate: 2,
                pivot: DVec2::new(2.5, 0.65 * side),
                sense: side,
                initial: 0.1 * side,
                stops: [0.1 * side - stop, 0.1 * side + stop],
            }),
            ..wheel(joint, [2.5, 0.75 * side], 0.3)
        };
        let rear = [wheel(0, [0.0, 0.75], 0.3), wheel(1, [0.0, -0.75], 0.3)];
        vehicle(DeviceKind::AckermannController, rear.into_iter().chain([steered(2, 1.0), steered(3, -1.0)]).collect())
    }

    /// All axles of a turning car meet in one point, at the radius of the turn from the middle of the rear axle.
    #[test]
    fn axles_of_an_ackermann_steering_meet_in_one_point() {
        let car = car(1.0);
        for radius in [-20.0, -5.0, 4.0, 100.0] {
            let centre = DVec2::new(0.0, radius);
            for wheel in &car.vehicle.wheels[2..] {
                let steering = wheel.steering.unwrap();
                let coordinate = car.steering_coordinate(wheel, &steering, 1.0 / radius);
                let placed = PlacedWheel::at_coordinate(wheel, coordinate);
                assert!((centre - placed.centre).normalize().dot(placed.rolling).abs() < 1e-12);
            }
        }
    }

    /// The formula of the tightest turn: the inner wheel is at its stop.
    #[test]
    fn the_curvature_ends_at_the_stop_of_the_inner_wheel() {
        let car = car(0.5);
        let [right, left] = car.curvatures;
        assert!((left + right).abs() < 1e-12);
        // The axle of the inner wheel passes through its pivot at (2.5, 0.65) and meets the rear axle at the centre.
        let radius = 0.65 + 2.5 / 0.5_f64.tan();
        assert!((1.0 / left - radius).abs() < 1e-9, "{} {radius}", 1.0 / left);
    }

    /// Rates of wheels that roll without slip give the twist from which they follow, for all kinds of vehicles.
    #[test]
    fn an_estimate_from_rolling_wheels_is_exact() {
        let mut chance = Stream::from_number(3);
        let mut random = |scale: f64| scale * (2.0 * chance.uniform() - 1.0);
        for _ in 0..200 {
            let skid: Vec<_> = (0..6).map(|joint| wheel(joint, [random(1.0), random(1.0)], 0.2)).collect();
            let mecanum: Vec<_> = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
                .into_iter()
                .enumerate()
                .map(|(joint, (x, y))| VehicleWheel {
                    grip: DVec2::new(1.0, x * y).normalize(),
                    ..wheel(joint, [0.4 * x, 0.3 * y], 0.1)
                })
                .collect();
            for kinematics in [
                vehicle(DeviceKind::DifferentialDriveController, skid.clone()),
                vehicle(DeviceKind::OmnidirectionalController, mecanum),
                car(0.6),
            ] {
                let wheels = &kinematics.vehicle.wheels;
                let (speed, side) = (random(3.0), random(2.0));
                let (omega, coordinates): (f64, Vec<f64>) = match kinematics.vehicle.kind {
                    DeviceKind::AckermannController => {
                        let curvature = random(0.15);
                        let of = |wheel: &VehicleWheel| {
                            wheel.steering.map_or(0.0, |own| kinematics.steering_coordinate(wheel, &own, curvature))
                        };
                        let coordinates: Vec<f64> = wheels.iter().map(of).collect();
                        assert!((kinematics.steered_curvature(&coordinates) - curvature).abs() < 1e-12);
                        (speed * curvature, coordinates)
                    }
                    _ => (random(2.0), vec![0.0; wheels.len()]),
                };
                let twist = match kinematics.pivot_line {
                    None => Twist { velocity: DVec2::new(speed, side), omega },
                    Some(_) => kinematics.without_sideslip(speed, omega),
                };
                let rates: Vec<f64> = wheels
                    .iter()
                    .zip(&coordinates)
                    .map(|(wheel, at)| kinematics.wheel_rate(wheel, *at, twist))
                    .collect();
                let found = kinematics.estimate_twist(&rates, &coordinates);
                assert!((found.velocity - twist.velocity).length() < 1e-9 && (found.omega - omega).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn belts_turn_a_vehicle_by_their_difference() {
        let mut kinematics = vehicle(DeviceKind::TrackController, vec![wheel(0, [0.0, 0.0], 1.0)]);
        let track = |left| Track { body: BodyId::new(0), centre: DVec2::new(0.0, left), axle: DVec3::Z };
        kinematics.vehicle.wheels.clear();
        kinematics.vehicle.tracks = vec![track(0.5), track(-0.5)];
        let twist = kinematics.without_sideslip(1.0, 0.4);
        assert_eq!([0.5, -0.5].map(|left| Kinematics::belt_speed(left, twist)), [0.8, 1.2]);
        let found = kinematics.estimate_twist(&[0.8, 1.2], &[]);
        assert!((found.velocity.x - 1.0).abs() < 1e-15 && (found.omega - 0.4).abs() < 1e-15);
    }
}
