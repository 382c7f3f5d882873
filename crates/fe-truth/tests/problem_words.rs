//! Numbers, parameters and versions of problem files: what is read, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use fe_truth::{Error, Scenario, problem};

const LAW: &str = "[law]\nx = \"uniform(0, 1)\"\n";

fn of(f: &str) -> Result<Scenario, Error> {
    problem("mine", &format!("f = \"{f}\"\n{LAW}"), &[])
}

#[test]
fn numbers_are_read_with_their_exponents() {
    for (text, number) in [
        ("150", 150.0),
        ("1.5e2", 150.0),
        ("1.5E+2", 150.0),
        ("2.", 2.0),
        ("25e-1", 2.5),
        ("0.001e3", 1.0),
    ] {
        let scenario = of(&format!("{text} + 0*x")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scenario.expression().value(&[0.3]), number, "{text}");
    }
    for (text, word) in
        [("2ab_c.d*x", "2ab_c.d"), ("3x", "3x"), ("1e*x", "1e"), ("1e+x", "1e"), ("7_", "7_")]
    {
        let said = of(text).unwrap_err().to_string();
        assert!(
            said.contains(&format!("`{word}` is neither a number nor a name")),
            "{text}: {said}"
        );
    }
    assert!(of("1e999*x").unwrap_err().to_string().contains("too large"));
}

fn with(parameter: &str, set: &[&str]) -> Result<Scenario, Error> {
    let text = format!("f = \"c*x\"\n[parameters]\nc = {parameter}\n{LAW}");
    let set: Vec<_> = set.iter().map(|value| ("c".to_owned(), (*value).to_owned())).collect();
    problem("mine", &text, &set)
}

#[test]
fn parameters_are_within_their_ends() {
    let parameter = "{ default = 2, from = 1, to = 3, about = \"a slope\" }";
    let slope = |scenario: Scenario| scenario.expression().value(&[1.0]);
    assert_eq!(slope(with(parameter, &[]).unwrap()), 2.0);
    for (given, value) in [("1", 1.0), ("2.5", 2.5), (" 3 ", 3.0)] {
        assert_eq!(slope(with(parameter, &[given]).unwrap()), value);
    }
    for given in ["0.999", "3.001", "inf", "NaN", "-2", "two"] {
        let refused = with(parameter, &[given]).unwrap_err();
        let said = refused.to_string();
        assert!(matches!(refused, Error::BadParameter { name: "c", .. }), "{given}: {said}");
        assert!(said.contains('1') && said.contains('3') && said.contains(given), "{said}");
    }
    // One end is enough.
    for (parameter, good, bad) in
        [("{ default = 2, from = 1 }", "1e9", "0.5"), ("{ default = 2, to = 3 }", "-1e9", "3.5")]
    {
        assert_eq!(slope(with(parameter, &[good]).unwrap()), good.parse::<f64>().unwrap());
        assert!(matches!(with(parameter, &[bad]), Err(Error::BadParameter { .. })), "{parameter}");
    }
    let known = with(parameter, &[]).unwrap();
    assert_eq!(known.info().parameters[0].about, "a slope");
    assert_eq!(known.info().parameters[0].default, "2");
}

#[test]
fn a_parameter_is_given_once_and_zero_has_one_form() {
    assert!(matches!(with("2", &["1", "1"]), Err(Error::RepeatedParameter(name)) if name == "c"));
    let shown = |parameter: &str, set: &[&str]| format!("{:?}", with(parameter, set).unwrap());
    assert_eq!(shown("2", &["-0"]), shown("2", &["0"]));
    assert_eq!(shown("-0.0", &[]), shown("2", &["0"]));
    assert_ne!(shown("2", &["1"]), shown("2", &["0"]));
}

#[test]
fn versions_are_whole_numbers_from_one_on() {
    let version = |version: &str| {
        problem("mine", &format!("version = {version}\nf = \"x\"\n{LAW}"), &[])
            .map(|scenario| scenario.info().version)
    };
    for (text, number) in [("1", 1), ("7", 7), ("1000000000", 1_000_000_000)] {
        assert_eq!(version(text).ok(), Some(number));
    }
    for text in ["0", "1.5", "0.5", "-3", "1000000001"] {
        let said = version(text).unwrap_err().to_string();
        assert!(said.contains("a whole number above 0"), "{text}: {said}");
    }
}
