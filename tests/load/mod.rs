//! The emulator under load: what its service model takes, how long it needs, what it refuses. On a paused clock.

mod adaptive;
mod limits;
mod splits;
mod study;

use std::time::Duration;

use azure_table::TableServiceClient;
use azure_table::{DynamicEntity, Emulator, ErrorKind, NoRetry, Result, ServiceLoad, ServiceModel, TableClient};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// An emulator with a model, and a table in it whose client repeats nothing.
async fn table(model: ServiceModel) -> (Emulator, TableClient<DynamicEntity>) {
    let at_once = Emulator::new();
    let truth = TableServiceClient::on(at_once.clone()).dynamic_table("Things").unwrap();
    truth.create_table().await.unwrap();
    let emulator = at_once.with_service_model(model);
    let service = TableServiceClient::on(emulator.clone()).retry(NoRetry);
    (emulator, service.dynamic_table("Things").unwrap())
}

/// Workers that each wait for an answer before they send again, and pause after a refusal.
struct ClosedLoop {
    workers: usize,
    pause: Duration,
    /// Before anything is counted, so that the queues are as they stay.
    warm_up: Duration,
    time: Duration,
}

impl ClosedLoop {
    /// What the service did in the time. `call` is told the worker and how many calls it made before.
    async fn run<F>(self, emulator: &Emulator, call: impl Fn(usize, usize) -> F + Clone + Send + 'static) -> ServiceLoad
    where
        F: Future<Output = Result<()>> + Send,
    {
        let mut workers = JoinSet::new();
        for worker in 0..self.workers {
            let call = call.clone();
            workers.spawn(async move {
                for n in 0.. {
                    match call(worker, n).await {
                        Ok(()) => {}
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Throttled, "{error}");
                            sleep(self.pause).await;
                        }
                    }
                }
            });
        }
        sleep(self.warm_up).await;
        let before = emulator.load();
        sleep(self.time).await;
        let load = emulator.load().since(&before);
        assert!(workers.try_join_next().is_none(), "no worker has failed");
        load
    }
}
