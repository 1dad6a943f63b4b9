//! The responses to a probe on one side.

use crate::comparison::probe::{Needs, Probe};
use crate::fact::On;
use crate::service::account::Account;
use crate::service::seen::Seen;
use crate::service::side::Side;

/// The reasons for which a probe waits for another account.
pub(crate) const NEEDS_STORAGE: &str = "it needs Azure Table storage";
pub(crate) const NEEDS_COSMOS: &str = "it needs Cosmos DB";

/// The responses of a probe, and the reason why further ones are missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) steps: Vec<Seen>,
    pub(crate) failed: Option<String>,
}

impl Side {
    /// Sends the requests of a probe.
    pub(crate) async fn observe(&self, index: usize, probe: &Probe) -> Observed {
        let mut observed = Observed::default();
        if let Err(why) = self.steps(index, probe, &mut observed).await {
            observed.failed = Some(self.mask.hide(&why));
        }
        observed
    }

    async fn steps(&self, index: usize, probe: &Probe, observed: &mut Observed) -> Result<(), String> {
        for name in probe.free {
            self.require_free(name).await?;
        }
        let mut names = self.names(index);
        for step in probe.steps {
            if step.waits {
                self.wait_for_change().await;
            }
            let (response, mask) = self.send(step, &names).await?;
            if let Some(etag) = response.headers().get("etag").and_then(|value| value.to_str().ok()) {
                etag.clone_into(&mut names.etag);
            }
            let seen = Seen::of(&response, &mask);
            if step.is_setup && seen.status >= 400 {
                let (method, path) = (step.method, step.path);
                return Err(format!(
                    "{method} {path}, which prepares the probe, fails: {}",
                    seen.outcome()
                ));
            }
            observed.steps.push(seen);
        }
        Ok(())
    }
}

/// Returns the reason why a probe cannot run on an account.
pub(crate) fn obstacle(probe: &Probe, account: &Account, change_properties: bool) -> Option<&'static str> {
    match (probe.on, account.is_cosmos) {
        (On::Storage, true) => return Some(NEEDS_STORAGE),
        (On::Cosmos, false) => return Some(NEEDS_COSMOS),
        _ => {}
    }
    match probe.needs {
        Needs::Key | Needs::Properties if account.key().is_none() => Some("it needs the account key"),
        Needs::Properties if !change_properties => Some("it changes the service properties: --change-properties"),
        _ => None,
    }
}
