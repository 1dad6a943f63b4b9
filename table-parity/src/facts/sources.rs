//! The sources of facts.

use crate::fact::Source;

/// The day on which the pages and suites were read.
const READ: &str = "2026-11-21";

/// A preference for a response without a body.
pub(super) const NO_CONTENT: &[(&str, &str)] = &[("Prefer", "return-no-content")];
/// The headers of an operation in XML.
pub(super) const XML: &[(&str, &str)] = &[("Accept", "application/xml")];

/// Returns a recorded session of this project: its file, the deciding exchange, and its day.
pub(super) const fn recorded(file: &'static str, exchange: usize, date: &'static str) -> Source {
    Source::Recording { file, exchange, date }
}

/// Returns a page of the documentation.
pub(super) const fn page(url: &'static str) -> Source {
    Source::Page { url, date: READ }
}

/// Returns an issue in which a user of a live account reports what it answered.
pub(super) const fn report(url: &'static str) -> Source {
    Source::Report { url, date: READ }
}

/// Returns a test that passes on live accounts, and when it was seen to.
pub(super) const fn suite(name: &'static str, date: &'static str) -> Source {
    Source::Suite { name, date }
}

macro_rules! pages {
    ($($name:ident = $page:literal;)*) => {
        $(pub(super) const $name: Source =
            page(concat!("https://learn.microsoft.com/en-us/rest/api/storageservices/", $page));)*
    };
}

pages! {
    ACCOUNT_SAS = "create-account-sas";
    COMMON_ERRORS = "common-rest-api-error-codes";
    DATA_MODEL = "understanding-the-table-service-data-model";
    DATE_TIMES = "formatting-datetime-values";
    DELETE_ENTITY = "delete-entity1";
    INSERT_OR_REPLACE = "insert-or-replace-entity";
    MERGE_ENTITY = "merge-entity";
    PAGES_OF_RESULTS = "query-timeout-and-pagination";
    PAYLOAD = "payload-format-for-table-service-operations";
    PREFER = "setting-the-prefer-header-to-manage-response-echo-on-insert-operations";
    QUERIES = "querying-tables-and-entities";
    SAS_ERRORS = "sas-error-codes";
    SERVICE_SAS = "create-service-sas";
    SET_ACL = "set-table-acl";
    TABLE_ERRORS = "table-service-error-codes";
    TRANSACTIONS = "performing-entity-group-transactions";
    VERSIONS = "versioning-for-the-azure-storage-services";
}
