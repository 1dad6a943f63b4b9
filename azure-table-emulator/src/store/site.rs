//! The account that a request addresses, in its location.
//!
//! Defines [`Site`], the value that all later stages use. `site.rs` finds it in a URL.

use azure_table_wire::request::inbound::target::Paths;

use crate::rules::ServiceRules;
use crate::rules::service_error::ServiceError;
use crate::rules::table_name::TableNames;
use crate::settings::Settings;
use crate::settings::adverse::Choices;
use crate::store::account::Replica;

/// The addressed account, and its base URL.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) account: String,
    pub(crate) is_secondary: bool,
    /// It shows an older state than the primary.
    pub(crate) is_behind: bool,
    /// The choices of an adverse service for the request.
    pub(crate) choices: Choices,
    /// The rules of the service at that host.
    pub(crate) rules: &'static ServiceRules,
    pub(crate) is_https: bool,
    /// Scheme, host and account prefix, without a slash at the end. `Location` and metadata URLs begin with it.
    pub(crate) base: String,
    /// The part of the path that belongs to the base: `/account`, or nothing.
    pub(crate) prefix: String,
    /// The host is not one of the services. Clients treat such a URL as Table storage, and may merge without a tunnel.
    pub(crate) is_of_emulators: bool,
}

impl Site {
    /// Returns `true` if the URL does not name the account: the first segment of its path is not one.
    fn is_account_unnamed(&self) -> bool {
        self.is_of_emulators && self.prefix.is_empty()
    }

    /// Adds a reason to the error of a path that probably names an unknown account: its first segment is not an
    /// account, and more follows.
    pub(crate) fn explained(&self, service_error: ServiceError, path: &str) -> ServiceError {
        let mut segments = path.split('/').skip(1);
        if self.is_account_unnamed() && segments.nth(1).is_some() {
            let why = format!("the path names no account; served as {}", self.account);
            return service_error.because(why);
        }
        service_error
    }

    /// Returns `true` if a merge needs no tunnel. Seen with an SDK. Clients treat an emulator's URL as Storage.
    pub(crate) fn takes_merge(&self) -> bool {
        !self.rules.shared().tunnels_merge || self.is_of_emulators
    }

    /// Applies the choices of an adverse service.
    pub(crate) fn choose(&mut self, choices: Choices, settings: &Settings) {
        self.is_behind |= choices.is_behind && !settings.secondary_lag.is_zero();
        self.choices = choices;
    }

    /// Returns the account in the addressed location.
    pub(crate) fn replica(&self) -> Replica<'_> {
        Replica {
            account: &self.account,
            is_behind: self.is_behind,
            deleted: self.choices.deleted,
            rules: self.rules,
        }
    }

    /// Returns the account in the primary, which receives all writes.
    pub(crate) fn primary(&self) -> Replica<'_> {
        Replica {
            is_behind: false,
            ..self.replica()
        }
    }

    /// Returns `true` if two names belong to the same table.
    pub(crate) fn is_same_table(&self, one: &str, other: &str) -> bool {
        one == other || self.rules.table_key(one) == self.rules.table_key(other)
    }

    /// Returns the path with the account of the primary, if the request addresses the secondary by its path. A request
    /// may be signed for either path; Azurite accepts both.
    pub(crate) fn primary_path(&self, path: &str) -> Option<String> {
        let below = path
            .strip_prefix(&self.prefix)
            .filter(|_| self.is_secondary && !self.prefix.is_empty())?;
        Some(format!("/{}{below}", self.account))
    }

    /// Returns the paths of its resources.
    pub(crate) fn paths(&self) -> Paths<'_> {
        Paths {
            prefix: &self.prefix,
            ignores_further_segments: self.rules.ignores_further_segments,
            names_have_parentheses: self.rules.table_names == TableNames::AnyScript,
        }
    }
}
