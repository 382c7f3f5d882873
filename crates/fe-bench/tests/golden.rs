//! Prints of the program, word for word: help, lists and messages.
//!
//! `TRYCMD=overwrite cargo test -p fe-bench --test golden` writes the files anew after a change that
//! is meant.

#[test]
fn the_program_prints_what_it_always_printed() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
