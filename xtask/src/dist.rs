//! Everything that a release consists of, in `target/dist`: the command with completions, manual pages,
//! licences and a bill of materials; the wheel and the source archive for Python; the packages for npm;
//! the crates; and the checksums of them all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

use crate::{Failure, tidy, wheel};

const USAGE: &str = "usage: cargo xtask dist [command|python|npm|crates]… [--target TARGET]";

/// The shells that the archive has completions for, and the names under which they look for them.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "goodcall.bash"),
    ("zsh", "_goodcall"),
    ("fish", "goodcall.fish"),
    ("elvish", "goodcall.elv"),
    ("powershell", "goodcall.ps1"),
];

/// The tool that writes bills of materials, by those who define their format.
const SBOM_TOOL: &str = "cargo-cyclonedx@0.5.9";

/// One part of a release.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Command,
    Python,
    Npm,
    Crates,
}

const PARTS: [(&str, Part); 4] = [
    ("command", Part::Command),
    ("python", Part::Python),
    ("npm", Part::Npm),
    ("crates", Part::Crates),
];

/// What was asked for.
struct Release {
    root: PathBuf,
    /// The folder that gets the files.
    out: PathBuf,
    version: String,
    /// The target of the compiler, if it is not this machine's.
    target: Option<String>,
}

/// Builds the parts that are named, or all of them.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (parts, target) = read_args(args)?;
    let root = tidy::root()?;
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(unusable("Cargo.toml"))?;
    let version = tidy::workspace_version(&manifest)
        .ok_or_else(|| Failure::Unusable("Cargo.toml: the workspace has no version".into()))?;
    let out = root.join("target/dist");
    fs::create_dir_all(&out).map_err(unusable("target/dist"))?;
    let release = Release {
        root,
        out,
        version,
        target,
    };
    for (name, part) in PARTS {
        if parts.contains(&part) {
            println!("-- {name}");
            match part {
                Part::Command => release.command()?,
                Part::Python => release.python()?,
                Part::Npm => release.npm()?,
                Part::Crates => release.crates()?,
            }
        }
    }
    release.checksums()
}

fn read_args(args: &[String]) -> Result<(Vec<Part>, Option<String>), Failure> {
    let (mut parts, mut target) = (Vec::new(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--target" {
            let name = args.next();
            target = Some(name.ok_or_else(|| Failure::Unusable(USAGE.into()))?.clone());
        } else if let Some((_, part)) = PARTS.iter().find(|(name, _)| name == arg) {
            parts.push(*part);
        } else {
            return Err(Failure::Unusable(format!("unknown part `{arg}`; {USAGE}")));
        }
    }
    if parts.is_empty() {
        parts.extend(PARTS.map(|(_, part)| part));
    }
    Ok((parts, target))
}

impl Release {
    /// Builds the archive of the command: `goodcall-VERSION-TARGET.tar.gz`.
    fn command(&self) -> Result<(), Failure> {
        let mut build = self.cargo(&["build", "--release", "--locked", "-p", "goodcall-cli"]);
        if let Some(target) = &self.target {
            build.args(["--target", target]);
        }
        wheel::call(&mut build)?;
        let target = match &self.target {
            Some(target) => target.clone(),
            None => host_target()?,
        };
        let folder = self.target.as_deref().map_or_else(
            || self.root.join("target/release"),
            |target| self.root.join("target").join(target).join("release"),
        );
        let suffix = if target.contains("windows") {
            ".exe"
        } else {
            ""
        };
        let program = folder.join(format!("goodcall{suffix}"));
        let name = format!("goodcall-{}-{target}", self.version);
        let staged = self.root.join("target/dist-staged").join(&name);
        let _ = fs::remove_dir_all(&staged);
        fs::create_dir_all(staged.join("completions")).map_err(unusable("the staged archive"))?;
        copy(&program, &staged.join(format!("goodcall{suffix}")))?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            copy(&self.root.join(file), &staged.join(file))?;
        }
        // A program for another machine cannot be asked for its completions and manual pages.
        if self.target.is_none() || self.target == host_target().ok() {
            for (shell, file) in COMPLETIONS {
                let script = output(Command::new(&program).args(["completions", shell]))?;
                fs::write(staged.join("completions").join(file), script).map_err(unusable(file))?;
            }
            let man = staged.join("man");
            wheel::call(
                Command::new(&program)
                    .args(["completions", "--man"])
                    .arg(&man),
            )?;
        }
        fs::write(staged.join("goodcall.cdx.json"), self.bill_of_materials()?)
            .map_err(unusable("goodcall.cdx.json"))?;
        self.archive(&staged, &name)
    }

    /// Returns the bill of materials of the command, in the JSON form of CycloneDX.
    fn bill_of_materials(&self) -> Result<String, Failure> {
        let tools = self.root.join("target/dist-tools");
        let program = tools.join("bin/cargo-cyclonedx");
        if !program.exists() {
            let mut install = self.cargo(&["install", "--quiet", "--locked", "--root"]);
            wheel::call(install.arg(&tools).arg(SBOM_TOOL))?;
        }
        // It writes one file beside each manifest of the workspace.
        let mut write = Command::new(program);
        write.args([
            "cyclonedx",
            "--quiet",
            "--format",
            "json",
            "--spec-version",
            "1.5",
        ]);
        write.args(["--override-filename", "bill-of-materials"]);
        write.args(["--manifest-path", "crates/goodcall-cli/Cargo.toml"]);
        if let Some(target) = &self.target {
            write.args(["--target", target]);
        }
        wheel::call(write.current_dir(&self.root))?;
        let mut found = Err(Failure::Unusable(
            "cargo-cyclonedx wrote no bill of materials for goodcall-cli".into(),
        ));
        for manifest in self.manifests()? {
            let file = manifest.with_file_name("bill-of-materials.json");
            if manifest.ends_with("goodcall-cli/Cargo.toml") {
                found = fs::read_to_string(&file)
                    .map_err(unusable("the bill of materials"))
                    .and_then(|bill| without_traces(&bill, &self.root));
            }
            let _ = fs::remove_file(file);
        }
        found
    }

    /// Returns the manifests of the workspace's members.
    fn manifests(&self) -> Result<Vec<PathBuf>, Failure> {
        let listed = output(&mut self.cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
        let metadata: serde_json::Value = serde_json::from_slice(&listed)
            .map_err(|error| Failure::Unusable(format!("cargo metadata: {error}")))?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let paths = packages.filter_map(|package| package["manifest_path"].as_str());
        Ok(paths.map(PathBuf::from).collect())
    }

    /// Packs a folder so that equal contents give equal bytes.
    fn archive(&self, folder: &Path, name: &str) -> Result<(), Failure> {
        let path = self.out.join(format!("{name}.tar.gz"));
        let file = fs::File::create(&path).map_err(unusable(name))?;
        let gzip = GzBuilder::new().mtime(0).write(file, Compression::best());
        let mut archive = tar::Builder::new(gzip);
        archive.mode(tar::HeaderMode::Deterministic);
        for entry in files_below(folder)? {
            let inside = entry
                .strip_prefix(folder)
                .expect("files_below lists files below the folder");
            archive
                .append_path_with_name(&entry, Path::new(name).join(inside))
                .map_err(unusable(name))?;
        }
        archive
            .into_inner()
            .and_then(flate2::write::GzEncoder::finish)
            .map_err(unusable(name))?;
        Ok(())
    }

    /// Builds the wheel and the source archive for Python.
    fn python(&self) -> Result<(), Failure> {
        wheel::run(&[])?;
        wheel::source_archive(&self.root.join("target/wheels"))?;
        self.take_all(&self.root.join("target/wheels"))
    }

    /// Builds the npm package and that of this platform.
    fn npm(&self) -> Result<(), Failure> {
        let home = self.root.join("bindings/node");
        let staged = self.root.join("target/dist-staged/npm");
        let _ = fs::remove_dir_all(&staged);
        let mut build = Command::new("node");
        build.args(["scripts/build.mjs", "--release"]);
        if let Some(target) = &self.target {
            build.args(["--target", target]);
        }
        wheel::call(build.current_dir(&home))?;
        let mut packages = Command::new("node");
        packages
            .args(["scripts/platform-packages.mjs", "."])
            .arg(&staged);
        wheel::call(packages.current_dir(&home))?;
        for folder in folders_in(&staged)? {
            let mut pack = Command::new("npm");
            pack.args(["pack", "--silent", "--pack-destination"]);
            wheel::call(pack.arg(&self.out).current_dir(folder))?;
        }
        Ok(())
    }

    /// Packages the crates in the order in which they have to be published.
    fn crates(&self) -> Result<(), Failure> {
        let mut package = self.cargo(&[
            "package",
            "--quiet",
            "--locked",
            "--no-verify",
            "--workspace",
        ]);
        for manifest in self.manifests()? {
            let text = fs::read_to_string(&manifest).map_err(unusable("a manifest"))?;
            if text.contains("\npublish = false")
                && let Some(name) = manifest_name(&text)
            {
                package.args(["--exclude", name]);
            }
        }
        wheel::call(&mut package)?;
        for file in files_below(&self.root.join("target/package"))? {
            let name = file.file_name().and_then(|name| name.to_str());
            if let Some(name) = name
                && name.ends_with(&format!("-{}.crate", self.version))
            {
                copy(&file, &self.out.join(name))?;
            }
        }
        Ok(())
    }

    /// Copies the files of a folder into the release.
    fn take_all(&self, folder: &Path) -> Result<(), Failure> {
        for file in files_below(folder)? {
            let name = file.file_name().expect("a listed file has a name");
            copy(&file, &self.out.join(name))?;
        }
        Ok(())
    }

    /// Writes `SHA256SUMS`, which `sha256sum --check` reads.
    fn checksums(&self) -> Result<(), Failure> {
        let mut sums = String::new();
        for file in files_below(&self.out)? {
            let name = file.file_name().and_then(|name| name.to_str());
            let name = name.expect("the names of a release are ASCII");
            if name != "SHA256SUMS" {
                let bytes = fs::read(&file).map_err(unusable(name))?;
                let digest = Sha256::digest(&bytes);
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                println!("{:>10}  {name}", bytes.len());
                sums.push_str(&format!("{hex}  {name}\n"));
            }
        }
        fs::write(self.out.join("SHA256SUMS"), sums).map_err(unusable("SHA256SUMS"))
    }

    fn cargo(&self, args: &[&str]) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.args(args).current_dir(&self.root);
        cargo
    }
}

/// Takes out of a bill of materials what is about the build and not about the program: the folder, the
/// time and a random number.
fn without_traces(bill: &str, root: &Path) -> Result<String, Failure> {
    let here = format!("path+file://{}/", root.display());
    let mut bill: serde_json::Value =
        serde_json::from_str(&bill.replace(&here, "path+file:///"))
            .map_err(|error| Failure::Unusable(format!("the bill of materials: {error}")))?;
    if let Some(members) = bill.as_object_mut() {
        members.remove("serialNumber");
    }
    if let Some(metadata) = bill["metadata"].as_object_mut() {
        metadata.remove("timestamp");
    }
    Ok(format!("{bill:#}\n"))
}

/// Returns the name of the package of a manifest.
fn manifest_name(manifest: &str) -> Option<&str> {
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name = "))?;
    Some(line.trim_matches('"'))
}

/// Returns the target of this machine's compiler.
fn host_target() -> Result<String, Failure> {
    let said = output(Command::new("rustc").arg("-vV"))?;
    String::from_utf8_lossy(&said)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| Failure::Unusable("rustc -vV names no host".into()))
}

fn output(command: &mut Command) -> Result<Vec<u8>, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let run = command.output().map_err(unusable(&program))?;
    if run.status.success() {
        Ok(run.stdout)
    } else {
        Err(Failure::Unusable(format!("{program}: {}", run.status)))
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(unusable(&from.to_string_lossy()))
}

/// Returns the files of a folder and of those in it, sorted.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(unusable(&folder.to_string_lossy()))? {
            let path = entry.map_err(unusable("a folder"))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(unusable(&folder.to_string_lossy()))?;
    let mut folders: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    Ok(folders)
}

/// Says what an error of the file system or of a program was about.
fn unusable(what: &str) -> impl Fn(std::io::Error) -> Failure {
    let what = what.to_owned();
    move |error| Failure::Unusable(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_of_materials_does_not_tell_where_and_when_it_was_made() {
        let bill = r#"{"serialNumber": "urn:uuid:1", "metadata": {"timestamp": "2026",
            "component": {"bom-ref": "path+file:///home/ann/goodcall/crates/a#0.2.0"}}}"#;
        let kept = without_traces(bill, Path::new("/home/ann/goodcall"));
        let kept = kept.unwrap_or_else(|_| panic!("the bill is JSON"));
        let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
        let expected = serde_json::json!({"metadata": {"component": {"bom-ref": "path+file:///crates/a#0.2.0"}}});
        assert_eq!(kept, expected);
    }

    #[test]
    fn an_unknown_part_is_an_error_that_names_the_parts() {
        let Err(Failure::Unusable(said)) = read_args(&["wheels".to_owned()]) else {
            panic!("there is no part of that name");
        };
        assert_eq!(said, format!("unknown part `wheels`; {USAGE}"));
    }
}
