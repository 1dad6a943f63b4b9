//! Converts between data and the bytes and text of the wire. Pure: no network, no clock.
//!
//! It handles JSON (`json`), OData's literals, paths and members (`odata`), URL text (`url`), multipart bodies
//! (`multipart`) and XML (`xml`). The callers know what they mean.

pub mod json;
#[doc(hidden)]
pub mod multipart;
pub mod odata;
#[doc(hidden)]
pub mod url;
#[doc(hidden)]
pub mod xml;
