//! Converts between data and the bytes and text of the wire. Pure: no network, no clock.
//!
//! Owns JSON (`json`), OData's literals, paths and members (`odata`), URL text (`url`), multipart bodies (`batch_body`,
//! `multipart`) and XML (`xml`). `protocol` knows what they mean.

pub(crate) mod batch_body;
pub(crate) mod json;
pub(crate) mod multipart;
pub(crate) mod odata;
pub(crate) mod url;
pub(crate) mod xml;
