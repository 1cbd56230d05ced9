//! `goodcall export`: the calls of a gateway's store, for other programs.

use std::fs::File;
use std::io::{BufWriter, stdout};
use std::path::PathBuf;

use crate::CliError;

/// Write the calls that a gateway has stored as lines of JSON, or as a Parquet file.
///
/// Both can be read by goodcall audit, as the store itself can. Arguments are in them only if the
/// gateway kept them (--store-arguments).
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// The store of a gateway
    #[arg(value_name = "STORE")]
    store: PathBuf,
    /// Where to write: a file that ends with .parquet is a table, any other has lines of JSON
    /// [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &ExportArgs) -> Result<bool, CliError> {
    let at = |error: &dyn std::fmt::Display| format!("{}: {error}", args.store.display());
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(stdout().lock());
        goodcall_audit::export_lines(&args.store, &mut out).map_err(|error| at(&error))?;
        return Ok(true);
    };
    let create = || {
        let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, CliError>(BufWriter::new(file))
    };
    let is_table = path.extension().is_some_and(|end| end == "parquet");
    let count = if is_table {
        #[cfg(feature = "parquet")]
        {
            goodcall_audit::export_parquet(&args.store, create()?)
        }
        #[cfg(not(feature = "parquet"))]
        return Err("this build writes no Parquet: build it with the feature `parquet`".to_owned());
    } else {
        goodcall_audit::export_lines(&args.store, &mut create()?)
    };
    let count = count.map_err(|error| at(&error))?;
    anstream::eprintln!("{count} calls in {}", path.display());
    Ok(true)
}
