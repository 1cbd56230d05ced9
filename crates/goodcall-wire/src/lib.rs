//! Tool calls on the wire.

mod call;
mod declared;
mod names;
mod text;
mod tools;

pub use call::Call;
pub use text::{Extraction, Piece, Scanner, UnknownWhere, Where, dialects, extract};
pub use tools::{Offered, Tools, ToolsError};
