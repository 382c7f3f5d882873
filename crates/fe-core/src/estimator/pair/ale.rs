//! Second-order accumulated local effects of two features (Apley and Zhu 2020, eq. 13 to 17).

use std::ops::Range;

use super::joint::{Joint, Sums, shares};
use super::side::{Points, Side};
use super::{
    PairEstimator, PairEstimatorInfo, PairObservation, Raw, band, centring, check, check_size,
    empty_cells,
};
use crate::binning::{self, Binning, BinningRequest};
use crate::data::{AxisChoice, Dataset, FeatureKind};
use crate::effect::{CellRecord, Surface};
use crate::error::{Error, ModelError, Result};
use crate::estimator::ale::local_effects::{BLOCK, rows_summed};
use crate::estimator::ale::order::Order;
use crate::estimator::{Estimand, Resampled, predictions};
use crate::model::{Column, Model, Observed, Reach, Rows};
use crate::numeric::blocks::fold_blocks_with;
use crate::numeric::interpolation::interpolate_missing;
use crate::numeric::order_statistics::places_where;
use crate::numeric::partition::{Closed, Partition};
use crate::numeric::simd::{subtract, vectorised};
use crate::settings::{BandKind, Centring, EmptyBins, Interval, LevelOrder, Settings};

pub(super) const ALE: PairEstimatorInfo = PairEstimatorInfo {
    name: "ale",
    about: "second-order accumulated local effects of two features (Apley and Zhu 2020)",
    options: &[
        "binning",
        "bins",
        "limits",
        "min_points",
        "quantiles",
        "distinct",
        "axis",
        "center",
        "empty",
        "closed",
        "order",
        "subsample",
        "subsample_seed",
        "band",
        "level",
        "resamples",
        "band_seed",
        "interval",
    ],
    build: |settings| Ok(Box::new(SecondOrderAle::from_settings(settings)?)),
};

/// The accumulated mean mixed differences of f over the cells of two features, less the first-order effects that they
/// have themselves.
///
/// In the cell (k, m) the difference f(z_k, w_m) − f(z_{k−1}, w_m) − f(z_k, w_{m−1}) + f(z_{k−1}, w_{m−1}) is averaged over
/// the instances in it, and accumulated over both features. What that surface, bilinear in the cells, has as first-order
/// ALE of either feature over the same instances and bins is taken away, exactly. (Apley and Zhu's eq. 17 takes the
/// surface at the ends of the cells and their package in the middle, not where the instances are; what is left then has
/// first-order effects that vanish only with the width of the cells.) The mean over the instances is 0.
///
/// A cell without instances has the difference of the nearest that has some, in units of both axes. Of a feature with
/// levels there are steps from each level to the next along an order, over the instances of both.
///
/// ```
/// use fe_core::{Dataset, estimator::pair::{PairEstimator, SecondOrderAle}, model::FunctionModel};
/// let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| if j == 0 { i / 20 } else { i % 20 } as f64 / 19.0);
/// let data = Dataset::from_rows(&rows.view())?;
/// let model = FunctionModel::new(2, |x| x[0] * x[1] + x[0].exp());
/// let surface = &SecondOrderAle::with_bins(5)?.estimate(&data, &model, [0, 1])?[0];
/// assert!((surface.at([1.0, 1.0])? - 0.25).abs() < 1e-12, "(x1 − ½)(x2 − ½)");
/// # Ok::<(), fe_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SecondOrderAle {
    binnings: [Box<dyn Binning>; 2],
    axes: [AxisChoice; 2],
    centring: Option<Centring>,
    empty: EmptyBins,
    closed: Closed,
    order: Option<LevelOrder>,
}

impl SecondOrderAle {
    /// On K bins of equal width of each feature.
    ///
    /// # Errors
    /// [`Error::BadOption`] for K = 0.
    pub fn with_bins(bins: usize) -> Result<Self> {
        let settings = Settings { bins: Some(bins), ..Settings::default() };
        Self::from_settings([&settings, &settings])
    }

    fn from_settings(settings: [&Settings; 2]) -> Result<Self> {
        let [first, second] = settings;
        let empty = match first.empty {
            None => EmptyBins::Nearest,
            Some(policy @ (EmptyBins::Nearest | EmptyBins::Zero | EmptyBins::Error)) => policy,
            Some(other) => {
                return Err(Error::BadOption {
                    option: "empty",
                    given: other.to_string(),
                    allowed: "of cells of two features must be nearest, zero or error".to_owned(),
                });
            }
        };
        check_band(first)?;
        Ok(Self {
            binnings: [fixed_binning(first)?, fixed_binning(second)?],
            axes: [first, second].map(|settings| settings.axis.unwrap_or_default()),
            centring: first.center,
            empty,
            closed: first.closed.unwrap_or_default(),
            order: first.order,
        })
    }

    /// The points of a feature; `response` has the predictions at the rows, where an order comes from them.
    fn side(
        &self,
        data: &Dataset,
        (feature, side): (usize, usize),
        response: Option<&[f64]>,
    ) -> Result<Side> {
        if let Some(levels) = data.levels(feature)? {
            let order =
                Order::of(self.order.unwrap_or_default(), (data, feature), &levels, response)?;
            return Ok(Side {
                feature,
                points: Points::of_levels(levels, order),
                of_grid: None,
                binning: None,
            });
        }
        let binning = &self.binnings[side];
        let choice = binning.choose(&BinningRequest {
            axis: self.axes[side].resolve(data, feature)?,
            closed: self.closed,
            positions: data.feature(feature),
            weights: data.weights(),
            whole: (data.feature(feature), data.weights()),
            levels: false,
            ddof: 0.0,
            local_effects: None,
        })?;
        Ok(Side {
            of_grid: None,
            feature,
            points: Points::Numbers(choice.partition),
            binning: Some(binning.describe()),
        })
    }

    fn sides(
        &self,
        data: &Dataset,
        features: [usize; 2],
        response: Option<&[f64]>,
    ) -> Result<[Side; 2]> {
        let side = |side: usize| self.side(data, (features[side], side), response);
        let sides = [side(0)?, side(1)?];
        check_size(&sides)?;
        Ok(sides)
    }

    /// The predictions at the rows for each output, where an order comes from them.
    fn responses(
        &self,
        data: &Dataset,
        model: &Observed<'_>,
        features: [usize; 2],
    ) -> Result<Option<Vec<Vec<f64>>>> {
        let nominal = |feature: &usize| data.kinds()[*feature] == FeatureKind::Nominal;
        if self.order.is_some() && !features.iter().any(nominal) {
            let message = "`order` is one of levels, and neither feature of the pair is nominal";
            return Err(Error::Incompatible(message.to_owned()));
        }
        if self.order != Some(LevelOrder::Response) {
            return Ok(None);
        }
        if model.model().reach() != Reach::Anything {
            let message = "the order `response` comes from predictions, and these are not there when questions \
                           are planned";
            return Err(Error::Incompatible(message.to_owned()));
        }
        predictions::at_rows(data, model).map(Some)
    }

    fn on(
        &self,
        data: &Dataset,
        model: &Observed<'_>,
        features: [usize; 2],
    ) -> Result<Vec<Surface>> {
        let centring = centring(self.centring, Centring::Data, data, features)?;
        let responses = self.responses(data, model, features)?;
        let outputs = model.model().outputs();
        let mut known: Option<([Side; 2], Cells)> = None;
        let mut surfaces = Vec::with_capacity(outputs);
        for output in 0..outputs {
            let response = responses.as_ref().map(|responses| &responses[output][..]);
            // Another order of levels is another question.
            if known.is_none() || response.is_some() {
                let sides = self.sides(data, features, response)?;
                let cells = Cells::of(data, model, &sides, false)?;
                known = Some((sides, cells));
            }
            let Some((sides, cells)) = &known else { continue };
            let joint = Joint::new(sides, cells.places.clone());
            let joint = if centring == Centring::Bins { joint.in_the_middle() } else { joint };
            let means = mean_differences(&cells.weights, &cells.differences[output]);
            let (means, empty) = empty_cells::fill(self.empty, sides, &means)?;
            let raw = Raw {
                data,
                estimator: ALE.name,
                output,
                sides,
                values: self.second_order(sides, &joint, &means),
                centring,
                interaction: false,
                model_rows: model.model_rows(),
                cells: Some(CellRecord {
                    cells: means.len(),
                    empty,
                    empty_policy: self.empty,
                    closed: self.closed,
                }),
            };
            surfaces.push(raw.surface(&joint)?);
        }
        Ok(surfaces)
    }

    /// The values at the points along their orders, from the mean differences of the cells that have some.
    pub(super) fn values(
        &self,
        sides: &[Side; 2],
        joint: &Joint<'_>,
        means: &[Option<f64>],
    ) -> Result<Vec<f64>> {
        let (means, _) = empty_cells::fill(self.empty, sides, means)?;
        Ok(self.second_order(sides, joint, &means))
    }

    /// Mean differences accumulated over both features, less what either has on its own.
    fn second_order(&self, sides: &[Side; 2], joint: &Joint<'_>, means: &[f64]) -> Vec<f64> {
        let mut values = accumulated(sides, means);
        let alone = [0, 1].map(|side: usize| {
            let changes = joint.changes(&values, side);
            let (widths, centres) = sides[side].widths_and_centres();
            let slopes: Vec<Option<f64>> = changes
                .into_iter()
                .zip(&widths)
                .map(|(change, width)| change.map(|change| change / width))
                .collect();
            // As the estimator of one feature has it.
            let slopes = match self.empty {
                EmptyBins::Zero => slopes.into_iter().map(Option::unwrap_or_default).collect(),
                _ => interpolate_missing(&slopes, &centres).0.unwrap_or_default(),
            };
            let mut curve = vec![0.0];
            for (slope, width) in slopes.iter().zip(widths) {
                curve.push(curve[curve.len() - 1] + slope * width);
            }
            curve
        });
        for (row, first) in values.chunks_mut(sides[1].len()).zip(&alone[0]) {
            for (value, second) in row.iter_mut().zip(&alone[1]) {
                *value -= first + second;
            }
        }
        values
    }
}

/// Refuses what needs standard errors, which cells that are few or empty do not tell.
fn check_band(settings: &Settings) -> Result<()> {
    let what = match (settings.band, settings.interval) {
        (Some(BandKind::Analytic), _) => "the band analytic",
        (_, Some(Interval::Studentised)) => "the interval studentised",
        _ => return Ok(()),
    };
    Err(Error::Incompatible(format!(
        "{what} needs standard errors, and `ale` of a pair has none: many of its cells have an instance or two; take \
         the band bootstrap with the interval percentile"
    )))
}

/// The binning that settings ask for; what needs local effects, of which two features have none, is refused.
fn fixed_binning(settings: &Settings) -> Result<Box<dyn Binning>> {
    let name = settings.binning.as_deref().unwrap_or("fixed");
    let binning = binning::from_settings(settings, "fixed")?;
    match binning::ALL.iter().find(|info| info.name == name) {
        Some(info) if info.automatic && name != "quantile-min" => {
            Err(Error::Incompatible(format!(
                "the binning `{name}` is made for derivatives along one feature: of a pair take fixed, quantile, \
             quantile-min or grid"
            )))
        }
        _ => Ok(binning),
    }
}

/// Sums of differences over both features, 0 at the first point of either.
fn accumulated(sides: &[Side; 2], means: &[f64]) -> Vec<f64> {
    let (columns, steps) = (sides[1].len(), sides[1].steps());
    let mut values = vec![0.0; sides[0].len() * columns];
    for i in 1..sides[0].len() {
        let mut along = 0.0;
        for k in 1..columns {
            along += means[(i - 1) * steps + k - 1];
            values[i * columns + k] = values[(i - 1) * columns + k] + along;
        }
    }
    values
}

impl PairEstimator for SecondOrderAle {
    fn name(&self) -> &'static str {
        ALE.name
    }

    fn estimand(&self) -> Estimand {
        Estimand::AccumulatedLocalEffects
    }

    fn centring(&self, data: &Dataset, features: [usize; 2]) -> Centring {
        centring(self.centring, Centring::Data, data, features).unwrap_or_default()
    }

    fn is_interaction(&self) -> bool {
        false
    }

    fn binnings(&self) -> Option<[&dyn Binning; 2]> {
        Some([self.binnings[0].as_ref(), self.binnings[1].as_ref()])
    }

    fn cost(&self, rows: usize) -> Option<u64> {
        Some((rows as u64).saturating_mul(4))
    }

    fn estimate(
        &self,
        data: &Dataset,
        model: &dyn Model,
        features: [usize; 2],
    ) -> Result<Vec<Surface>> {
        check(data, model, features)?;
        self.on(data, &Observed::new(model), features)
    }

    fn resampling<'a>(&'a self, of: PairObservation<'a>, _: bool) -> Resampled<'a> {
        let PairObservation { data, model, effect: surface } = of;
        let responses = self.responses(data, model, surface.features)?;
        let response = responses.as_ref().map(|responses| &responses[surface.output][..]);
        let sides = self.sides(data, surface.features, response)?;
        band::check_held(data, sides[0].passes() * sides[1].passes())?;
        let cells = Cells::of(data, model, &sides, true)?;
        let each = cells.each.unwrap_or_default();
        Ok(Box::new(band::CellSample::new(self, sides, of, each)))
    }
}

/// Sums over the instances in each cell.
struct Cells {
    /// The cells in which the instances are at home.
    places: Vec<Sums>,
    /// Of each pair of steps the weight of the instances that have both.
    weights: Vec<f64>,
    /// For each output the weighted sums of the mixed differences there.
    differences: Vec<Vec<f64>>,
    /// All the mixed differences, where they are wanted again with other weights.
    each: Option<Each>,
}

/// Mixed differences one by one.
#[derive(Default)]
pub(super) struct Each {
    /// The row of each.
    pub(super) rows: Vec<usize>,
    /// Its pair of steps.
    pub(super) steps: Vec<usize>,
    /// For each output its value.
    pub(super) values: Vec<Vec<f64>>,
}

/// The mean of differences with some weights and weighted sums; none where there is no weight.
pub(super) fn mean_differences(weights: &[f64], sums: &[f64]) -> Vec<Option<f64>> {
    let all = weights.iter().zip(sums);
    all.map(|(weight, sum)| (*weight > 0.0).then(|| sum / weight)).collect()
}

impl Cells {
    fn new(sides: &[Side; 2], outputs: usize, keep_each: bool) -> Self {
        let steps = sides[0].steps() * sides[1].steps();
        let each = || Each { values: vec![Vec::new(); outputs], ..Each::default() };
        Self {
            each: keep_each.then(each),
            places: vec![Sums::default(); sides[0].homes() * sides[1].homes()],
            weights: vec![0.0; steps],
            differences: vec![vec![0.0; steps]; outputs],
        }
    }

    /// Of all rows within both axes; asks the model for four rows for each, for more where features have levels.
    fn of(
        data: &Dataset,
        model: &Observed<'_>,
        sides: &[Side; 2],
        keep_each: bool,
    ) -> Result<Self> {
        let outputs = model.model().outputs();
        let mut total = Self::new(sides, outputs, keep_each);
        fold_blocks_with(
            data.len(),
            rows_summed(data.len(), total.weights.len()),
            Room::default,
            |room, rows| {
                let mut cells = Self::new(sides, outputs, keep_each);
                for start in rows.clone().step_by(BLOCK) {
                    let part = start..rows.end.min(start + BLOCK);
                    Block { data, model, sides }.add(part, room, &mut cells)?;
                }
                Ok::<_, ModelError>(cells)
            },
            |cells| total.merge(cells),
        )?;
        Ok(total)
    }

    fn merge(&mut self, other: Self) {
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(self.places.as_flattened_mut(), other.places.as_flattened());
        add(&mut self.weights, &other.weights);
        for (to, from) in self.differences.iter_mut().zip(&other.differences) {
            add(to, from);
        }
        if let (Some(to), Some(from)) = (&mut self.each, other.each) {
            to.rows.extend(from.rows);
            to.steps.extend(from.steps);
            for (to, from) in to.values.iter_mut().zip(from.values) {
                to.extend(from);
            }
        }
    }
}

/// Room for a block of rows, used again for the next.
#[derive(Default)]
struct Room {
    homes: [Vec<u32>; 2],
    shares: [Vec<f64>; 2],
    steps: [Vec<u32>; 2],
    lower: [Vec<f64>; 2],
    upper: [Vec<f64>; 2],
    answers: [Vec<f64>; 4],
    kept: Vec<Vec<f64>>,
    weights: Vec<f64>,
}

/// A question about blocks of rows.
struct Block<'a> {
    data: &'a Dataset,
    model: &'a Observed<'a>,
    sides: &'a [Side; 2],
}

impl Block<'_> {
    fn add(
        &self,
        rows: Range<usize>,
        room: &mut Room,
        cells: &mut Cells,
    ) -> Result<(), ModelError> {
        let mut all = true;
        for side in 0..2 {
            let homes = &mut room.homes[side];
            homes.resize(rows.len(), 0);
            let values = &self.data.feature(self.sides[side].feature)[rows.clone()];
            all &= self.sides[side].locate(values, homes);
        }
        let weights = self.data.weights().map(|weights| &weights[rows.clone()]);
        all &= weights.is_none_or(|weights| weights.iter().all(|&weight| weight > 0.0));
        if all && !self.sides.iter().any(Side::has_levels) {
            return self.add_rows(rows, None, [0, 0], room, cells);
        }
        for first in 0..self.sides[0].passes() {
            for second in 0..self.sides[1].passes() {
                let passes = [first, second];
                let has = |side: usize, row: usize| {
                    let home = room.homes[side][row];
                    home != Partition::OUTSIDE
                        && self.sides[side].step(home as usize, passes[side]).is_some()
                };
                let counts = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
                let is_home = |side: usize, row: usize| room.homes[side][row] != Partition::OUTSIDE;
                if passes == [0, 0] {
                    let home = places_where(rows.len(), |row| {
                        counts(row) & is_home(0, row) & is_home(1, row)
                    });
                    self.add_places(&rows, &home, room, cells);
                }
                let room_of =
                    places_where(rows.len(), |row| counts(row) & has(0, row) & has(1, row));
                if !room_of.is_empty() {
                    self.add_rows(rows.clone(), Some(&room_of), passes, room, cells)?;
                }
            }
        }
        Ok(())
    }

    /// Adds where some rows are at home.
    fn add_places(&self, rows: &Range<usize>, keep: &[usize], room: &Room, cells: &mut Cells) {
        let columns = self.sides[1].homes();
        for &row in keep {
            let mut share = [0.0; 2];
            for side in 0..2 {
                let x = self.data.feature(self.sides[side].feature)[rows.start + row];
                let home = &room.homes[side][row..=row];
                shares(&self.sides[side], &[x], home, &mut share[side..=side]);
            }
            let weight = self.data.weights().map_or(1.0, |weights| weights[rows.start + row]);
            let cell = room.homes[0][row] as usize * columns + room.homes[1][row] as usize;
            add_place(&mut cells.places[cell], weight, share[0], share[1]);
        }
    }

    /// Adds the mixed differences of rows with a step of either feature, and of all rows of a block where they are at
    /// Writes the mixed differences of some rows to the first of the answers.
    fn mixed_differences<'b>(
        &self,
        [a, b]: [usize; 2],
        columns: &mut [Column<'b>],
        [lower, upper]: [&'b [Vec<f64>; 2]; 2],
        answers: &mut [Vec<f64>; 4],
    ) -> Result<(), ModelError> {
        let len = lower[0].len();
        let size = len * self.model.model().outputs();
        if self.model.model().predicts_changes() {
            let [both, other, ..] = answers;
            for (answer, second) in [(&mut *both, &upper[1]), (&mut *other, &lower[1])] {
                answer.resize(size, 0.0);
                columns[b] = Column::Values(second);
                let rows = Rows::new(columns, len);
                self.model.predict_changes(a, [&lower[0], &upper[0]], &rows, answer)?;
            }
            subtract(both, other);
            return Ok(());
        }
        let corners = [
            (&upper[0], &upper[1]),
            (&lower[0], &lower[1]),
            (&upper[0], &lower[1]),
            (&lower[0], &upper[1]),
        ];
        for (answer, (first, second)) in answers.iter_mut().zip(corners) {
            answer.resize(size, 0.0);
            (columns[a], columns[b]) = (Column::Values(first), Column::Values(second));
            self.model.predict(&Rows::new(columns, len), answer)?;
        }
        let [both, neither, first, second] = answers;
        vectorised(
            #[inline(always)]
            || {
                for (((both, neither), first), second) in
                    both.iter_mut().zip(&*neither).zip(&*first).zip(&*second)
                {
                    // The same bits where the features are swapped.
                    *both = (*both + neither) - (first + second);
                }
            },
        );
        Ok(())
    }

    /// home.
    fn add_rows(
        &self,
        rows: Range<usize>,
        keep: Option<&[usize]>,
        passes: [usize; 2],
        room: &mut Room,
        cells: &mut Cells,
    ) -> Result<(), ModelError> {
        let len = keep.map_or(rows.len(), <[usize]>::len);
        let Room { homes, shares: towards, steps, lower, upper, answers, kept, weights } = room;
        for side in 0..2 {
            let own = &self.sides[side];
            let step = |home: u32| own.step(home as usize, passes[side]).unwrap_or_default() as u32;
            steps[side].clear();
            match keep {
                None => steps[side].extend_from_slice(&homes[side]),
                Some(keep) => steps[side].extend(keep.iter().map(|&row| step(homes[side][row]))),
            }
            lower[side].resize(len, 0.0);
            upper[side].resize(len, 0.0);
            match &own.points {
                Points::Numbers(partition) => {
                    partition.limits_of(&steps[side], &mut lower[side], &mut upper[side]);
                }
                Points::Levels { levels, order, .. } => {
                    let value = |rank: usize| levels.values[order.places[rank]];
                    for (i, &step) in steps[side].iter().enumerate() {
                        lower[side][i] = value(step as usize);
                        upper[side][i] = value(step as usize + 1);
                    }
                }
            }
        }
        let mut columns = match keep {
            None => self.data.columns(rows.clone()),
            Some(keep) => {
                kept.resize_with(self.data.dimension(), Vec::new);
                for (feature, kept) in kept.iter_mut().enumerate() {
                    let values = &self.data.feature(feature)[rows.clone()];
                    kept.clear();
                    kept.extend(keep.iter().map(|&row| values[row]));
                }
                kept.iter().map(|values| Column::Values(values)).collect()
            }
        };
        let [a, b] = [self.sides[0].feature, self.sides[1].feature];
        self.mixed_differences([a, b], &mut columns, [lower, upper], answers)?;
        let both = &answers[0];
        let weights = self.data.weights().map(|all| {
            let all = &all[rows.clone()];
            weights.clear();
            match keep {
                None => weights.extend_from_slice(all),
                Some(keep) => weights.extend(keep.iter().map(|&row| all[row])),
            }
            &weights[..]
        });
        add_differences(self.sides, steps, both, weights, cells);
        if let Some(each) = &mut cells.each {
            let row = |i: usize| rows.start + keep.map_or(i, |keep| keep[i]);
            let columns = self.sides[1].steps();
            each.rows.extend((0..len).map(row));
            each.steps
                .extend((0..len).map(|i| steps[0][i] as usize * columns + steps[1][i] as usize));
            for (values, both) in each.values.iter_mut().zip(both.chunks(len)) {
                values.extend_from_slice(both);
            }
        }
        if keep.is_none() {
            for side in 0..2 {
                let values = &self.data.feature(self.sides[side].feature)[rows.clone()];
                towards[side].resize(len, 0.0);
                shares_between(values, &lower[side], &upper[side], &mut towards[side]);
            }
            let columns = self.sides[1].homes();
            for i in 0..len {
                let cell = steps[0][i] as usize * columns + steps[1][i] as usize;
                let weight = weights.map_or(1.0, |weights| weights[i]);
                add_place(&mut cells.places[cell], weight, towards[0][i], towards[1][i]);
            }
        }
        Ok(())
    }
}

/// Shares of the way of values from the lower to the upper ends of their bins.
fn shares_between(values: &[f64], lower: &[f64], upper: &[f64], shares: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            for (((share, x), lo), hi) in shares.iter_mut().zip(values).zip(lower).zip(upper) {
                *share = (x - lo) / (hi - lo);
            }
        },
    );
}

#[inline(always)]
fn add_place(cell: &mut Sums, weight: f64, u: f64, v: f64) {
    let terms = [weight, weight * u, weight * v, weight * u * v];
    cell.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// Adds the differences of some rows, for each output all rows, to the cells of their steps.
fn add_differences(
    sides: &[Side; 2],
    steps: &[Vec<u32>; 2],
    differences: &[f64],
    weights: Option<&[f64]>,
    cells: &mut Cells,
) {
    let (len, columns) = (steps[0].len(), sides[1].steps());
    let cell = |i: usize| steps[0][i] as usize * columns + steps[1][i] as usize;
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    for i in 0..len {
        cells.weights[cell(i)] += weight(i);
    }
    for (sums, differences) in cells.differences.iter_mut().zip(differences.chunks(len)) {
        for (i, difference) in differences.iter().enumerate() {
            sums[cell(i)] += weight(i) * difference;
        }
    }
}
