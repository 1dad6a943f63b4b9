//! The service of one run, and its clients.
//!
//! Defines [`Simulation`], and an emulator whose clock follows tokio's.

use std::cell::Cell;
use std::future::poll_fn;
use std::iter;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use azure_table_emulator::Emulator;
use azure_table_testing::explore::event::MAIN;
use azure_table_testing::explore::gate::{Gate, GatedTransport};
use azure_table_testing::explore::life::Life;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;
use http::{Request, Response};
use tokio::time::Instant;

use crate::client::service::TableServiceClient;
use crate::client::table_handle::TableClient;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::seed_entities::SeedEntities as _;
use crate::explore::run::SEED;

/// The service of one run of an exploration, and the clients of its tasks. Feature `test-util` with `emulator`.
///
/// Each request of its clients waits until every task is idle. Then the exploration chooses the next request to
/// execute. The pauses of the clients before retries take no time. Other waits use tokio's clock, which is stopped: a
/// timer fires when no request waits. The emulator's clock follows it, from the time at which the exploration began.
///
/// See [`explore`](crate::testing::explore()).
#[derive(Clone, Debug)]
pub struct Simulation {
    service: Arc<Service>,
    gate: Gate,
    /// The number of lives that processes have begun.
    lives: Arc<AtomicU64>,
}

impl Simulation {
    /// Creates the simulation of a run that begins now, by tokio's clock.
    pub(super) fn new(emulator: Emulator, adverse: Option<u64>, gate: Gate) -> Self {
        Self {
            service: Arc::new(Service::started(emulator, adverse)),
            gate,
            lives: Arc::default(),
        }
    }

    /// Returns the body's own client, called `main` in stories.
    ///
    /// The requests of this client wait like all others. In an exploration that is
    /// [`isolated`](crate::testing::Explore::isolated), use the client before the tasks start and after they end: its
    /// requests are ordered with all others.
    pub fn service(&self) -> TableServiceClient {
        self.client_named(MAIN, None)
    }

    /// Returns a client for one task. Stories show this name.
    ///
    /// # Panics
    /// The name is empty, `main` or `clock`, or has other characters than ASCII letters, digits, `-` and `_`.
    pub fn client(&self, name: &str) -> TableServiceClient {
        check_name(name);
        self.client_named(name, None)
    }

    /// Runs a process: `life` with its own client, and again after each [crash](crate::testing::Explore::crashes).
    /// Returns the output of the life that completes. Stories show this name.
    ///
    /// A crash drops the future of `life`, with all tasks that it has joined. A task that it has spawned runs on, but
    /// its requests are never sent. The next life begins at once, with a new client. Let
    /// [`advance`](crate::testing::Explore::advance) delay its requests.
    ///
    /// Everything that `life` captures survives a crash, so capture names and keys, not clients.
    ///
    /// ```
    /// use azure_table::testing::{Simulation, explore};
    /// use azure_table::{DynamicEntity, Result, TableServiceClient};
    ///
    /// /// Wrong: a process that dies between its two writes leaves a file without an owner.
    /// async fn store(service: TableServiceClient) -> Result<()> {
    ///     let rows = service.dynamic_table("Rows")?;
    ///     if !rows.exists(("p", "file")).await? {
    ///         rows.insert_or_replace(&DynamicEntity::new("p", "file")).await?;
    ///         rows.insert_or_replace(&DynamicEntity::new("p", "owner")).await?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// let found = explore(async |simulation: Simulation| -> Result<()> {
    ///     let rows = simulation.table::<DynamicEntity>("Rows");
    ///     simulation.process("writer", store).await?;
    ///     assert!(rows.exists(("p", "owner")).await?);
    ///     Ok(())
    /// })
    /// .isolated()
    /// .crashes(1)
    /// .run();
    ///
    /// let failure = found.failure().unwrap();
    /// assert_eq!(failure.schedule(), "writer*2 writer:crash writer main");
    /// ```
    ///
    /// # Panics
    /// The cases of [`client`](Self::client), or another process of this name is running.
    pub fn process<'a, T: 'a>(
        &'a self,
        name: &str,
        life: impl AsyncFn(TableServiceClient) -> T + 'a,
    ) -> impl Future<Output = T> + 'a {
        check_name(name);
        let name: Arc<str> = name.into();
        async move {
            loop {
                let (own, number) = (Arc::new(Life::default()), self.lives.fetch_add(1, Ordering::Relaxed));
                // A life that drew the numbers of an earlier one would repeat its ids.
                fastrand::seed(SEED + 1 + number);
                let _running = self.gate.begin(&name, &own);
                let mut living = pin!(life(self.client_named(&name, Some(Arc::clone(&own)))));
                let output = poll_fn(|cx| match own.poll_over(cx) {
                    Poll::Ready(()) => Poll::Ready(None),
                    Poll::Pending => living.as_mut().poll(cx).map(Some),
                });
                if let Some(output) = output.await {
                    return output;
                }
            }
        }
    }

    /// Runs a [process](Self::process) that does not begin again after a crash. Returns `None` if it has crashed.
    ///
    /// Use it to check that nothing goes wrong, if no other process waits for this one. To check that work completes,
    /// use a process that begins again.
    ///
    /// # Panics
    /// The cases of [`process`](Self::process).
    pub async fn process_once<T>(&self, name: &str, life: impl AsyncFnOnce(TableServiceClient) -> T) -> Option<T> {
        let first = Cell::new(Some(life));
        let live = async |service| match first.take() {
            Some(life) => Some(life(service).await),
            None => None,
        };
        self.process(name, live).await
    }

    /// Creates a table, and returns a client for it. The creation is not one of the ordered requests.
    ///
    /// The client belongs to the body, like [`service`](Self::service).
    ///
    /// # Panics
    /// The service rejects the name.
    #[expect(clippy::panic, reason = "a test says what failed by panicking")]
    pub fn table<E>(&self, name: &str) -> TableClient<E> {
        let made = self.emulator().seed(name, iter::empty::<DynamicEntity>());
        match made.and_then(|()| self.service().table(name)) {
            Ok(table) => table,
            Err(e) => panic!("the table of the test cannot be created: {e}"),
        }
    }

    /// Returns the emulator, to fill and inspect it without ordered requests.
    pub fn emulator(&self) -> &Emulator {
        &self.service.emulator
    }

    fn client_named(&self, name: &str, life: Option<Arc<Life>>) -> TableServiceClient {
        TableServiceClient::from_transport(GatedTransport {
            gate: self.gate.clone(),
            client: name.into(),
            behind: Arc::clone(&self.service) as Arc<dyn Transport>,
            life,
        })
    }
}

/// Checks the name of a client.
#[expect(clippy::panic, reason = "a test says what failed by panicking")]
fn check_name(name: &str) {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || [MAIN, "clock"].contains(&name) || !name.chars().all(is_word) {
        panic!(
            "a client of an exploration has a name of ASCII letters, digits, `-` and `_`, other than `main` and `clock`: {name:?}"
        );
    }
}

/// The emulator of a run, with a clock that follows tokio's.
#[derive(Debug)]
struct Service {
    emulator: Emulator,
    /// The same emulator as the clients see it.
    seen: Emulator,
    started: (DateTime, Instant),
}

impl Service {
    fn started(emulator: Emulator, adverse: Option<u64>) -> Self {
        let started = (emulator.clock().now(), Instant::now());
        let seen = emulator.clone();
        Self {
            seen: adverse.map_or(seen, |seed| emulator.clone().adverse(seed)),
            emulator,
            started,
        }
    }
}

impl Transport for Service {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let (at, instant) = self.started;
        self.emulator.clock().set(at + instant.elapsed());
        // The gate decides the order: a yield would only cost time.
        Box::pin(self.seen.exchange(request))
    }

    fn behind(&self) -> Option<&dyn Transport> {
        Some(&self.seen)
    }
}
