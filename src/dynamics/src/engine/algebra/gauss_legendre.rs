//! Coefficients of Gauss and Legendre's method of two stages (Hairer, Lubich and Wanner 2006, II.1.3).

/// 1/4 -+ √3/6, where √3/6 is 0.288...
pub(crate) const NEAR: f64 = 0.25 - 0.288_675_134_594_812_9;
pub(crate) const FAR: f64 = 0.25 + 0.288_675_134_594_812_9;
/// A_ij: what each stage takes of the two.
pub(crate) const STAGES: [[f64; 2]; 2] = [[0.25, NEAR], [FAR, 0.25]];
/// What the end of the step takes of them.
pub(crate) const END: [f64; 2] = [0.5; 2];
