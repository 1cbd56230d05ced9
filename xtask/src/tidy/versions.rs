//! Checks that the one version number of the workspace stands wherever a file has to repeat it.

use serde_json::Value;

use super::{File, Finding};

/// The file whose `[workspace.package]` has the version.
const SOURCE: &str = "Cargo.toml";

/// Returns a finding for each file that names another version than the workspace.
pub(super) fn check(files: &[File]) -> Vec<Finding> {
    let Some(version) = files
        .iter()
        .find(|file| file.path == SOURCE)
        .and_then(|file| workspace_version(&file.text))
    else {
        return vec![Finding::new(SOURCE, 0, "the workspace has no version")];
    };
    files
        .iter()
        .flat_map(|file| found(file, &version))
        .collect()
}

/// Returns the version under `[workspace.package]`.
pub(crate) fn workspace_version(manifest: &str) -> Option<String> {
    let (_, section) = manifest.split_once("[workspace.package]")?;
    let line = section
        .lines()
        .find_map(|line| line.strip_prefix("version = "))?;
    Some(line.trim_matches('"').to_owned())
}

fn found(file: &File, version: &str) -> Vec<Finding> {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    let other = |line: usize, what: &str| {
        let what = format!("{what}: expected {version}, the version of the workspace");
        Finding::new(&file.path, line, what)
    };
    match (name, file.path.as_str()) {
        ("Cargo.toml", _) => {
            let lines = file.text.lines().enumerate();
            lines
                .filter(|(_, line)| {
                    own_dependency_version(line).is_some_and(|found| found != version)
                })
                .map(|(at, _)| other(at + 1, "a crate of the workspace in another version"))
                .collect()
        }
        (_, "bindings/node/package.json") => {
            let manifest: Value = serde_json::from_str(&file.text).unwrap_or(Value::Null);
            let same = manifest["version"] == version;
            (!same)
                .then(|| other(0, "the npm package has another version"))
                .into_iter()
                .collect()
        }
        (_, path) if path.starts_with("deploy/") => {
            let lines = file.text.lines().enumerate();
            lines
                .filter(|(_, line)| image_version(line).is_some_and(|found| found != version))
                .map(|(at, _)| other(at + 1, "an image of another version"))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the version with which a line of a manifest depends on a crate of this workspace by path.
fn own_dependency_version(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(" = {")?;
    if !name.starts_with("goodcall") || !rest.contains("path = ") {
        return None;
    }
    let (_, rest) = rest.split_once("version = \"")?;
    rest.split('"').next()
}

/// Returns the version of goodcall's own image that a line names.
fn image_version(line: &str) -> Option<&str> {
    let image = line.trim().strip_prefix("image: ")?;
    image.strip_prefix("goodcall:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn workspace(dependency: &str) -> File {
        let text = format!(
            "[workspace.package]\nversion = \"1.2.3\"\n\n[workspace.dependencies]\n\
             goodcall-core = {{ path = \"crates/goodcall-core\", version = \"{dependency}\" }}\n\
             serde = {{ version = \"1\" }}\n"
        );
        file("Cargo.toml", &text)
    }

    #[test]
    fn equal_versions_are_tidy() {
        let files = [
            workspace("1.2.3"),
            file("bindings/node/package.json", r#"{"version": "1.2.3"}"#),
            file(
                "deploy/kubernetes/a.yaml",
                "  image: goodcall:1.2.3\n  image: other:9\n",
            ),
        ];
        assert_eq!(check(&files), []);
    }

    #[test]
    fn each_other_version_is_found() {
        let files = [
            workspace("1.2.2"),
            file("bindings/node/package.json", r#"{"version": "1.2.4"}"#),
            file("deploy/kubernetes/a.yaml", "  image: goodcall:1.2\n"),
        ];
        let places: Vec<_> = check(&files)
            .into_iter()
            .map(|found| (found.path, found.line))
            .collect();
        let expected = [
            ("Cargo.toml".to_owned(), 5),
            ("bindings/node/package.json".to_owned(), 0),
            ("deploy/kubernetes/a.yaml".to_owned(), 1),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn a_workspace_without_a_version_is_found() {
        assert_eq!(check(&[file("Cargo.toml", "[workspace]\n")]).len(), 1);
    }
}
