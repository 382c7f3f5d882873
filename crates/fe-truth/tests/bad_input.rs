//! Questions without an answer get a typed error whose message says what is allowed.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::at;
use fe_truth::{Centring, Error, Quantity, Scenario, Weighting, scenario};

fn set(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn refused(name: &str, pairs: &[(&str, &str)], words: &[&str]) {
    let error = scenario(name, &set(pairs)).unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "`{error}` does not contain `{word}`");
    }
}

#[test]
fn names() {
    refused("sin-indicater", &[], &["sin-indicater", "nearest: `sin-indicator`", "friedman1"]);
    refused("", &[], &["known:"]);
    refused("friedman1@2", &[], &["version 1", "`2`"]);
    assert_eq!(scenario("friedman1@1", &[]).unwrap().id(), "friedman1@1");
    let effect: Result<Quantity, Error> = "ale-derivativ".parse();
    assert!(effect.unwrap_err().to_string().contains("nearest: `ale-derivative`"));
    assert_eq!("h-pdp".parse(), Ok(Quantity::HPdp));
    assert!("integrals".parse::<Centring>().is_err());
    assert!("".parse::<Weighting>().is_err());
}

#[test]
fn parameters() {
    refused("liu-product", &[("rh", "0.5")], &["`rh`", "nearest: `rho`", "sigma1"]);
    for rho in ["1.2", "1", "-1", "NaN", "inf", "half", ""] {
        refused("liu-product", &[("rho", rho)], &["rho", rho, "strictly between -1 and 1"]);
    }
    for sd in ["0", "-0.1", "NaN", "inf", "1e-300"] {
        refused("sin-indicator", &[("noise_sd", sd)], &["noise_sd", "1e-6 to 1e6"]);
        refused("piecewise-linear", &[("sigma2", sd)], &["sigma2"]);
        refused("liu-additive", &[("sigma2", sd)], &["sigma2"]);
    }
    for count in ["-1", "1.5", "1001", "many"] {
        refused("friedman1", &[("noise_features", count)], &["from 0 to 1000", count]);
    }
    refused("piecewise-linear", &[("intercepts", "code")], &["rhale-code"]);
    refused("liu-product", &[("rho", "0.1"), ("rho", "0.2")], &["rho", "twice"]);
}

#[test]
fn canonical_parameters() {
    let written = |name, pairs: &[(&str, &str)]| scenario(name, &set(pairs)).unwrap().parameters();
    assert_eq!(
        written("liu-product", &[("rho", "0.90"), ("mu1", "-0"), ("sigma2", "1e-3")]),
        "mu1=0;mu2=0;sigma1=1;sigma2=0.001;rho=0.9"
    );
    assert_eq!(written("friedman1", &[("noise_features", "03")]), "noise_features=3");
    assert_eq!(written("piecewise-linear", &[]), "sigma2=0.5;intercepts=continuous");
}

#[test]
fn axes_points_and_features() {
    let scenario = at("sin-indicator", "");
    let ask = |feature, points: &[f64], axis| {
        scenario.curve(Quantity::Pd, feature, points, axis, Centring::None)
    };
    let whole = (-0.5, 0.5);
    for axis in [(0.5, -0.5), (0.1, 0.1), (-0.6, 0.5), (f64::NAN, 0.5), (-0.5, f64::INFINITY)] {
        let error = ask(0, &[0.0], axis).unwrap_err();
        assert!(matches!(error, Error::BadAxis { .. }), "{error}");
        assert!(error.to_string().contains("x1") && error.to_string().contains("[-0.5, 0.5]"));
        assert!(scenario.values(0, axis).is_err());
    }
    for point in [0.51, -1.0, f64::NAN, f64::INFINITY] {
        let error = ask(0, &[0.0, point], whole).unwrap_err();
        assert!(matches!(error, Error::OutsideSupport { .. }), "{error}");
    }
    assert!(ask(2, &[f64::INFINITY], whole).is_err());
    assert!(ask(2, &[30.0], whole).is_ok());
    assert!(matches!(
        ask(3, &[0.0], whole),
        Err(Error::NoSuchFeature { feature: 3, dimension: 3 })
    ));
    assert!(ask(3, &[0.0], whole).unwrap_err().to_string().contains("x4"));
    assert_eq!(ask(0, &[], whole), Ok(vec![]));
}

#[test]
fn bins() {
    let ask = |s: &Scenario, limits: &[f64], weighting| s.bins(0, limits, weighting);
    let uniform = at("friedman1", "");
    for limits in [&[][..], &[0.5], &[0.5, 0.5], &[0.6, 0.5], &[0.1, f64::NAN]] {
        let error = ask(&uniform, limits, Weighting::Uniform).unwrap_err();
        assert!(matches!(error, Error::BadLimits(_)), "{error}");
        assert!(uniform.differences(0, limits).is_err());
    }
    assert!(ask(&uniform, &[0.5, 1.5], Weighting::Uniform).is_err());
    assert!(uniform.bins(9, &[0.0, 1.0], Weighting::Uniform).is_err());
    let normal = at("liu-product", "");
    assert!(ask(&normal, &[60.0, 61.0], Weighting::Uniform).is_ok());
    let error = ask(&normal, &[60.0, 61.0], Weighting::Data).unwrap_err();
    assert!(matches!(error, Error::EmptyBin { .. }), "{error}");
}

#[test]
fn effects_that_do_not_exist() {
    let ask = |s: &Scenario, feature, effect, centring| {
        s.curve(effect, feature, &[0.2], s.axis(feature), centring)
    };
    let friedman = at("friedman1", "");
    let error = ask(&friedman, 0, Quantity::Main, Centring::None).unwrap_err();
    assert!(matches!(error, Error::NotAdditive { .. }));
    assert!(error.to_string().contains("x1") && error.to_string().contains("friedman1"));
    let main = |feature| ask(&friedman, feature, Quantity::Main, Centring::None).unwrap()[0].value;
    assert!((main(2) - 1.8).abs() < 1e-12);
    assert_eq!(main(6), 0.0);
    for effect in Quantity::ALL.iter().copied().filter(|effect| !effect.is_curve()) {
        let error = ask(&friedman, 3, effect, Centring::Integral).unwrap_err();
        assert!(matches!(error, Error::NotCentrable { .. }), "{error}");
    }
}

#[test]
fn limit_formulas() {
    let scenario = at("sin-indicator", "");
    let ask = |scenario: &Scenario, name: &str, feature, centring| {
        scenario.limit(name, feature, &[0.2], scenario.axis(feature), centring)
    };
    for (name, feature) in [("ale-limit", 1), ("mplot-limit", 0), ("ale", 0), ("", 2)] {
        let error = ask(&scenario, name, feature, Centring::None).unwrap_err().to_string();
        for word in [name, "sin-indicator", &format!("x{}", feature + 1), "ale-limit of x1"] {
            assert!(error.contains(word), "{error}");
        }
    }
    let error = ask(&at("poly3", ""), "ale-limit", 0, Centring::None).unwrap_err();
    assert!(matches!(error, Error::NoSuchLimit { .. }) && error.to_string().contains("none"));
    let error = ask(&scenario, "mu-limit", 0, Centring::Integral).unwrap_err();
    assert!(matches!(error, Error::NotCentrable { .. }), "{error}");
    let missing = scenario.limit("ale-limit", 3, &[0.2], (-0.5, 0.5), Centring::None);
    assert!(matches!(missing, Err(Error::NoSuchFeature { .. })));
    let outside = scenario.limit("ale-limit", 0, &[0.6], (-0.5, 0.5), Centring::None);
    assert!(matches!(outside, Err(Error::OutsideSupport { .. })));
}

#[test]
fn points_of_shapley_values() {
    let scenario = at("goldstein", "");
    let short = scenario.shap_at(&[0.1, 0.2]).unwrap_err();
    assert!(matches!(short, Error::WrongDimension { given: 2, dimension: 3 }), "{short}");
    for outside in [1.5, f64::NAN, f64::INFINITY] {
        let error = scenario.shap_at(&[0.1, outside, 0.0]).unwrap_err();
        assert!(matches!(error, Error::OutsideSupport { .. }), "{error}");
    }
}

#[test]
fn correlations_of_a_copula() {
    let set = |rho: &str, noise: &str| {
        let set = [("rho", rho), ("noise_features", noise)].map(|(k, v)| (k.into(), v.into()));
        fe_truth::scenario("friedman1-copula", &set).map(|_| ())
    };
    assert!(set("-0.24", "0").is_ok() && set("0.999", "3").is_ok());
    for (rho, noise) in [("-0.25", "0"), ("-0.2", "1"), ("1", "0"), ("x", "0")] {
        let error = set(rho, noise).unwrap_err();
        assert!(matches!(error, Error::BadParameter { name: "rho", .. }), "{error}");
    }
}
