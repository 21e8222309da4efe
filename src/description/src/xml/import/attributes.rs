//! Attributes of foreign elements: lookup, conversion to numbers, and problems of missing ones.

use std::f64::consts::FRAC_PI_2;

use bevy_math::DVec3;

use super::super::{node::Node, reading::Reading};
use crate::text::numbers::{read_spaced_numbers, shorten};

/// Accepted spelling of a number.
pub(super) const NUMBER_SPELLING: &str =
    "numbers have a point before their decimals, nothing between their digits, and blanks between them";

pub(super) fn name_of(reading: &Reading, node: &Node) -> Option<String> {
    let Some(name) = attribute(node, "name").filter(|name| !name.trim().is_empty()) else {
        reading.problem(node.offset, format!("<{}> lacks a name", node.name));
        return None;
    };
    Some(name.trim().to_owned())
}

pub(super) fn attribute<'n>(node: &'n Node, name: &str) -> Option<&'n str> {
    node.attributes.iter().find(|given| given.name == name).map(|given| given.value.as_str())
}

/// An attribute with N numbers.
pub(super) fn numbers<const N: usize>(reading: &Reading, node: &Node, name: &str) -> Option<[f64; N]> {
    let value = attribute(node, name)?;
    let place = reading.attribute_offset(node, name);
    let numbers = read_spaced_numbers(value, usize::MAX).ok().filter(|numbers| N > 1 || numbers.len() == 1);
    let Some(first) = numbers.as_ref().and_then(|numbers| numbers.first_chunk::<N>()) else {
        let what = if N == 1 { "a finite number".into() } else { format!("{N} finite numbers") };
        let message = format!("attribute '{name}': expected {what}, got '{}'", shorten(value));
        reading.problem_with_help(place, message, NUMBER_SPELLING);
        return None;
    };
    if numbers.as_ref().is_some_and(|numbers| numbers.len() > N) {
        let what = format!("attribute '{name}' has more than {N} numbers");
        reading.warn(place, what, "the first of them count".into());
    }
    Some(*first)
}

/// Fewest decimals of an angle that is taken as a quarter turn: 1.6 is another angle.
const LEAST_DECIMALS: usize = 2;
/// Change of an angle, rad, above which the importer warns. The decimals of 1.5708 change by 4e-6 rad.
const WARNED_CHANGE: f64 = 1e-5;

/// Roll, pitch and yaw in radians, where quarter turns that are rounded or cut to some decimals, such as 1.5707 and
/// -3.14, become exact. A cylinder that was to lie on its side would otherwise stand on the rim of one end, and a wheel
/// would have no width.
pub(super) fn exact_quarter_turns(reading: &Reading, offset: usize, angles: DVec3) -> DVec3 {
    DVec3::from_array(angles.to_array().map(|angle| {
        let Some(exact) = rounded_quarter_turn(angle) else { return angle };
        if (angle - exact).abs() > WARNED_CHANGE {
            let what = "angles that are rounded quarter turns are taken as quarter turns".to_owned();
            reading.warn_once(
                offset,
                what,
                format!("{angle} becomes {exact:.6}; give more decimals for another angle"),
            );
        }
        exact
    }))
}

/// The quarter turns that an angle is, rounded or cut to its decimals, rad; `None` for another angle.
fn rounded_quarter_turn(angle: f64) -> Option<f64> {
    let exact = (angle / FRAC_PI_2).round() * FRAC_PI_2;
    let text = angle.to_string();
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let is_decimal = (LEAST_DECIMALS..f64::DIGITS as usize).contains(&decimals) && exact != 0.0;
    let scaled = exact * 10f64.powi(decimals as i32);
    let given = (angle * 10f64.powi(decimals as i32)).round();
    (is_decimal && (given == scaled.round() || given == scaled.trunc())).then_some(exact)
}

/// The numbers of an attribute; empty if it is absent.
pub(super) fn list(reading: &Reading, node: &Node, name: &str) -> Option<Vec<f64>> {
    let value = attribute(node, name)?;
    let tell = |(_, what)| {
        reading.problem_with_help(
            reading.attribute_offset(node, name),
            format!("attribute '{name}': {what}"),
            NUMBER_SPELLING,
        );
    };
    read_spaced_numbers(value, usize::MAX).map_err(tell).ok()
}

/// The first numbers of an attribute that may have more, which are ignored.
pub(super) fn first_numbers<const N: usize>(reading: &Reading, node: &Node, name: &str) -> Option<[f64; N]> {
    let all = list(reading, node, name)?;
    let first = all.first_chunk::<N>().copied();
    if first.is_none() {
        let got = shorten(attribute(node, name).unwrap_or_default());
        let message = format!("attribute '{name}': expected {N} finite numbers, got '{got}'");
        reading.problem_with_help(reading.attribute_offset(node, name), message, NUMBER_SPELLING);
    }
    first
}

pub(super) fn number(reading: &Reading, node: &Node, name: &str) -> Option<f64> {
    numbers::<1>(reading, node, name).map(|[number]| number)
}

/// A number that has to be there.
pub(super) fn required(reading: &Reading, node: &Node, name: &str) -> Option<f64> {
    if attribute(node, name).is_none() {
        reading.problem(node.offset, format!("<{}> lacks the attribute '{name}'", node.name));
    }
    number(reading, node, name)
}
