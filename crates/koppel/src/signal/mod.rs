//! Time and values: what travels between subsystems. Knows nothing of systems.

pub mod external;
mod history;
mod measure;
mod part;
mod samples;
mod segment;
mod step;

pub use history::{Delivery, History};
pub use measure::{Bounds, Deviation};
pub use part::Part;
pub use samples::{Request, Samples};
pub use segment::{Piece, Segment, SegmentBuffer};
pub(crate) use segment::{copy, evaluate, shift_polynomial};
pub use step::{Clock, Step};
