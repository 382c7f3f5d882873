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
            term.breaks(s, &unknown, &mut places);
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
            said.push(format!("breaks across {} = {}", sum.join(" + "), of.level));
        }
        for surface in term.moving() {
            said.push(format!("may jump where {} meet a surface", self.named(&surface.features)));
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
