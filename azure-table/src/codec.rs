//! Bytes and text of the wire, to and from data. Pure: no network, no clock.
//!
//! Owns JSON (`json`), OData's literals, paths and members (`odata`), URL text (`url`), multipart bodies (`batch_body`,
//! `multipart`) and XML (`xml`). Does not own what is said in them: `protocol`.

pub(crate) mod batch_body;
pub(crate) mod json;
pub(crate) mod multipart;
pub(crate) mod odata;
pub(crate) mod url;
pub(crate) mod xml;
