//! Imports of a crate, read from its source files, and whether they all point one way; and files of tests that are not run.
//!
//! To use it from a test of another crate: `#[path = "../../fe-core/tests/support/layers.rs"] mod imports;`, then
//! hold `imports::arrows(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")))` against the crate's own order
//! with [`pointing_up`] and against itself with [`rings`]; both give a line per offence.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// An import of one module by another, each by its path below the crate, such as `numeric::axis`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow {
    /// The module that imports.
    pub from: String,
    /// The module in which what is imported is defined.
    pub to: String,
}

/// All imports among the modules of a crate, by `use` or by a path; what tests beside the code import is left
/// out. What a module hands on with `pub use` counts as an import of where it comes from.
pub fn arrows(src: &Path) -> Vec<Arrow> {
    let sources: BTreeMap<String, String> =
        files(src).into_iter().map(|file| (module_of(src, &file), code_of(&file))).collect();
    let handed_on: BTreeMap<&String, Vec<Vec<String>>> =
        sources.iter().map(|(module, code)| (module, imports(code, module, true))).collect();
    let mut arrows = BTreeSet::new();
    for (module, code) in sources.iter().filter(|(module, _)| !module.is_empty()) {
        for path in imports(code, module, false) {
            let to = resolve(&path, &sources, &handed_on);
            if !to.is_empty() && to != *module {
                arrows.insert(Arrow { from: module.clone(), to });
            }
        }
    }
    arrows.into_iter().collect()
}

/// Imports that do not point down an order of the modules at the top of the crate. It begins with what all may
/// import; modules of one step do not know each other, and every module has its step.
pub fn pointing_up(arrows: &[Arrow], order: &[&[&str]]) -> Vec<String> {
    let step = |module: &str| {
        let top = top_of(module);
        order.iter().position(|step| step.contains(&top))
    };
    let points_down = |arrow: &&Arrow| {
        top_of(&arrow.from) == top_of(&arrow.to)
            || matches!((step(&arrow.from), step(&arrow.to)), (Some(from), Some(to)) if from > to)
    };
    let up = arrows.iter().filter(|arrow| !points_down(arrow));
    up.map(|arrow| format!("{} imports {}", arrow.from, arrow.to)).collect()
}

/// Rings of imports among modules of one folder, with all that is below them. A folder's `mod.rs` holds what its
/// files have in common and the list of them: imports between the two are no ring.
pub fn rings(arrows: &[Arrow]) -> Vec<String> {
    let mut beside: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for Arrow { from, to } in arrows {
        let (from, to): (Vec<&str>, Vec<&str>) =
            (from.split("::").collect(), to.split("::").collect());
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if common < from.len() && common < to.len() {
            let pair = (from[common].to_owned(), to[common].to_owned());
            beside.entry(from[..common].join("::")).or_default().insert(pair);
        }
    }
    beside.iter().filter_map(|(folder, edges)| ring_among(folder, edges)).collect()
}

/// The modules of a folder that are left when those that import none of the others are taken away, again and
/// again: they are in a ring, or import one.
fn ring_among(folder: &str, edges: &BTreeSet<(String, String)>) -> Option<String> {
    let mut left = edges.clone();
    loop {
        let importing: BTreeSet<String> = left.iter().map(|(from, _)| from.clone()).collect();
        let imported: BTreeSet<String> = left.iter().map(|(_, to)| to.clone()).collect();
        let known = left.len();
        left.retain(|(from, to)| importing.contains(to) && imported.contains(from));
        if left.is_empty() {
            return None;
        }
        if left.len() == known {
            let edges: Vec<String> = left.iter().map(|(a, b)| format!("{a} → {b}")).collect();
            return Some(format!("in `{folder}`: {}", edges.join(", ")));
        }
    }
}

fn top_of(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

/// All source files of a folder and of those in it.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The path of a file's module below the crate; nothing for the crate itself.
fn module_of(src: &Path, file: &Path) -> String {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    let mut parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
    if matches!(*parts, [.., "mod"] | ["lib" | "main"]) {
        parts.pop();
    }
    parts.join("::")
}

/// The code of a file without comments, and without its tests, which come last.
fn code_of(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The paths that a module imports from its crate, or hands on with `pub use`, from the crate's top.
fn imports(code: &str, module: &str, handed_on: bool) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut rest = String::new();
    for statement in code.split_inclusive(';') {
        let Some(at) = find_use(statement) else {
            rest.push_str(statement);
            continue;
        };
        rest.push_str(&statement[..at]);
        let is_public = statement[..at].trim_end().ends_with("pub")
            || statement[..at].trim_end().ends_with("pub(crate)");
        if is_public || !handed_on {
            flatten(statement[at + 4..].trim_end_matches(';'), &[], &mut all);
        }
    }
    if !handed_on {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for word in rest.split(|c| !is_path(c)) {
            if ["crate::", "super::", "self::"].iter().any(|start| word.starts_with(start)) {
                all.push(word.split("::").map(str::to_owned).collect());
            }
        }
    }
    all.into_iter().map(|path| from_the_top(&path, module)).collect()
}

/// Where the keyword `use` begins in a statement that imports.
fn find_use(statement: &str) -> Option<usize> {
    let starts = |at: &usize| {
        let before = statement[..*at].trim_end_matches([' ', '\t']);
        before.is_empty()
            || before.ends_with(['\n', '}', '{', ']', ';'])
            || before.ends_with("pub")
            || before.ends_with(')')
    };
    statement.match_indices("use ").map(|(at, _)| at).find(starts)
}

/// The paths of an import such as `a::{b, c::{d, self}}`.
fn flatten(tree: &str, above: &[String], all: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let (path, inner) = match tree.split_once('{') {
        Some((path, inner)) => (path, inner.strip_suffix('}')),
        None => (tree, None),
    };
    let name = path.split(" as ").next().unwrap_or_default();
    let parts = name.split("::").map(str::trim).filter(|part| !part.is_empty());
    let path: Vec<String> = above.iter().cloned().chain(parts.map(str::to_owned)).collect();
    let Some(inner) = inner else {
        all.push(path);
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[start..at].trim().is_empty() {
                    flatten(&inner[start..at], &path, all);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

fn from_the_top(path: &[String], module: &str) -> Vec<String> {
    let mut from: Vec<String> =
        module.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for (at, part) in path.iter().enumerate() {
        match part.as_str() {
            "crate" if at == 0 => from.clear(),
            "super" => {
                from.pop();
            }
            "self" => {}
            _ => from.push(part.clone()),
        }
    }
    from
}

/// The module in which what a path names is defined; nothing where it is not of this crate.
fn resolve(
    path: &[String],
    sources: &BTreeMap<String, String>,
    handed_on: &BTreeMap<&String, Vec<Vec<String>>>,
) -> String {
    let known = |len: &usize| sources.contains_key(&path[..*len].join("::"));
    let len = (0..=path.len()).rev().find(known).unwrap_or_default();
    let module = path[..len].join("::");
    let next = path.get(len);
    let there = handed_on.get(&module).into_iter().flatten();
    match there.into_iter().find(|other| other.len() > 1 && other.last() == next && *other != path)
    {
        Some(other) => resolve(other, sources, handed_on),
        None => module,
    }
}

/// Files in the folder of tests of a crate that are neither a module of its suite nor a program of their own.
pub fn untested(manifest: &Path) -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(manifest.join(path)).unwrap();
    let (suite, programs) = (read("tests/suite.rs"), read("Cargo.toml"));
    let names = std::fs::read_dir(manifest.join("tests")).unwrap();
    let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names = names.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned));
    let is_tested = |name: &String| {
        suite.contains(&format!("\nmod {name};"))
            || programs.contains(&format!("\n[[test]]\nname = \"{name}\""))
    };
    names.filter(|name| !is_tested(name)).collect()
}
