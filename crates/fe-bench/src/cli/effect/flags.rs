//! Flags of the options of estimators, from the table of fe-core: a row there is a flag here.

use std::path::PathBuf;

use clap::builder::{TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use fe_core::settings::{self, Heading, SettingInfo, SettingKind};
use fe_core::{Settings, registries};

use crate::cli::arguments::{
    Grid, Place, count, finite, grid, lists_of_places, place, points, seed,
};
use crate::study::{self, AxisSource};

/// Options as flags give them: those about the rows, or all others, which follow in the help.
#[derive(Debug, Clone, Default)]
pub(super) struct OptionFlags<const ROWS: bool> {
    /// All but those below.
    pub(super) settings: Settings,
    /// The source of the axis.
    pub(super) axis: Option<AxisSource>,
    /// The file of the background rows.
    pub(super) background_rows: Option<PathBuf>,
    /// Limits of the bins of single features, by their names.
    pub(super) limits: Vec<(String, Vec<f64>)>,
    /// Points of either feature of a pair.
    pub(super) points_of_pairs: Option<[Vec<f64>; 2]>,
    /// Numbers of points of either feature of a pair.
    pub(super) grid_of_pairs: Option<[usize; 2]>,
}

impl<const ROWS: bool> OptionFlags<ROWS> {
    fn all() -> impl Iterator<Item = &'static SettingInfo> {
        settings::ALL.iter().filter(|setting| (setting.heading == Heading::Rows) == ROWS)
    }
}

impl<const ROWS: bool> Args for OptionFlags<ROWS> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::all().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const ROWS: bool> FromArgMatches for OptionFlags<ROWS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for name in Self::all().map(|setting| setting.option.name) {
            match name {
                "axis" => self.axis = matches.get_one(name).copied(),
                "background_rows" => self.background_rows = matches.get_one(name).cloned(),
                "limits" => self.read_limits(matches.get_many(name).into_iter().flatten().cloned()),
                "points" => self.read_places(matches.get_many(name).into_iter().flatten())?,
                "grid" => self.read_grid(matches.get_one(name).copied()),
                _ => self.read(name, matches)?,
            }
        }
        Ok(())
    }
}

impl<const ROWS: bool> OptionFlags<ROWS> {
    /// Limits of all features, and those of single ones.
    fn read_limits(&mut self, given: impl Iterator<Item = Limits>) {
        for (feature, limits) in given {
            match feature {
                Some(feature) => self.limits.push((feature, limits)),
                None => self.settings.limits.get_or_insert_default().extend(limits),
            }
        }
    }

    /// Points of a feature or, with a colon among them, of either feature of a pair.
    fn read_places<'m>(
        &mut self,
        given: impl Iterator<Item = &'m Place>,
    ) -> Result<(), clap::Error> {
        let places: Vec<Place> = given.copied().collect();
        if places.iter().any(|place| place.turn.is_some()) {
            let lists = lists_of_places(&places).map_err(|error| {
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
            })?;
            self.points_of_pairs = Some(lists);
        } else if !places.is_empty() {
            self.settings.points = Some(places.iter().map(|place| place.value).collect());
        }
        Ok(())
    }

    fn read_grid(&mut self, given: Option<Grid>) {
        match given {
            Some(Grid(first, Some(second))) => self.grid_of_pairs = Some([first, second]),
            Some(Grid(points, None)) => self.settings.grid = Some(points),
            None => (),
        }
    }

    /// Reads a flag into the settings; its value was checked already.
    fn read(&mut self, name: &str, matches: &ArgMatches) -> Result<(), clap::Error> {
        let Some(given) = matches.get_raw(name) else { return Ok(()) };
        let texts: Vec<String> = given.map(|text| text.to_string_lossy().into_owned()).collect();
        match (name, texts.join(",").as_str()) {
            ("background", "all") => Ok(()),
            (_, text) => self.settings.read(name, text).map_err(|message| {
                let flag = name.replace('_', "-");
                let message = format!("invalid value '{text}' for '--{flag}': {message}\n");
                clap::Error::raw(clap::error::ErrorKind::ValueValidation, message)
            }),
        }
    }
}

fn argument(setting: &'static SettingInfo) -> Arg {
    let SettingInfo { option, flag, value, help, .. } = setting;
    let mut help = (*help).to_owned();
    if let Some(names) = registries::names(option.name) {
        help = format!("{help} [possible values: {}]", names.join(", "));
    }
    // Of two features there may be two, which only this program reads.
    match option.name {
        "points" => help.push_str("; of a pair U,V:W,Z, the points of either feature"),
        "grid" => help.push_str("; of a pair N or NxM"),
        _ => (),
    }
    if setting.says_default {
        help = format!("{help} [default: {}]", option.default);
    }
    let argument = Arg::new(option.name)
        .long(flag.replace('_', "-"))
        .value_name(if value.is_empty() { option.name.to_uppercase() } else { (*value).to_owned() })
        .help(help)
        .help_heading(setting.heading.title())
        .value_parser(parser(setting));
    match (setting.kind, option.name) {
        (_, "limits") => argument.action(ArgAction::Append).allow_hyphen_values(true),
        (SettingKind::Numbers, _) => {
            argument.action(ArgAction::Append).value_delimiter(',').allow_hyphen_values(true)
        }
        (SettingKind::Flag, _) => {
            argument.num_args(0..=1).require_equals(true).default_missing_value("true")
        }
        (SettingKind::Axis, _) | (_, "level") => argument.allow_hyphen_values(true),
        (SettingKind::Rows, _) => argument.conflicts_with_all(["background", "background_seed"]),
        _ => argument,
    }
}

/// Parser of the value of a flag. The core says which numbers make sense.
fn parser(setting: &'static SettingInfo) -> ValueParser {
    match (setting.option.name, setting.kind) {
        ("band", _) => study::band.into(),
        ("level", _) => level.into(),
        ("background", _) => background.into(),
        ("even_points", _) => points.into(),
        ("grid", _) => grid.into(),
        ("points", _) => place.into(),
        ("limits", _) => limits.into(),
        (_, SettingKind::Count) => count.into(),
        (_, SettingKind::Seed) => seed.into(),
        (_, SettingKind::Digit) => value_parser!(u8).into(),
        (_, SettingKind::Number | SettingKind::Numbers) => finite.into(),
        (_, SettingKind::Flag) => value_parser!(bool),
        (_, SettingKind::Name | SettingKind::Scheme) => value_parser!(String),
        (_, SettingKind::Rows) => value_parser!(PathBuf),
        (_, SettingKind::Axis) => value_parser!(AxisSource).into(),
        (name, SettingKind::Word) => clap::builder::StringValueParser::new()
            .try_map(move |text: String| Settings::default().read(name, &text).map(|()| text))
            .into(),
    }
}

/// A number of background rows to draw, or all of them.
fn background(text: &str) -> Result<Option<usize>, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(None),
        (_, Ok(rows)) if rows > 0 => Ok(Some(rows)),
        _ => Err("must be a whole number above 0, or all".to_owned()),
    }
}

/// Limits of bins, of a feature if one is named.
type Limits = (Option<String>, Vec<f64>);

/// Limits of all features, as `0,0.5,1`, or of one, as `x1=0,0.5,1`.
fn limits(text: &str) -> Result<Limits, String> {
    let (feature, numbers) = match text.rsplit_once('=') {
        Some((feature, numbers)) if !feature.trim().is_empty() => {
            (Some(feature.trim().to_owned()), numbers)
        }
        Some(_) => return Err("must be limits, or S=Z0,Z1,… with the name of a feature".to_owned()),
        None => (None, text),
    };
    let numbers = numbers.split(',').map(finite).collect::<Result<_, _>>();
    Ok((feature, numbers.map_err(|message| format!("a limit {message}"))?))
}

/// A confidence level; the core says which ones make sense.
fn level(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "must be a number between 0 and 1".to_owned())
}
