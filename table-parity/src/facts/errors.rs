//! Facts of rejected requests.

use crate::fact::{Area, Fact, Source, ask, rejects};
use crate::step::get;

pub(super) const FACTS: &[Fact] = &[Fact::of(
    Area::Errors,
    "A read of an entity that does not exist is rejected with ResourceNotFound.",
    Source::Page {
        url: "https://learn.microsoft.com/en-us/rest/api/storageservices/table-service-error-codes",
        date: "2026-11-28",
    },
    &[ask(
        get("<R:missing>"),
        rejects(404, "ResourceNotFound", "The specified resource does not exist."),
    )],
)];
