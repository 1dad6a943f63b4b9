//! JSON of entities and pages, in a single pass.
//!
//! `token` reads any JSON text piece by piece and borrows from it. `read` parses rows, `write` writes the body of a
//! write. `embedded` is JSON inside of a property, `json_text` the same for serde's own attributes, `dynamic` the serde
//! form of a `DynamicEntity`. Numbers keep their digits until they have a type, so nothing is rounded twice.

mod dynamic;
#[doc(hidden)]
pub mod embedded;
pub mod json_text;
#[doc(hidden)]
pub mod read;
#[doc(hidden)]
pub mod scan;
#[doc(hidden)]
pub mod token;
#[doc(hidden)]
pub mod write;
