//! The environment in which a promise of a pattern is checked: a run of an exploration, or a service with faults.

use azure_table::testing::Simulation;
use azure_table::{DynamicEntity, Emulator, TableClient, TableServiceClient};
use futures::future::LocalBoxFuture;

/// A service, and the client of each task.
#[derive(Debug)]
pub struct Place {
    emulator: Emulator,
    to: To,
    /// At most one fault happens in total, so that a retried call succeeds.
    pub recovers: bool,
}

#[derive(Debug)]
enum To {
    Simulation(Simulation),
    Services {
        faulty: TableServiceClient,
        sound: TableServiceClient,
    },
}

/// A promise that holds in every order of the requests, and with any fault.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// The calls of the two tasks.
    pub name: &'static str,
    /// Runs the calls, and checks their results and the stored rows.
    pub hold: fn(Place) -> LocalBoxFuture<'static, ()>,
}

impl Place {
    /// The service of a run.
    pub fn explored(simulation: Simulation) -> Self {
        Self {
            emulator: simulation.emulator().clone(),
            to: To::Simulation(simulation),
            recovers: true,
        }
    }

    /// An emulator. All tasks access it by a client with faults, the body by one without.
    pub fn behind_faults(
        emulator: &Emulator,
        faulty: TableServiceClient,
        sound: TableServiceClient,
        recovers: bool,
    ) -> Self {
        Self {
            emulator: emulator.clone(),
            to: To::Services { faulty, sound },
            recovers,
        }
    }

    pub(super) fn emulator(&self) -> &Emulator {
        &self.emulator
    }

    /// Returns a client without gate and faults.
    pub(super) fn behind(&self) -> TableServiceClient {
        TableServiceClient::from_transport(self.emulator.clone())
    }

    /// Returns the body's own client: with the gate, without the faults.
    pub(super) fn service(&self) -> TableServiceClient {
        match &self.to {
            To::Simulation(simulation) => simulation.service(),
            To::Services { sound, .. } => sound.clone(),
        }
    }

    /// Returns the client of a task.
    pub(super) fn client(&self, name: &str) -> TableServiceClient {
        match &self.to {
            To::Simulation(simulation) => simulation.client(name),
            To::Services { faulty, .. } => faulty.clone(),
        }
    }

    /// Creates a table without the gate, and returns a client of it for each of two tasks.
    pub(super) fn clients<E>(&self, table: &str) -> [TableClient<E>; 2] {
        self.emulator.seed(table, std::iter::empty::<DynamicEntity>()).unwrap();
        ["a", "b"].map(|name| self.client(name).table(table).unwrap())
    }
}

/// Returns the body of an exploration.
pub(super) fn at(hold: impl AsyncFn(Place)) -> impl AsyncFn(Simulation) {
    async move |simulation| hold(Place::explored(simulation)).await
}
