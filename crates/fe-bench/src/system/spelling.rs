//! British and American spellings: either finds what is called by the other.

/// Parts of words in both spellings, the British one first.
const SPELLINGS: [(&str, &str); 6] = [
    ("centring", "centering"),
    ("centre", "center"),
    ("colour", "color"),
    ("neighbour", "neighbor"),
    ("standardise", "standardize"),
    ("normalise", "normalize"),
];

/// The word in the other spelling; none if both are the same.
///
/// ```
/// use fe_bench::system::spelling::otherwise;
/// assert_eq!(otherwise("center_rule").as_deref(), Some("centre_rule"));
/// assert_eq!(otherwise("centre").as_deref(), Some("center"));
/// assert_eq!(otherwise("bins"), None);
/// ```
#[must_use]
pub fn otherwise(word: &str) -> Option<String> {
    let turned = |(british, american): &(&str, &str)| {
        if word.contains(british) {
            Some(word.replace(british, american))
        } else {
            word.contains(american).then(|| word.replace(american, british))
        }
    };
    SPELLINGS.iter().find_map(turned)
}
