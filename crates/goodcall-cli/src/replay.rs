//! `goodcall replay`: failures that became fixtures, judged again.

use std::path::{Path, PathBuf};

use goodcall_audit::{CallFixture, ReplayedFixture, fixture_files};
use goodcall_core::{Formats, Policies};

use crate::{CliError, input, tools};

/// Judge the fixtures of a folder again, by today's tools and policy.
///
/// `goodcall audit --fixtures DIR` writes one file per kind of failure, with the verdict that its call
/// got. A fixture whose verdict differs now fails, whether it became better or worse: edit what it
/// expects, or write the new verdicts with --bless. The exit code is 1 if any differs.
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// The folder with fixtures
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Today's tool definitions; tools that are not among them are taken from the fixture
    #[arg(long, value_name = "FILE")]
    tools: Vec<String>,
    /// What may be mended: strict (nothing), safe or eager, with rules switched on and off
    /// (eager,-enum-typo), or a .toml or .json file with a policy for each tool
    #[arg(long, default_value = "safe", value_parser = input::policies)]
    policy: Policies,
    /// What `format` means: annotate (a remark) or assert (the call is bad without it)
    #[arg(long)]
    formats: Option<Formats>,
    /// Write the verdicts of today into the fixtures
    #[arg(long)]
    bless: bool,
}

pub(crate) fn run(args: &ReplayArgs) -> Result<bool, CliError> {
    let offered = tools::read_all(&args.tools)?;
    let policies = input::with_formats(args.policy.clone(), args.formats);
    let files = fixture_files(&args.folder)?;
    if files.is_empty() {
        return Err(format!("{}: there are no fixtures", args.folder.display()));
    }
    let (count, mut differing) = (files.len(), 0);
    for path in files {
        let mut fixture = CallFixture::read(&path)?;
        let replayed = fixture.replay(&path, &offered, &policies)?;
        if replayed.differences.is_empty() {
            continue;
        }
        differing += 1;
        report(&fixture, &replayed);
        if args.bless {
            fixture.expect = replayed.came;
            fixture.write(&path)?;
        }
    }
    let same = count - differing;
    let rest = match (differing, args.bless) {
        (0, _) => String::new(),
        (_, true) => format!(", {differing} written anew"),
        (_, false) => format!(", {differing} differ"),
    };
    anstream::println!("{count} fixtures: {same} as expected{rest}");
    Ok(differing == 0 || args.bless)
}

fn report(fixture: &CallFixture, replayed: &ReplayedFixture) {
    let name = replayed
        .path
        .file_name()
        .unwrap_or(replayed.path.as_os_str());
    anstream::println!("{}: {}", Path::new(name).display(), fixture.seen);
    for difference in &replayed.differences {
        anstream::println!("  {difference}");
    }
}
