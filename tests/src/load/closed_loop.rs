//! Workers that each wait for a response before they send again.

use std::time::Duration;

use azure_table::emulator::{ServiceLoad, ServiceModel};
use azure_table::{DynamicEntity, Emulator, ErrorKind, NoRetry, Result, TableClient, TableServiceClient};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Returns an emulator with a model, and a table in it whose client does not retry.
///
/// # Panics
/// Never: the emulator is new.
pub async fn table(model: ServiceModel) -> (Emulator, TableClient<DynamicEntity>) {
    let at_once = Emulator::new();
    let truth = TableServiceClient::from_transport(at_once.clone())
        .dynamic_table("Things")
        .unwrap();
    truth.create_table().await.unwrap();
    let emulator = at_once.service_model(model);
    let service = TableServiceClient::from_transport(emulator.clone()).retry(NoRetry);
    (emulator, service.dynamic_table("Things").unwrap())
}

/// Workers that each wait for a response before they send again, and pause after a rejection.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop {
    /// The number of workers.
    pub workers: usize,
    /// The pause after a rejection.
    pub pause: Duration,
    /// The time before the count starts, until the queues are steady.
    pub warm_up: Duration,
    /// The time of the count.
    pub time: Duration,
}

impl ClosedLoop {
    /// Returns the counts of the service in that time. `call` receives the worker and its number of earlier calls.
    ///
    /// # Panics
    /// A call fails for another reason than throttling.
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
