//! The integration of each term of a function, in words.

use crate::function::Term;
use crate::scenario::Scenario;

impl Scenario {
    /// One line for each term of f that reads one of some features, counted from 0: what it reads, and
    /// how it is taken apart, averaged and broken. Closed forms, where there are any, come before that.
    ///
    /// ```
    /// let text = "f = \"x1*x2 + abs(x3)\"\n[law]\nx1 = \"normal(0, 1)\"\nx2 = \"gamma(2, 1)\"\n\
    ///             x3 = \"x1 + normal(0, 1)\"\n";
    /// let scenario = fe_truth::problem("mine", text, &[]).unwrap();
    /// assert_eq!(
    ///     scenario.explain(&[2]),
    ///     ["term 2 reads x3, which depends on x1: breaks along x3 at 0; an integral over x3"]
    /// );
    /// ```
    #[must_use]
    pub fn explain(&self, features: &[usize]) -> Vec<String> {
        let terms = self.parts.engine.terms.iter().enumerate();
        let asked = terms.filter(|(_, term)| features.iter().any(|&feature| term.reads(feature)));
        asked.map(|(number, term)| self.explained(number + 1, term)).collect()
    }

    fn named(&self, features: &[usize]) -> String {
        let names: Vec<String> = features.iter().map(|&s| self.feature_name(s)).collect();
        names.join(", ")
    }

    fn explained(&self, number: usize, term: &Term) -> String {
        let read = term.features();
        let law = self.parts.engine.law();
        let depends = (0..self.dimension())
            .filter(|&other| !read.contains(&other) && read.iter().any(|&s| law.related(s, other)));
        let depends: Vec<usize> = depends.collect();
        let mut line = format!("term {number} reads {}", self.named(read));
        if !depends.is_empty() {
            let which = if read.len() == 1 { "which depends" } else { "which depend" };
            line += &format!(", {which} on {}", self.named(&depends));
        }
        let mut said = Vec::new();
        let unknown = vec![f64::NAN; self.dimension()];
        for &s in read {
            let mut places = Vec::new();
            term.corners(s, &unknown, &mut places);
            places.retain(|place| place.is_finite());
            places.sort_by(f64::total_cmp);
            let shown: Vec<String> = places.iter().take(5).map(f64::to_string).collect();
            if !shown.is_empty() {
                let more = if places.len() > 5 { ", …" } else { "" };
                said.push(format!(
                    "breaks along {} at {}{more}",
                    self.feature_name(s),
                    shown.join(", ")
                ));
            }
        }
        for of in term.lines() {
            let sum: Vec<String> =
                of.weights.iter().map(|&(s, w)| format!("{w}·{}", self.feature_name(s))).collect();
            let how = if of.is_smooth { "is narrow beside" } else { "breaks across" };
            said.push(format!("{how} {} = {}", sum.join(" + "), of.level));
        }
        for surface in term.moving() {
            said.push(format!("may jump where {} meet a surface", self.named(&surface.features)));
        }
        let simulated = |&&s: &&usize| self.parts.engine.margin(s).is_simulated();
        let simulated: Vec<usize> = read.iter().filter(simulated).copied().collect();
        if !simulated.is_empty() {
            said.push(format!("the law of {} on its own is simulated", self.named(&simulated)));
        }
        said.push(self.integrals(term));
        format!("{line}: {}", said.join("; "))
    }

    fn integrals(&self, term: &Term) -> String {
        if term.factors().len() > 1 {
            let each: Vec<String> = term
                .factors()
                .iter()
                .map(|factor| format!("({})", self.named(factor.features())))
                .collect();
            return format!("factor by factor where these are independent: {}", each.join(" "));
        }
        let (affine, other): (Vec<usize>, Vec<usize>) =
            term.features().iter().partition(|&&s| self.is_independent(s) && term.is_affine_in(s));
        let mut ways = Vec::new();
        if !other.is_empty() {
            ways.push(format!("an integral over {}", self.named(&other)));
        }
        if !affine.is_empty() {
            ways.push(format!("two moments of {}", self.named(&affine)));
        }
        if ways.is_empty() { "constant".to_owned() } else { ways.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    fn explained(f: &str) -> String {
        let laws: String = (1..=2).map(|i| format!("x{i} = \"uniform(0, 1)\"\n")).collect();
        let text = format!("f = \"{f}\"\n[law]\n{laws}");
        crate::problem::problem("mine", &text, &[]).unwrap().explain(&[0]).join("\n")
    }

    #[test]
    fn integrals_are_told_in_words() {
        for (f, known) in [
            ("abs(x1 - 0.5) + x2", "term 1 reads x1: breaks along x1 at 0.5; an integral over x1"),
            ("3*x1 + x2", "term 1 reads x1: two moments of x1"),
            (
                "max(x1 + 2*x2 - 0.5, 0)",
                "term 1 reads x1, x2: breaks across 1·x1 + 2·x2 = 0.5; an integral over x1, x2",
            ),
            (
                "sin(x1)*x2",
                "term 1 reads x1, x2: factor by factor where these are independent: (x1) (x2)",
            ),
        ] {
            assert_eq!(explained(f), known);
        }
    }

    #[test]
    fn five_places_are_named_and_more_are_not() {
        let four = explained("floor(4*x1)");
        assert!(four.contains("breaks along x1 at 0, 0.25, 0.5, 0.75, 1;"), "{four}");
        let five = explained("floor(5*x1)");
        assert!(five.contains("0.8, …;"), "{five}");
    }
}
