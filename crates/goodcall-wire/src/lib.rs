//! Tool calls on the wire.

mod call;
mod declared;
mod envelope;
mod names;
mod stream;
mod text;
mod tools;

pub use call::Call;
pub use envelope::{
    Answer, ConvertError, Envelope, EnvelopeError, Provider, UnknownProvider, convert, definitions,
    result,
};
pub use stream::{Assembler, Update};
pub use text::{Extraction, Piece, Scanner, UnknownWhere, Where, dialects, extract};
pub use tools::{Offered, Tools, ToolsError};
