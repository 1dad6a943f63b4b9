//! The public interface as a whole: combinations and sizes.

mod account;
mod bulk;
mod client_wide;
mod combined_operations;
mod custom_errors;
mod derive;
mod error_codes;
mod etag_field;
mod futures;
mod handwritten;
pub(crate) mod interceptor;
mod modify_and_refresh;
mod operations;
mod query;
mod query_writes;
mod response_headers;
mod saves_and_patches;
mod size_limits;
mod tables;
