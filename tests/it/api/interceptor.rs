//! A transport that acts before the first batch.

use std::sync::Mutex;

use azure_table::transport::Transport;
use azure_table_tests::intercept::Intercept;

/// Creates a transport that awaits `act` before it sends the first batch.
pub(crate) fn before_first_batch<F>(behind: impl Transport, act: impl FnOnce() -> F + Send + 'static) -> Intercept
where
    F: Future<Output = ()> + Send + 'static,
{
    let act = Mutex::new(Some(act));
    Intercept::new(behind, move |behind, request| {
        let is_batch = request.uri().path().ends_with("$batch");
        let act = is_batch.then(|| act.lock().unwrap().take()).flatten();
        let acted = act.map(|act| act());
        async move {
            if let Some(acted) = acted {
                acted.await;
            }
            behind.send(request).await
        }
    })
}
