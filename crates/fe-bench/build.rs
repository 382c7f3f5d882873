//! Notes down which compiler and which commit the program is built from, for the manifest.

use std::path::PathBuf;
use std::process::Command;

/// Facts about the build of the program.
const SOURCES: [&str; 5] =
    ["../../Cargo.lock", "../../Cargo.toml", "../fe-core/src", "../fe-truth/src", "src"];

fn main() {
    // The log of commits, wherever the repository keeps it, and all that may differ from the last one.
    println!("cargo:rerun-if-changed={}", answer("git", &["rev-parse", "--git-path", "logs/HEAD"]));
    for place in SOURCES {
        println!("cargo:rerun-if-changed={place}");
    }
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    println!("cargo:rustc-env=FE_BENCH_RUSTC={}", answer(&rustc, &["--version"]));
    println!("cargo:rustc-env=FE_BENCH_COMMIT={}", answer("git", &["rev-parse", "HEAD"]));
    let changed = answer("git", &[&["status", "--porcelain", "--"][..], &SOURCES].concat());
    let dirty = match changed.as_str() {
        "unknown" => "unknown",
        "" => "false",
        _ => "true",
    };
    println!("cargo:rustc-env=FE_BENCH_DIRTY={dirty}");
    println!("cargo:rustc-env=FE_BENCH_VERSION={}", version(dirty));
    println!("cargo:rustc-env=FE_BENCH_LOCK={}", lock_file().display());
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo:rustc-env=FE_BENCH_PROFILE={profile}");
}

/// The version with the commit, where there is one.
fn version(dirty: &str) -> String {
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = answer("git", &["rev-parse", "--short=12", "HEAD"]);
    match (commit.as_str(), dirty) {
        ("unknown", _) => version,
        (commit, "true") => format!("{version} (commit {commit}, with changes)"),
        (commit, _) => format!("{version} (commit {commit})"),
    }
}

/// The lock file: that of the workspace, or the one that a published package brings along.
fn lock_file() -> PathBuf {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let of_workspace = folder.join("../../Cargo.lock");
    if of_workspace.exists() { of_workspace } else { folder.join("Cargo.lock") }
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
