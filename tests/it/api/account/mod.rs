//! Credentials and shared access signatures, and what no output shows of them.

mod credentials;
mod rejections;
mod sas_urls;
mod secrets;
