//! The command line: one file per command.
//!
//! It imports everything, and nothing imports it. Begin with `Command`; `arguments` has what several commands take, and
//! `effect` the one way from flags to an effect.

mod agree;
mod arguments;
mod check;
mod compare;
mod defect;
mod describe;
mod effect;
mod engines;
mod event;
mod figures;
mod finish;
mod forecast;
mod league;
mod list;
mod manual;
mod merge;
mod new;
mod plan;
mod plot;
mod population;
mod problem;
mod progress;
mod reconstruct;
mod report;
mod run;
mod sample;
mod score;
mod serve;
mod stop;
mod table;
mod truth;
mod watch;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::error::ErrorKind as ErrorKindOfArguments;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use fe_core::numeric::simd;

use crate::error::{Error, Result, cut, plain_types};
use crate::system::guard;
use crate::system::program::{self, Hosted};
use crate::system::say::{self, say};
use crate::system::screen::Screen;
use crate::system::spelling::otherwise;

/// Reference harness for feature effects: exact truths, estimators, and studies that compare them.
///
/// Exit status: 0 done, 1 a check failed or nothing could be computed, 2 bad input or output that cannot
/// be written, 101 a defect of the program, 128 + N ended by signal N (130 by Ctrl-C). Results go to
/// standard output, messages and progress to standard error. Features are called x1 … xD, or as
/// a scenario in a file names them.
#[derive(Debug, Parser)]
#[command(name = "fe-bench", version = env!("FE_BENCH_VERSION"), after_help = EXAMPLES)]
struct Cli {
    /// Says nothing but errors on standard error; cautions are in what is written
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 1000)]
    quiet: bool,
    /// Says on standard error which build this is, and how long the command took
    #[arg(short, long, global = true, display_order = 1001)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  fe-bench list scenarios
  fe-bench truth sin-indicator --set noise_sd=0.1 --effect ale --feature x1 --grid 11
  fe-bench effect friedman1 --n 1000 --seed 7 --estimator ale --bins 20 --feature x4
  fe-bench run scenarios/liu.toml --out results/runs/liu
  fe-bench table results/runs/liu --format latex
  fe-bench compare results/runs/liu results/runs/liu-again
  fe-bench check --quick";

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Arguments),
    New(new::Arguments),
    Problem(problem::Arguments),
    Truth(Box<truth::Arguments>),
    Sample(sample::Arguments),
    Describe(describe::Arguments),
    Effect(Box<effect::Arguments>),
    Reconstruct(Box<reconstruct::Arguments>),
    Agree(Box<agree::Arguments>),
    Score(score::Arguments),
    Plan(Box<plan::Arguments>),
    Finish(finish::Arguments),
    Run(run::Arguments),
    Merge(merge::Arguments),
    Table(table::Arguments),
    Compare(compare::Arguments),
    Check(check::Arguments),
    Plot(plot::Arguments),
    Report(report::Arguments),
    Population(population::Arguments),
    #[command(visible_alias = "estimators")]
    Engines(engines::Arguments),
    League(league::Arguments),
    Manual(manual::Arguments),
    Serve(serve::Arguments),
    Watch(watch::Arguments),
}

/// The status after a panic.
const DEFECT: u8 = 101;

/// Runs the program on the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(status())
}

/// Runs the program within another process, and returns its exit status. Signals end that process, and a panic is
/// reported as the program reports it, so that this is for hosts that do nothing else.
#[must_use]
pub fn main_hosted(hosted: Hosted) -> u8 {
    program::host(hosted);
    status()
}

fn status() -> u8 {
    std::panic::set_hook(Box::new(defect::report));
    std::panic::catch_unwind(|| match parse() {
        Ok(cli) => {
            say::be_quiet(cli.quiet);
            let started = std::time::Instant::now();
            hold_down_if_told();
            if cli.verbose {
                say!("fe-bench {}", env!("FE_BENCH_VERSION"));
                if simd::is_held_down() {
                    say!("no wide instructions ({SIMD}=off)");
                }
            }
            let status = run(&cli.command, cli.quiet);
            if cli.verbose {
                say!("status {status} after {:.1} s", started.elapsed().as_secs_f64());
            }
            status
        }
        Err(refusal) => refuse(&refusal),
    })
    .unwrap_or(DEFECT)
}

/// The variable that, set to off, leaves the wide instructions of the processor alone.
const SIMD: &str = "FE_BENCH_SIMD";

fn hold_down_if_told() {
    if std::env::var_os(SIMD).is_some_and(|value| value == "off") {
        simd::hold_down();
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let command = in_both_spellings(taking_negative_numbers(Cli::command()));
    let matches = command.try_get_matches_from(program::arguments())?;
    Cli::from_arg_matches(&matches)
}

fn run(command: &Command, is_quiet: bool) -> u8 {
    // These two end with the process that started them, and say nothing of their own.
    if !matches!(command, Command::Serve(_) | Command::Watch(_)) {
        guard::be_watched();
        stop::heed_signals();
        progress::begin(is_quiet);
    }
    let mut out = Screen::new(std::io::BufWriter::new(std::io::stdout().lock()));
    let result = execute(command, &mut out).and_then(|()| out.flush().map_err(Error::Output));
    match result {
        Ok(()) => 0,
        // Whoever reads standard output has seen enough.
        Err(Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe => 0,
        Err(error) => {
            // What was printed before a check failed comes first.
            let _ = out.flush();
            say::error(&format!("fe-bench: {}", cut(&plain_types(&error.to_string()))));
            if matches!(error, Error::Failed(_)) { 1 } else { 2 }
        }
    }
}

/// A refusal of arguments that is not cut, in bytes.
const SHORT: usize = 2000;

/// Prints what is wrong with the arguments, or the help that they ask for.
fn refuse(refusal: &clap::Error) -> u8 {
    let mut given = refusal.render().to_string();
    if refusal.kind() == ErrorKindOfArguments::InvalidUtf8
        && let Some(wrong) =
            program::arguments().into_iter().find(|argument| argument.to_str().is_none())
    {
        let named = format!("the argument `{}` is no text in UTF-8", wrong.display());
        given = given.replace("invalid UTF-8 was detected in one or more arguments", &named);
    }
    let text = cut(&given);
    if refusal.use_stderr() {
        let text = plain_types(&text);
        // In colours only where no argument brings any of its own, and nothing is said in other words.
        match say::visible(&text) {
            std::borrow::Cow::Borrowed(_)
                if text.len() < SHORT && text == refusal.render().to_string() =>
            {
                drop(refusal.print());
            }
            _ => say::error(text.trim_end()),
        }
    } else if let Err(error) = refusal.print().and_then(|()| std::io::stdout().flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        say::error(&format!("fe-bench: {}", Error::Output(error)));
        return 2;
    }
    u8::try_from(refusal.exit_code()).unwrap_or(2)
}

/// The same command, in which a negative number after an option is its value: where that is wrong, the
/// message then names the option.
fn taking_negative_numbers(command: clap::Command) -> clap::Command {
    let is_taken = |argument: &clap::Arg| {
        argument.get_action().takes_values() && !argument.is_allow_hyphen_values_set()
    };
    let command = command.mut_args(|argument| {
        if is_taken(&argument) { argument.allow_negative_numbers(true) } else { argument }
    });
    command.mut_subcommands(taking_negative_numbers)
}

/// The same command, whose options are found in British and in American spelling.
fn in_both_spellings(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| match argument.get_long().and_then(otherwise) {
        Some(other) => argument.alias(other),
        None => argument,
    });
    command.mut_subcommands(in_both_spellings)
}

fn execute(command: &Command, out: &mut dyn Write) -> Result<()> {
    match command {
        Command::List(arguments) => list::execute(arguments, out),
        Command::New(arguments) => new::execute(arguments),
        Command::Problem(arguments) => problem::execute(arguments, out),
        Command::Truth(arguments) => truth::execute(arguments, out),
        Command::Sample(arguments) => sample::execute(arguments, out),
        Command::Describe(arguments) => describe::execute(arguments, out),
        Command::Effect(arguments) => effect::execute(arguments, out),
        Command::Reconstruct(arguments) => reconstruct::execute(arguments, out),
        Command::Agree(arguments) => agree::execute(arguments, out),
        Command::Score(arguments) => score::execute(arguments, out),
        Command::Plan(arguments) => plan::execute(arguments, out),
        Command::Finish(arguments) => finish::execute(arguments, out),
        Command::Run(arguments) => run::execute(arguments, out),
        Command::Merge(arguments) => merge::execute(arguments, out),
        Command::Table(arguments) => table::execute(arguments, out),
        Command::Compare(arguments) => compare::execute(arguments, out),
        Command::Check(arguments) => check::execute(arguments, out),
        Command::Plot(arguments) => plot::execute(arguments, out),
        Command::Report(arguments) => report::execute(arguments, out),
        Command::Population(arguments) => population::execute(arguments, out),
        Command::Engines(arguments) => engines::execute(arguments, out),
        Command::League(arguments) => league::execute(arguments, out),
        Command::Manual(arguments) => manual::execute(arguments, Cli::command(), out),
        Command::Serve(arguments) => serve::execute(arguments, out),
        Command::Watch(arguments) => watch::execute(arguments),
    }
}
