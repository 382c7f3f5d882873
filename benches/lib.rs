//! Criterion benches of the estimators; run them with `cargo bench`.
