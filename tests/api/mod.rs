//! The public interface as such: what it can be combined with, how large it is, who depends on whom.

mod between;
mod bulk;
mod bulk_order;
mod changes;
mod client_wide;
mod credentials;
mod derive;
mod emulator_floors;
mod etag_field;
mod fan_out;
mod futures;
mod gather;
mod handwritten;
mod language;
mod layers;
mod operations;
mod public_names;
mod queries;
mod refusals;
mod sas_urls;
mod secrets;
mod skips;
mod tables;
mod upgrades_by_query;
mod writes_by_query;
