//! The compile errors of `#[goodcall::tool]`: each `tests/ui/*.rs` must fail to compile, with the
//! message in the `.stderr` file beside it. `GOODCALL_BLESS=1` rewrites those files.
//!
//! The files are compiled by `rustc` against the library that cargo built for this very test, so
//! nothing is built a second time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The folder in which cargo put this test, the library and everything that the library needs.
fn artifacts() -> PathBuf {
    let test = env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

/// Finds the library in the folder of artifacts. Builds with other features, of older sources or from
/// an archive may be there as well; cargo has just made sure that ours is up to date, so the newest
/// one of these sources is too.
fn library(artifacts: &Path) -> PathBuf {
    let entries = fs::read_dir(artifacts).unwrap().map(Result::unwrap);
    let libraries = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let hash = name
            .strip_prefix("libgoodcall-")
            .and_then(|rest| rest.strip_suffix(".rlib"));
        hash.is_some_and(|hash| {
            let sources = fs::read_to_string(artifacts.join(format!("goodcall-{hash}.d")));
            sources.is_ok_and(|sources| sources.contains(": crates/goodcall/src/lib.rs"))
        })
    });
    let newest = libraries.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap());
    match newest {
        Some(entry) => entry.path(),
        None => panic!("no libgoodcall-*.rlib in {}", artifacts.display()),
    }
}

/// Compiles one file and returns the compiler's errors, without the summary at their end.
fn compile(source: &Path) -> String {
    let artifacts = artifacts();
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["--edition=2024", "--crate-type=bin", "--emit=metadata"])
        .args(["--color=never", "--out-dir", env!("CARGO_TARGET_TMPDIR")])
        .arg("--extern")
        .arg(format!("goodcall={}", library(&artifacts).display()))
        .arg("-L")
        .arg(format!("dependency={}", artifacts.display()))
        .arg(source)
        .output()
        .unwrap_or_else(|error| panic!("cannot run rustc: {error}"));
    let errors = String::from_utf8(output.stderr).unwrap();
    let name = source.display();
    assert!(!output.status.success(), "{name} compiles");
    let errors = errors.split("error: aborting due to").next().unwrap();
    let lines: Vec<_> = errors.trim_end().lines().map(without_own_lines).collect();
    let mut text = format!("{}\n", lines.join("\n"));
    // The compiler writes a path where a dependency has something of the same name.
    for (path, name) in [
        ("std::result::Result", "Result"),
        ("std::string::String", "String"),
        ("std::boxed::Box", "Box"),
    ] {
        text = text.replace(path, name);
    }
    text
}

/// Drops the number of a line in the library itself, which has nothing to do with the error.
fn without_own_lines(line: &str) -> &str {
    match line.find(".rs:") {
        Some(end) if line.contains("--> crates/goodcall/src/") => &line[..end + ".rs".len()],
        _ => line,
    }
}

#[test]
fn compile_errors_point_at_the_users_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let mut sources: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| PathBuf::from("tests/ui").join(entry.unwrap().file_name()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    sources.sort();
    assert!(!sources.is_empty(), "no sources in {}", folder.display());
    for source in sources {
        let errors = compile(&source);
        let pinned = folder.join(source.with_extension("stderr").file_name().unwrap());
        if env::var_os("GOODCALL_BLESS").is_some() {
            fs::write(&pinned, &errors).unwrap();
        }
        let expected = fs::read_to_string(&pinned).unwrap_or_default();
        assert_eq!(errors, expected, "{}", source.display());
    }
}
