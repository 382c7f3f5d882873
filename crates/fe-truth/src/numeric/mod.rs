//! Numerical methods that know no law and no scenario: adaptive quadrature, roots, Sobol' points, special functions.
//!
//! Imports nothing of this crate. Begin with [`quadrature::integrate`].

pub(crate) mod cusps;
pub(crate) mod elliptic;
pub(crate) mod mixed;
pub(crate) mod quadrature;
pub(crate) mod roots;
pub(crate) mod sobol;
pub(crate) mod special;
pub(crate) mod triangle;
