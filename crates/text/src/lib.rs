//! Makes text of others safe to keep and to show: removes secrets, terminal escapes and control characters, and puts messages
//! together that arrive in chunks. Reads and writes nothing itself.

mod chunks;
mod escapes;
mod redact;
mod sanitize;

pub use chunks::{ChunkCodec, ChunkDecoder, MessageChunk, StreamLine};
pub use escapes::{EscapeStream, strip_escapes};
pub use redact::{RedactStream, Redactor};
pub use sanitize::{SanitizeStream, sanitize};
