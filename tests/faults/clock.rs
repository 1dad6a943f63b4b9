//! A clock of this machine that is wrong.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::{
    DateTime, DynamicEntity, Emulator, EmulatorClock, Event, Observer, OperationContext, TableServiceClient,
};

#[derive(Debug)]
struct Corrections(Arc<Mutex<Vec<i64>>>);

impl Observer for Corrections {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::ClockCorrected { seconds } = event {
            self.0.lock().unwrap().push(*seconds);
        }
    }
}

/// pains 54: requests are signed once more, with the service's time, and then always with it.
#[tokio::test]
async fn a_wrong_clock_is_corrected_once() {
    for behind in [true, false] {
        let clock = EmulatorClock::system();
        match behind {
            true => clock.advance(Duration::from_secs(3_600)),
            false => clock.set(DateTime::now() - Duration::from_secs(3_600)),
        }
        let corrections = Arc::new(Mutex::new(Vec::new()));
        let service = TableServiceClient::on(Emulator::new().with_clock(clock));
        let service = service.observer(Corrections(Arc::clone(&corrections)));
        let table = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        let context = OperationContext::new();
        table
            .insert(&DynamicEntity::new("p", "r"))
            .context(&context)
            .await
            .unwrap();
        assert_eq!(context.attempts().len(), 1, "it is kept");
        let corrections = corrections.lock().unwrap();
        match behind {
            true => assert!(matches!(corrections[..], [3_595..=3_600]), "{corrections:?}"),
            // The emulator does not refuse what comes from the future.
            false => assert!(corrections.is_empty(), "{corrections:?}"),
        }
    }
}
