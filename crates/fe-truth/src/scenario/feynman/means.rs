//! Means of f and of spreads along an angle that are kept as curves, by their names.

/// Even functions of an angle, of means over a box of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mean {
    /// Of f.
    Side,
    /// Of the square of its slope along the angle.
    Slope2,
    /// Of the square of its difference between two angles so far apart (bits), by the middle of them.
    Difference2(u64),
    /// Of Shapley values of the angle, but for what depends on the lengths alone.
    Shapley,
    /// Of the square of Shapley values of the angle, but for what is the same for all rows.
    Shapley2,
    /// Of the squares of f and its means less those over the angle, in the shares that a spread has of them.
    Squares(Parts),
    /// Of their products at two angles so far apart.
    Products(Parts),
}

/// Spreads along an angle, and their parts: D, f less its mean over the angle, has means given both lengths, one of them and
/// none, with the other angle or without it. As features are independent, the variance of a Shapley value is the sum over
/// sets U of other features of V_U / (|U| + 1)², V_U the variance of the component of D that belongs to U (Hoeffding's
/// decomposition); each V_U is a sum of mean squares of such means with signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Parts {
    /// The variance of D.
    Centred,
    /// The variance of a Shapley value.
    Shapley,
}

/// Shares of the mean squares of means given three other features, two of them, one and none in the variance of a Shapley
/// value: Σ (−1)^(|U| − |T|) / (|U| + 1)² over the sets U that hold T.
pub(super) const OF_SHAPLEY: [f64; 4] = [9.0 / 144.0, 7.0 / 144.0, 13.0 / 144.0, -69.0 / 144.0];

impl Parts {
    /// Shares of the mean squares of means given both lengths, one and none, and the other angle.
    pub(super) fn with_angle(self) -> [f64; 3] {
        match self {
            Self::Centred => [1.0, 0.0, 0.0],
            Self::Shapley => [OF_SHAPLEY[0], OF_SHAPLEY[1], OF_SHAPLEY[2]],
        }
    }

    /// The same without the other angle.
    pub(super) fn without_angle(self) -> [f64; 3] {
        match self {
            Self::Centred => [0.0, 0.0, -1.0],
            Self::Shapley => [OF_SHAPLEY[1], OF_SHAPLEY[2], OF_SHAPLEY[3]],
        }
    }
}
