//! `goodcall export`: the calls of a gateway's store, for other programs.

use std::fs::File;
use std::io::{BufWriter, stdout};
use std::path::PathBuf;

use goodcall_server::StoreTarget;

use crate::CliError;

/// Write what a gateway has stored as lines of JSON, one for each request, or as a Parquet file, with a row
/// for each call.
///
/// Both can be read by goodcall audit, as an SQLite file itself can. Arguments are in them only if the
/// gateway kept them (--store-arguments).
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// The store of a gateway: an SQLite file, or the URL of a PostgreSQL database
    #[arg(value_name = "STORE", env = "GOODCALL_STORE", hide_env_values = true)]
    store: StoreTarget,
    /// Where to write: a file that ends with .parquet is a table, any other has lines of JSON
    /// [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ExportArgs {
    /// Hands out each stored request.
    fn read(&self, take: &mut dyn FnMut(String) -> bool) -> Result<(), String> {
        match &self.store {
            StoreTarget::File(path) => goodcall_audit::each_stored(path, take)
                .map_err(|error| format!("{}: {error}", self.store)),
            StoreTarget::Postgres(url) => {
                goodcall_gateway::each_stored(url, take).map_err(|error| error.to_string())
            }
            other => Err(format!("{other}: this build cannot read such a store")),
        }
    }
}

pub(crate) fn run(args: &ExportArgs) -> Result<bool, CliError> {
    let read = |take: &mut dyn FnMut(String) -> bool| args.read(take);
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(stdout().lock());
        goodcall_audit::export_lines(read, &mut out).map_err(|error| error.to_string())?;
        return Ok(true);
    };
    let create = || {
        let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, CliError>(BufWriter::new(file))
    };
    let is_table = path.extension().is_some_and(|end| end == "parquet");
    let (count, unit) = if is_table {
        #[cfg(feature = "parquet")]
        {
            (goodcall_audit::export_parquet(read, create()?), "calls")
        }
        #[cfg(not(feature = "parquet"))]
        return Err("this build writes no Parquet: build it with the feature `parquet`".to_owned());
    } else {
        let lines = goodcall_audit::export_lines(read, &mut create()?);
        (lines, "requests")
    };
    let count = count.map_err(|error| error.to_string())?;
    anstream::eprintln!("{count} {unit} in {}", path.display());
    Ok(true)
}
