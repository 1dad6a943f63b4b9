//! The samples of the classic posts on Table storage, as a user of this crate writes them.

mod dynamic;
mod keys;
mod queries;
mod store;
mod transactions;
