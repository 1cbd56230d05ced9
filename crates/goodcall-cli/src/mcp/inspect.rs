//! x
use crate::Failure;
#[derive(clap::Args)]
pub(crate) struct InspectArgs {}
pub(crate) fn run(_: &InspectArgs) -> Result<bool, Failure> {
    Ok(true)
}
