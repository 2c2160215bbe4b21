//! What can go wrong with an FMU, in words a user can act on.

use crate::archive::ArchiveError;
use crate::description::DescriptionError;
use std::path::PathBuf;

/// The crate's result type.
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

/// A fault of an FMU, or of the way it is used. Bugs of koppel itself are panics, not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant is its documentation")]
pub enum Error {
    #[error("`{}`: {source}", .path.display())]
    Archive { path: PathBuf, source: ArchiveError },

    #[error(transparent)]
    Description(#[from] DescriptionError),
}

impl From<DescriptionError> for Box<Error> {
    fn from(source: DescriptionError) -> Self {
        Box::new(Error::Description(source))
    }
}
