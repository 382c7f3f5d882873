//! Problem files that say something wrong: each is refused with the line and the column of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::RefCell;

use fe_truth::{Error, problem};

thread_local! {
    /// What was not refused as it must be.
    static WRONG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes a text that is not refused at the place that is marked with `¦`, with a message that holds
/// some words.
fn refused(marked: &str, words: &str) {
    let before = marked.split('¦').next().unwrap();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
    let text = marked.replace('¦', "");
    let found = problem("bad", &text, &[]).map(|scenario| scenario.id());
    let as_it_must = matches!(&found, Err(Error::BadProblem { line: l, column: c, message, .. })
        if (*l, *c) == (line, column) && message.contains(words));
    if !as_it_must {
        let shown: String = marked.chars().take(400).collect();
        let said = format!("at {line}:{column} `{words}`:\n{shown}\n{found:?}\n");
        WRONG.with_borrow_mut(|wrong| wrong.push(said));
    }
}

/// That all were refused as they must be.
fn all_refused() {
    let wrong = WRONG.take();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// A function of three features.
fn f(marked: &str, words: &str) {
    refused(
        &format!(
            "f = \"{marked}\"\n[parameters]\nc = 0.5\n[law]\nx1 = \"uniform(0, 1)\"\n\
             temp = \"normal(0, 1)\"\nx3 = \"temp + normal(0, 1)\"\n"
        ),
        words,
    );
}

/// The law of a third feature, after one on [0, 1] and a normal one.
fn law(marked: &str, words: &str) {
    refused(
        &format!(
            "f = \"x1\"\n[parameters]\nc = 0.5\n[law]\nx1 = \"uniform(0, 1)\"\n\
             temp = \"normal(0, 1)\"\nx3 = \"{marked}\"\nlast = \"normal(0, 1)\"\n"
        ),
        words,
    );
}

/// Keys around a function of two features.
fn keys(marked: &str, words: &str) {
    refused(marked, words);
}

#[test]
fn expressions() {
    f("¦", "expected a number, a name or `(`, found the end");
    f("x1 + ¦", "found the end");
    f("x1 + ¦* 2", "found `*`");
    f("x1 ¦temp", "expected an operator or the end, found `temp`");
    f("(x1 + temp¦", "expected an operator or `)`, found the end");
    f("x1 + temp¦)", "found `)`");
    f("((x1)¦", "found the end");
    f("sin(x1¦", "found the end");
    f("sin(¦)", "found `)`");
    f("sin(x1, ¦)", "found `)`");
    f("¦x2", "unknown name `x2`");
    f("x1 + ¦tmep", "nearest: `temp`");
    f("¦X1", "nearest: `x1`");
    f("¦sine(x1)", "nearest: `sin`");
    f("¦log(x1)", "unknown function `log`");
    f("¦pow(x1, 2)", "unknown function `pow`");
    f("¦temp(2)", "is not a function");
    f("¦c(2)", "is not a function");
    f("¦sin", "needs arguments");
    f("¦sin(x1, temp)", "takes 1 argument, not 2");
    f("¦atan2(x1)", "takes 2 arguments");
    f("¦min(x1)", "takes 2 arguments or more");
    f("¦if(x1 < 0, 1)", "takes 3 arguments");
    f("if(¦x1, 1, 2)", "expected a condition");
    f("if(¦1, 1, 2)", "expected a condition");
    f("if(x1 < 0, ¦x1 < 1, 2)", "expected a number, found a condition");
    f("x1*¦(temp > 0)", "expected a number, found a condition");
    f("¦x1 < 1", "expected a number, found a condition");
    f("if(0 < x1 ¦< 1, 1, 2)", "not chained");
    f("if(x1 < 1 and ¦temp, 1, 2)", "expected a condition");
    f("if(not ¦x1, 1, 2)", "expected a condition");
    f("if(x1 ¦= 1, 1, 2)", "equality is `==`");
    f("if(x1 < 0 ¦&& temp < 0, 1, 2)", "written `and`");
    f("if(x1 < 0 ¦|| temp < 0, 1, 2)", "written `or`");
    f("if(¦!x1, 1, 2)", "written `not`");
    f("¦|x1|", "absolute value");
    f("x1 ¦% 2", "`%` is no part");
    f("x1 + ¦2x3", "a product is written `*`");
    f("x1 + ¦1e400", "too large");
    f("x1 + ¦.", "not a number");
    f("x1 ¦; temp", "`;` is no part");
    f("x1¦² + 1", "`²` is no part");
    f("x1 + ¦[2]", "parentheses are");
    f("x1/¦0", "division by 0");
    f("x1/¦(c - 0.5)", "division by 0");
    f("x1 + ¦ln(0)", "not a real number");
    f("x1*¦sqrt(-1)", "not a real number");
    f("x1 + ¦(-8)^(1/3)", "not a real number");
    f("x1 + ¦asin(2)", "not a real number");
    f("x1*¦exp(1e9)", "not a real number");
    f("x1 + ¦normal(0, 1)", "is a law");
    f("level(¦x1, a: 1)", "`x1` has no levels with names");
    f("level(¦c, a: 1)", "`c` is a parameter");
    f("level(¦tmep, a: 1)", "nearest: `temp`");
    f("level(¦2, a: 1)", "expected a feature with levels");
    f("¦ln(temp)", "f is NaN at x1 = ");
    f("¦floor(1e9*x1)", "more than 1000 values");
    all_refused();
}

#[test]
fn nesting_and_length() {
    let deep = |open: &str, close: &str, n: usize| open.repeat(n) + "x1" + &close.repeat(n);
    let marked = |depth: usize, open: &str| {
        let text = deep(open, if open.ends_with('(') { ")" } else { "" }, 10_000);
        let at = depth * open.len();
        format!("{}¦{}", &text[..at], &text[at..])
    };
    f(&marked(101, "("), "nested too deep");
    f(&marked(101, "-"), "nested too deep");
    f(&marked(101, "sin("), "nested too deep");
    f(&format!("¦x1{}", "/x1".repeat(10_000)), "nested too deep");
    let long = format!("x1{}", "+x1".repeat(10_000));
    let text = format!("f = \"{long}\"\n[law]\nx1 = \"uniform(0, 1)\"\n");
    assert!((problem("long", &text, &[]).unwrap().mean().unwrap().value - 5000.5).abs() < 1e-6);
    let brackets = format!("f = \"x1\"\nhidden = {}", "[".repeat(10_000));
    assert!(matches!(problem("bad", &brackets, &[]), Err(Error::BadProblem { line: 2, .. })));
    all_refused();
}

#[test]
fn laws() {
    law("¦", "expected a number, a name or `(`, found the end");
    law("¦3", "expected a law");
    law("¦temp + 1", "expected a law");
    law("¦norml(0, 1)", "nearest: `normal`");
    law("¦normal", "needs arguments");
    law("¦normal(0)", "`normal` takes (mean, sd), and has 1");
    law("¦normal(0, 1, 2)", "has 3");
    law("¦uniform()", "takes (lo, hi), and has 0");
    law("normal(0, 1¦", "expected an operator, `,` or `)`, found the end");
    law("normal(0, 1)¦)", "expected `+`, `-` or the end");
    law("normal(0, 1)¦*2", "not multiplied");
    law("2*¦normal(0, 1)", "is a law");
    law("normal(0, 1) + ¦normal(0, 1)", "this is the second");
    law("temp - ¦normal(0, 1)", "cannot be subtracted");
    law("normal(¦last, 1)", "earlier features only");
    law("normal(¦x3, 1)", "earlier features only");
    law("normal(¦tmp, 1)", "nearest: `temp`");
    law("¦normal(0, 0)", "`sd` of `normal` is 0, and must be above 0");
    law("¦normal(0, -1)", "must be above 0");
    law("¦normal(0, c - 1)", "`sd` of `normal` is -0.5");
    law("¦normal(0, x1 - 0.5)", "`sd` of `normal` is -0.4");
    law("¦normal(0, 1 + temp/5)", "at temp = ");
    law("¦uniform(1, 1)", "not above it");
    law("¦uniform(x1, 0.5)", "not above it at x1 = ");
    law("¦loguniform(0, 1)", "`lo` of `loguniform` is 0");
    law("¦loguniform(1e300, 1.0000000000000002e300)", "have the same logarithm");
    law("¦exponential(-2)", "`rate` of `exponential` is -2");
    law("¦gamma(0, 1)", "`shape` of `gamma`");
    law("¦gamma(1, temp)", "`scale` of `gamma`");
    law("¦beta(2, 0)", "`b` of `beta`");
    law("¦triangular(0, 2, 1)", "`mode` of `triangular` is 2, and `hi` 1");
    law("¦weibull(-1, 1)", "`shape` of `weibull`");
    law("¦gumbel(0, 0)", "`scale` of `gumbel`");
    law("¦student(1)", "a mean for df above 1 only");
    law("¦truncated(normal(0, 1), 2, 1)", "no interval");
    law("¦truncated(normal(0, 1), 30, 40)", "probability");
    law("¦truncated(uniform(0, 1), 2, 3)", "probability");
    law("truncated(¦x1, 0, 1)", "unknown law `x1`");
    law("truncated(normal(0, 1)¦)", "expected `,` and the ends");
    law("mixture(0.5 ¦normal(0, 1))", "or `:` and a law");
    law("¦mixture(0.5: normal(0, 1), 0.4: normal(1, 1))", "sum to 0.9, not to 1");
    law("¦mixture(1.5: normal(0, 1), -0.5: normal(1, 1))", "must not be negative");
    law("¦mixture(x1: normal(0, 1), 0.5: normal(1, 1))", "not to 1 at x1 = ");
    law("mixture(0.5: ¦normel(0, 1))", "nearest: `normal`");
    law("¦bernoulli(1.5)", "`p` of `bernoulli` is 1.5: must be a number from 0 to 1");
    law("¦bernoulli()", "`bernoulli` takes (p), and has 0");
    law("¦bernoulli(2*x1)", "must be a number from 0 to 1 at x1 = ");
    law("¦binomial(2.5, 0.5)", "`n` of `binomial` is 2.5: must be a whole number");
    law("¦binomial(3, -1)", "`p` of `binomial` is -1");
    law("¦poisson(0)", "`mean` of `poisson` is 0: must be above 0");
    law("¦poisson(temp)", "`mean` of `poisson`");
    law("¦poisson(1e9)", "at most 10000");
    law("¦categorical(a: 0.3, b: 0.8)", "sum to 1.1, not to 1");
    law("¦categorical(a: -0.5, b: 1.5)", "must not be negative");
    law("¦categorical(a: x1, b: 0.5)", "not to 1 at x1 = ");
    law("categorical(a: 0.5, ¦a: 0.5)", "the level `a` is given twice");
    law("categorical(a ¦0.5)", "`:` and a probability");
    law("categorical(¦)", "expected the name of a level");
    law("¦categorical(1: 0.5, a: 0.5)", "all words or all numbers");
    law("¦categorical(2: 0.5, 1: 0.5)", "in ascending order");
    law("truncated(¦poisson(3), 0, 2)", "cannot be truncated or mixed");
    law("mixture(0.5: ¦bernoulli(0.5), 0.5: normal(0, 1))", "cannot be truncated or mixed");
    law("¦temp + poisson(3)", "nothing is added to a law of levels");
    law("normal(¦ln(0), 1)", "not a real number");
    law("normal(1/¦0, 1)", "division by 0");
    let mixtures = "mixture(1: ".repeat(10_000);
    let at = 101 * "mixture(1: ".len();
    law(&format!("{}¦{}", &mixtures[..at], &mixtures[at..]), "nested too deep");
    all_refused();
}

/// A function of a feature whose levels are words, and one with counts.
fn of_levels(marked: &str, words: &str) {
    refused(
        &format!(
            "f = \"{marked}\"\n[law]\nseason = \"categorical(winter: 0.3, summer: 0.7)\"\n\
             calls = \"poisson(3)\"\n"
        ),
        words,
    );
}

#[test]
fn levels() {
    of_levels("¦season + 1", "the levels of `season` are words");
    of_levels("if(¦season == 1, 0, 1)", "`level(season, …)` gives each a value");
    of_levels("¦level(season, winter: 1)", "no value for `summer` of `season`");
    of_levels("level(season, winter: 1, ¦sumer: 2)", "no level `sumer` (nearest: `summer`)");
    of_levels("level(season, winter: 1, ¦winter: 2)", "given twice");
    of_levels("level(season, winter ¦1)", "`:` and the value");
    of_levels("level(season, winter: ¦calls > 1, summer: 1)", "found a condition");
    of_levels("level(¦calls, 0: 1)", "`calls` has no levels with names");
    of_levels("level(season, ¦", "expected the name of a level");
    keys(
        "f = \"calls\"\n[law]\ncalls = \"poisson(3)\"\nx2 = \"normal(0, 1)\"\n[copula]\n\
         gaussian = [[¦\"calls\", \"x2\", 0.5]]\n",
        "`calls` has levels",
    );
    all_refused();
}

const LAW: &str = "\n[law]\nx1 = \"uniform(0, 1)\"\nx2 = \"uniform(0, 1)\"\n";

#[test]
fn files() {
    keys("¦", "there is no `f`");
    keys("¦[law]\nx1 = \"uniform(0, 1)\"\n", "there is no `f`");
    keys("¦f = \"1\"\n", "there is no [law]");
    keys("f = \"1\"\n¦[law]\n".replace("¦[law]", "[¦law]").as_str(), "there is no [law]");
    keys(
        &format!("f = \"x1\"\n¦abuot = \"x\"{LAW}"),
        "unknown key `abuot` in the file (nearest: `about`)",
    );
    keys(&format!("f = ¦[1]{LAW}"), "must be a text or a number");
    keys(&format!("f = \"x1\"\nabout = ¦3{LAW}"), "`about` must be a text");
    keys(&format!("f = \"x1\"\nsource = ¦3{LAW}"), "`source` must be a text");
    let published = |text: &str| format!("f = \"x1\"{LAW}[[published]]\n{text}\n");
    keys(&published("¦mean = 1"), "has no `by`");
    keys(&published("by = \"me\"\n¦median = 1"), "unknown key `median`");
    keys(&published("by = \"me\"\nmean = ¦[1, 2, 3]"), "the printed one and the right one");
    keys(&published("by = \"me\"\nmean = \"¦c\""), "unknown name `c`");
    keys(&published("by = \"me\"\nmean = \"1/¦0\""), "division by 0");
    keys(&published("by = \"me\"\nsobol = { ¦x4 = 0.1 }"), "`x4` is no feature");
    keys(&published("by = \"me\"\nf = [{ at = [1], value = ¦2 }]"), "there are 2 features");
    keys(&published("by = \"me\"\nf = [{ ¦at = [1] }]"), "a list such as");
    keys(&format!("f = \"x1\"\nversion = ¦0{LAW}"), "`version` must be a whole number");
    keys(&format!("f = \"x1\"\nversion = ¦\"two\"{LAW}"), "`version` must be a number");
    keys(&format!("f = \"x1\"\n¦f = \"x2\"{LAW}"), "duplicate key");
    keys(&format!("f = \"x1\"{LAW}¦x1 = \"normal(0, 1)\"\n"), "duplicate key");
    keys(&format!("f = \"x1\"{LAW}¦1st = \"normal(0, 1)\"\n"), "cannot name a feature");
    keys(&format!("f = \"x1\"{LAW}¦\"a b\" = \"normal(0, 1)\"\n"), "cannot name a feature");
    keys(&format!("f = \"x1\"{LAW}¦sin = \"normal(0, 1)\"\n"), "the language has it already");
    keys(&format!("f = \"x1\"{LAW}¦e = \"normal(0, 1)\"\n"), "the language has it already");
    keys(&format!("f = \"x1\"{LAW}¦x5 = \"normal(0, 1)\"\n"), "`x5` stands in place 3");
    keys(&format!("f = \"x1\"{LAW}a = ¦true\n"), "must be a text or a number");
    keys(&format!("f = \"x1\"\nhidden = [¦\"u\"]{LAW}"), "which is no feature");
    keys(&format!("f = \"¦u\"\nhidden = [\"u\"]{LAW}u = \"normal(0, 1)\"\n"), "is hidden");
    keys("f = \"1\"\nhidden = [¦\"u\"]\n[law]\nu = \"normal(0, 1)\"\n", "all features are hidden");
    keys(&format!("f = \"x1\"\n[parameters]\nc = ¦\"1\"{LAW}"), "must be a number");
    keys(&format!("f = \"x1\"\n[parameters]\nc = ¦inf{LAW}"), "must be a finite number");
    keys(&format!("f = \"x1\"\n[parameters]\n¦c = {{ from = 1 }}{LAW}"), "has no `default`");
    keys(
        &format!("f = \"x1\"\n[parameters]\n¦c = {{ default = 2, to = 1 }}{LAW}"),
        "outside of its range",
    );
    keys(
        &format!("f = \"x1\"\n[parameters]\n¦c = {{ default = 2, from = 3 }}{LAW}"),
        "outside of its range",
    );
    for range in ["from = 2", "to = 2", "from = 2, to = 2", "from = 1, to = 3"] {
        let text = format!("f = \"x1\"\n[parameters]\nc = {{ default = 2, {range} }}{LAW}");
        assert_eq!(problem("good", &text, &[]).unwrap().parameters(), "c=2", "{range}");
    }
    keys(&format!("f = \"x1\"\n[parameters]\nc = ¦0x10{LAW}"), "must be a number");
    keys(
        &format!("f = \"x1\"\n[parameters]\nc = {{ default = 2, ¦max = 1 }}{LAW}"),
        "unknown key `max`",
    );
    keys(
        &format!("f = \"x1\"\n[parameters]\nx1 = 2{}", LAW.replace("x1 =", "¦x1 =")),
        "is a parameter already",
    );
    keys(
        &format!("f = \"x1\"{LAW}[axis]\n¦x3 = [0, 1]\n"),
        "[axis] names `x3`, which is no feature",
    );
    keys(&format!("f = \"x1\"{LAW}[axis]\nx2 = [¦0, 2]\n"), "inside the support [0, 1]");
    keys(&format!("f = \"x1\"{LAW}[axis]\nx2 = [¦1, 0]\n"), "must be ascending");
    keys(&format!("f = \"x1\"{LAW}[axis]\nx2 = [¦0.5, 0.5]\n"), "must be ascending");
    keys(&format!("f = \"x1\"{LAW}[axis]\nx2 = ¦[1]\n"), "must be [lo, hi]");
    // Forms of TOML itself.
    keys(&format!("f = ¦x1{LAW}"), "");
    assert!(matches!(problem("bad", "f = \"x1", &[]), Err(Error::BadProblem { line: 1, .. })));
    let many: String = (1..=10_000).map(|i| format!("x{i} = \"uniform(0, 1)\"\n")).collect();
    let many = many.replace("x1001 =", "¦x1001 =");
    keys(&format!("f = \"x1\"\n[law]\n{many}"), "10000 features: there may be 1000 at most");
    let most = many.split('¦').next().unwrap();
    let text = format!("f = \"x1\"\n[law]\n{most}");
    assert_eq!(problem("good", &text, &[]).unwrap().dimension(), 1000);
    all_refused();
}

#[test]
fn copulas() {
    let joined = |marked: &str, words: &str| {
        keys(
            &format!(
                "f = \"x1\"\nhidden = [\"u\"]{LAW}x3 = \"normal(0, 1)\"\na = \"x3 + normal(0, 1)\"\n\
                 u = \"normal(0, 1)\"\nb = \"u + normal(0, 1)\"\n[copula]\n{marked}\n"
            ),
            words,
        );
    };
    joined("¦clayton = []", "unknown key `clayton`");
    joined("gaussian = ¦0.5", "must be a list");
    joined("gaussian = [¦[\"x1\", \"x2\"]]", "two features and their correlation");
    joined("gaussian = [[\"x1\", ¦\"x9\", 0.5]]", "`x9` is no feature");
    joined("gaussian = [¦[\"x1\", \"x1\", 0.5]]", "joined with itself");
    joined("gaussian = [[\"x1\", \"x2\", 0.5], ¦[\"x2\", \"x1\", 0.4]]", "given twice");
    joined("gaussian = [[\"x1\", \"x2\", ¦1.2]]", "strictly between -1 and 1");
    joined("gaussian = [[\"x1\", \"x2\", ¦1]]", "strictly between -1 and 1");
    joined("gaussian = [[\"x1\", \"x2\", \"¦rho\"]]", "unknown name `rho`");
    joined("gaussian = [[\"x1\", ¦\"a\", 0.5]]", "reads other features");
    joined("gaussian = [[\"x1\", ¦\"x3\", 0.5]]", "cannot be read by the law of another");
    joined("gaussian = [[\"x1\", ¦\"u\", 0.5]]", "is hidden");
    keys(
        &format!(
            "f = \"x1\"{LAW}x3 = \"normal(0, 1)\"\n[copula]\n\
             gaussian = [¦[\"x1\", \"x2\", 0.9], [\"x2\", \"x3\", 0.9], [\"x1\", \"x3\", -0.9]]\n"
        ),
        "the nearest that is has [[\"x1\", \"x2\", 0.49",
    );
    all_refused();
}

#[test]
fn names_of_files() {
    for name in ["", "a@b", "a,b", "a;b", "a=b"] {
        let error = problem(name, "f = \"1\"", &[]).map(|scenario| scenario.id()).unwrap_err();
        assert!(matches!(error, Error::BadProblemName { .. }), "{error}");
    }
}

/// Features that a law reads are integrated over where nothing is known of them; three with tails that are powers are too
/// many.
#[test]
fn laws_of_many_unknown_features_with_heavy_tails() {
    let text = |count: usize, law: &str, last: &str| {
        let laws = (1..=count).map(|i| format!("x{i} = \"{law}\"\n")).collect::<String>();
        let product: Vec<String> = (1..=count).map(|i| format!("x{i}")).collect();
        let last = format!("last = \"{last}normal({}, 1)\"\n", product.join("*"));
        format!("f = \"x1\"\n[law]\n{laws}{last}")
    };
    refused(&text(3, "student(5)", "¦"), "the law of `last` on its own is simulated");
    all_refused();
    // Nearly symmetric about its mean, 1.5 to the power of their number.
    for (count, mean) in [(2, 2.25), (3, 3.375), (4, 5.0625)] {
        let good = problem("good", &text(count, "uniform(1, 2)", ""), &[]).unwrap();
        let median = good.quantile(count, 0.5).unwrap();
        assert!((median - mean).abs() < 0.1 * mean, "{median}");
    }
}
