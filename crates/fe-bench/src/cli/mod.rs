//! The command line: one file per command.

mod agree;
mod arguments;
mod check;
mod compare;
mod effect;
mod estimation;
mod estimators;
mod event;
mod finish;
mod fitted;
mod league;
mod list;
mod merge;
mod plan;
mod plot;
mod regional;
mod report;
mod run;
mod sample;
mod score;
mod serve;
mod table;
mod truth;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::{Error, Result};

/// Reference harness for feature effects: exact truths, estimators, and studies that compare them.
///
/// Exit status: 0 done, 1 a check failed, 2 bad input. Results go to standard output, messages and
/// progress to standard error. Features are called x1 … xD.
#[derive(Debug, Parser)]
#[command(name = "fe-bench", version, after_help = EXAMPLES)]
struct Cli {
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
    Truth(truth::Arguments),
    Sample(sample::Arguments),
    Effect(Box<effect::Arguments>),
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
    Estimators(estimators::Arguments),
    League(league::Arguments),
    Serve(serve::Arguments),
}

/// Runs the program on the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // A model that panics is reported as an error; the default hook would print it a second time.
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = execute(&cli.command, &mut out).and_then(|()| out.flush().map_err(Error::Output));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads standard output has seen enough.
        Err(Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            // What was printed before a check failed comes first.
            let _ = out.flush();
            eprintln!("fe-bench: {error}");
            ExitCode::from(if matches!(error, Error::Failed(_)) { 1 } else { 2 })
        }
    }
}

fn execute(command: &Command, out: &mut dyn Write) -> Result<()> {
    match command {
        Command::List(arguments) => list::execute(arguments, out),
        Command::Truth(arguments) => truth::execute(arguments, out),
        Command::Sample(arguments) => sample::execute(arguments, out),
        Command::Effect(arguments) => effect::execute(arguments, out),
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
        Command::Estimators(arguments) => estimators::execute(arguments, out),
        Command::League(arguments) => league::execute(arguments, out),
        Command::Serve(arguments) => serve::execute(arguments, out),
    }
}
