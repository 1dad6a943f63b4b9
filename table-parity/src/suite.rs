//! The conformance suite, one function at a time.

use std::cell::RefCell;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use azure_table_tests::Backend;
use azure_table_tests::{
    batches, bulk, bulk_stress, errors, filters, keys, queries, sas, service, single_entities, tables, via_batch,
};
use futures::FutureExt as _;

use crate::service::account::{Account, Identity};

tokio::task_local! {
    /// The place of the panic of a function of the suite. It is set in the task of such a function only.
    static PLACE: RefCell<Option<String>>;
}

/// Prints no message for a panic of a function of the suite, because the report has it. Any other panic is a bug of the
/// program.
pub(crate) fn hide_panics() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let keep = |place: &RefCell<_>| {
            *place.borrow_mut() = panic.location().map(|at| format!("{}:{}", at.file(), at.line()))
        };
        if PLACE.try_with(keep).is_err() {
            others(panic);
        }
    }));
}

/// The function that changes the properties of the service.
const CHANGES_PROPERTIES: &str = "service::properties_are_set_and_read";

type Run = for<'a> fn(&'a Backend) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A function of the suite.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    group: &'static str,
    run: Run,
}

macro_rules! list {
    ($($group:ident { $($module:ident: $($test:ident),+;)+ })+) => {
        /// Returns all functions.
        pub(crate) fn all() -> Vec<Test> {
            vec![$($($(Test {
                name: concat!(stringify!($module), "::", stringify!($test)),
                group: stringify!($group),
                run: |backend| Box::pin($module::$test(backend)),
            },)+)+)+]
        }
    };
}

azure_table_tests::conformance_suite!(list);

impl Test {
    /// Returns the reason why the function cannot run on an account.
    pub(crate) fn obstacle(&self, account: &Account, change_properties: bool) -> Option<&'static str> {
        let by_key = self.group.starts_with("by_the_key_alone");
        if by_key && !matches!(account.identity, Identity::Key(_)) {
            return Some("needs the account key");
        }
        if self.group == "by_the_key_alone_and_not_live" && account.is_live {
            return Some("a live account takes up to 30 s, or needs a readable secondary");
        }
        if self.changes_properties() && !change_properties {
            return Some("changes the service properties: --change-properties");
        }
        None
    }

    pub(crate) fn changes_properties(&self) -> bool {
        self.name == CHANGES_PROPERTIES
    }

    /// Runs the function. A panic is its failure.
    pub(crate) async fn run(&self, backend: &Backend) -> Result<(), String> {
        let (outcome, place) = PLACE
            .scope(RefCell::default(), async {
                let outcome = AssertUnwindSafe((self.run)(backend)).catch_unwind().await;
                (outcome, PLACE.with(RefCell::take))
            })
            .await;
        // Any other path begins with the home folder of the user.
        let place = place.filter(|place| place.starts_with("tests/"));
        outcome.map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            let text = if self.changes_properties() {
                "the message is hidden, since it may show the properties of the account"
            } else {
                text.unwrap_or("it panicked")
            };
            let place = place.map_or(String::new(), |place| format!("{place}: "));
            format!("{place}{text}")
        })
    }
}
