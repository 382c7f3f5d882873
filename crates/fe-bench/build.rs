//! Notes down which compiler and which commit the program is built from, for the manifest.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    println!("cargo:rustc-env=FE_BENCH_RUSTC={}", answer(&rustc, &["--version"]));
    println!("cargo:rustc-env=FE_BENCH_COMMIT={}", answer("git", &["rev-parse", "HEAD"]));
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo:rustc-env=FE_BENCH_PROFILE={profile}");
}

fn answer(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".to_owned(),
    }
}
