//! The places at which the stress on a strip of a wheel is summed.

use crate::engine::soil::{lanes::Lanes, rim::HALF_COUNT};

/// Nodes and weights of Gauss and Legendre on [0, 1], on each side of the peak. With the root of the distance to the
/// end as variable, the error of forces is at most 2e-5 of the load on all bundled soils, at any slip.
const GAUSS_NODES: [[Lanes; 2]; HALF_COUNT] = [
    [
        Lanes::new([0.069_431_844_202_973_71, 0.330_009_478_207_571_87]),
        Lanes::new([0.173_927_422_568_726_93, 0.326_072_577_431_273_07]),
    ],
    [
        Lanes::new([0.669_990_521_792_428_1, 0.930_568_155_797_026_3]),
        Lanes::new([0.326_072_577_431_273_07, 0.173_927_422_568_726_93]),
    ],
];
/// Elastic fraction of the way from entry to peak up to which the quadrature's first place stays near that on new soil.
const NEW_SOIL_ELASTIC: f64 = 0.005;

/// Places of the quadrature as fractions of the way from the entry to the peak, and the fraction that each stands for.
/// In a rut, stress grows along the steep `elastic` line first: the first place is where its stress, times the fraction
/// that it stands for, equals the integral over that line. The others are beyond.
#[inline(always)]
pub(super) fn quadrature_places(elastic: f64) -> [[Lanes; 2]; HALF_COUNT] {
    let beyond = 1.0 - elastic;
    let mut places = GAUSS_NODES.map(|[root, weight]| [root * root * beyond + elastic, root * weight * (2.0 * beyond)]);
    if elastic > 0.0 {
        let [part, share] = &mut places[0];
        let (own, first) = (share.to_array()[0], GAUSS_NODES[0][0].to_array()[0]);
        let stands = elastic + own;
        let middle = elastic * (0.5 * elastic + own) / stands;
        let new = first * first * (1.0 - elastic / NEW_SOIL_ELASTIC).max(0.0);
        (part.as_mut_array()[0], share.as_mut_array()[0]) = (middle.max(new), stands);
    }
    places
}
