//! Coefficients of Gauss and Legendre's method of two stages (Hairer, Lubich and Wanner 2006, II.1.3).

/// A_12 = 1/4 - √3/6 and A_21 = 1/4 + √3/6, where √3/6 is 0.288...
pub(crate) const A_12: f64 = 0.25 - 0.288_675_134_594_812_9;
pub(crate) const A_21: f64 = 0.25 + 0.288_675_134_594_812_9;
/// Weights A_ij of the rates at both stages j in the state at stage i.
pub(crate) const STAGE_WEIGHTS: [[f64; 2]; 2] = [[0.25, A_12], [A_21, 0.25]];
/// Weights of the rates at both stages in the state at the end of the step.
pub(crate) const END_WEIGHTS: [f64; 2] = [0.5; 2];
