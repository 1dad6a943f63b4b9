//! Workers that each wait for an answer before they ask again.

use std::time::Duration;

use azure_table::emulator::{ServiceLoad, ServiceModel};
use azure_table::{DynamicEntity, Emulator, ErrorKind, NoRetry, Result, TableClient, TableServiceClient};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// An emulator with a model, and a table in it whose client repeats nothing.
///
/// # Panics
/// Never: the emulator is fresh.
pub async fn table(model: ServiceModel) -> (Emulator, TableClient<DynamicEntity>) {
    let at_once = Emulator::new();
    let truth = TableServiceClient::on(at_once.clone()).dynamic_table("Things").unwrap();
    truth.create_table().await.unwrap();
    let emulator = at_once.with_service_model(model);
    let service = TableServiceClient::on(emulator.clone()).retry(NoRetry);
    (emulator, service.dynamic_table("Things").unwrap())
}

/// Workers that each wait for an answer before they send again, and pause after a refusal.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop {
    /// How many there are.
    pub workers: usize,
    /// After a refusal.
    pub pause: Duration,
    /// Before anything is counted, so that the queues are as they stay.
    pub warm_up: Duration,
    /// For how long it is counted.
    pub time: Duration,
}

impl ClosedLoop {
    /// What the service did in the time. `call` is told the worker and how many calls it made before.
    ///
    /// # Panics
    /// A call fails for another reason than that there is too much.
    pub async fn run<F>(
        self,
        emulator: &Emulator,
        call: impl Fn(usize, usize) -> F + Clone + Send + 'static,
    ) -> ServiceLoad
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
