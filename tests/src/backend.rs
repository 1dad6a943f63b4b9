//! The services on which the suite runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use azure_table::auth::{AccountPermissions, AccountResources, SharedKeyLite};
use azure_table::testing::{Recorder, Replay};
use azure_table::transport::{BoxFuture, HttpTransport, Transport, TransportError};
use azure_table::{AccountSas, Credential, DateTime, SasToken, TablePermissions, TableSas};
use azure_table::{Emulator, EmulatorServer, RunningEmulator, TableClient, TableServiceClient};
use bytes::Bytes;
use http::{Request, Response};

use crate::intercept::Intercept;
use crate::network::{Network, NetworkTransport};

/// A connection string of a running Azurite, which `tests/external/azurite/run` sets.
pub const AZURITE: &str = "AZURE_TABLE_TEST_AZURITE";
/// The HTTPS address of a running Azurite that accepts tokens, which `tests/external/azurite/run --oauth` sets.
pub const AZURITE_OAUTH: &str = "AZURE_TABLE_TEST_AZURITE_OAUTH";
/// The file of its certificate, in PEM.
pub const AZURITE_CERTIFICATE: &str = "AZURE_TABLE_TEST_AZURITE_CERTIFICATE";
/// The beginning of new names, unless a program sets another one.
const PREFIX: &str = "t";

/// A service under test.
#[derive(Debug)]
pub struct Backend {
    name: &'static str,
    service: TableServiceClient,
    /// The transport that replaces the network, if the suite runs in this process.
    double: Option<Double>,
    /// The transport to the server, if it is not the default.
    network: Option<NetworkTransport>,
    /// Keeps the server of the emulator alive.
    _server: Option<RunningEmulator>,
    /// A new table is accessed with its own signature.
    by_table_sas: bool,
    /// The number of new names, if they must be the same in every run.
    names: Option<AtomicU32>,
    /// The beginning of new names.
    prefix: String,
}

/// A service in this process, recorded or not, or its recording.
#[derive(Clone, Debug)]
enum Double {
    Emulator(Emulator),
    Recorder(Recorder),
    Replay(Replay),
    /// The transport of another program.
    Other(Arc<dyn Transport>),
}

impl Transport for Double {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        match self {
            Self::Emulator(emulator) => emulator.send(request),
            Self::Recorder(recorder) => recorder.send(request),
            Self::Replay(replay) => replay.send(request),
            Self::Other(transport) => transport.send(request),
        }
    }
}

impl Backend {
    /// Returns a new emulator in this process.
    pub fn emulator() -> Self {
        let emulator = Emulator::new();
        Self {
            name: "emulator",
            service: TableServiceClient::from_transport(emulator.clone()),
            double: Some(Double::Emulator(emulator)),
            network: None,
            _server: None,
            by_table_sas: false,
            names: None,
            prefix: PREFIX.to_owned(),
        }
    }

    /// Returns a new emulator in this process that responds at once, and records its requests in a file.
    ///
    /// # Panics
    /// The file cannot be created.
    pub fn recorded(file: &Path) -> Self {
        let recorder = Recorder::create(file, Intercept::at_once(Emulator::new())).unwrap();
        Self::repeatable("recorded emulator", Double::Recorder(recorder))
    }

    /// Returns the recording in that file, without the emulator. The suite sends some requests concurrently.
    pub fn replayed(replay: &Replay) -> Self {
        Self::repeatable("replay", Double::Replay(replay.clone()))
    }

    fn repeatable(name: &'static str, double: Double) -> Self {
        Self {
            name,
            service: TableServiceClient::from_transport(double.clone()),
            double: Some(double),
            network: None,
            _server: None,
            by_table_sas: false,
            names: Some(AtomicU32::new(0)),
            prefix: PREFIX.to_owned(),
        }
    }

    /// Returns a new emulator on a port of this machine.
    ///
    /// # Panics
    /// No port is available.
    pub async fn emulator_over_http() -> Self {
        let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
        let service = TableServiceClient::from_connection_string(&server.connection_string()).unwrap();
        Self {
            name: "emulator over HTTP",
            service,
            double: None,
            network: None,
            _server: Some(server.spawn()),
            by_table_sas: false,
            names: None,
            prefix: PREFIX.to_owned(),
        }
    }

    /// Returns the same, over a transport that is not the default.
    ///
    /// # Panics
    /// No port is available.
    pub async fn emulator_over(network: Network) -> Self {
        let mut backend = Self::emulator_over_http().await;
        let network = network.transport();
        backend.service = backend.service.transport(network.clone());
        backend.network = Some(network);
        backend
    }

    /// Returns the Azurite that the environment names.
    ///
    /// # Panics
    /// The environment names none. Tests that call it are then ignored, see `build.rs`.
    pub fn azurite() -> Self {
        Self {
            name: "Azurite",
            service: TableServiceClient::from_connection_string(&variable(AZURITE)).unwrap(),
            double: None,
            network: None,
            _server: None,
            by_table_sas: false,
            names: None,
            prefix: PREFIX.to_owned(),
        }
    }

    /// Returns the Azurite that the environment names, over HTTPS and by a credential with tokens.
    ///
    /// # Panics
    /// The environment names none, or its certificate cannot be used. Tests that call it are ignored if none is named.
    pub fn azurite_with_token(credential: impl Credential + 'static) -> Self {
        let endpoint = variable(AZURITE_OAUTH);
        let certificate = variable(AZURITE_CERTIFICATE);
        let transport = HttpTransport::builder()
            .root_certificates(std::fs::read(certificate).unwrap())
            .build()
            .unwrap();
        Self {
            name: "Azurite",
            service: TableServiceClient::new(&endpoint, credential)
                .unwrap()
                .transport(transport),
            double: None,
            network: None,
            _server: None,
            by_table_sas: false,
            names: None,
            prefix: PREFIX.to_owned(),
        }
    }

    /// Returns the account of a client over the transport that all its clients share. New tables begin with the prefix.
    pub fn of_account(
        name: &'static str,
        service: TableServiceClient,
        transport: Arc<dyn Transport>,
        prefix: &str,
    ) -> Self {
        Self {
            name,
            service,
            double: Some(Double::Other(transport)),
            network: None,
            _server: None,
            by_table_sas: false,
            names: None,
            prefix: prefix.to_owned(),
        }
    }

    /// Returns the client of its account.
    pub fn service(&self) -> &TableServiceClient {
        &self.service
    }

    /// Returns a client of the same account with a shared access signature.
    ///
    /// # Panics
    /// Never: the backend's address is valid.
    pub fn with_sas(&self, token: &SasToken) -> TableServiceClient {
        self.connect(&format!(
            "TableEndpoint={};SharedAccessSignature={}",
            self.service.endpoint(),
            token.expose()
        ))
    }

    /// Returns a client of the same service with another connection string.
    ///
    /// # Panics
    /// The connection string is invalid.
    pub fn connect(&self, connection_string: &str) -> TableServiceClient {
        self.on_its_way(TableServiceClient::from_connection_string(connection_string).unwrap())
    }

    /// Returns the client with the transport of this backend.
    fn on_its_way(&self, service: TableServiceClient) -> TableServiceClient {
        match (&self.double, &self.network) {
            (Some(double), _) => service.transport(double.clone()),
            (None, Some(network)) => service.transport(network.clone()),
            (None, None) => service,
        }
    }

    /// Returns the same backend with a signature that allows everything instead of the key.
    ///
    /// # Panics
    /// The backend has no account key.
    #[must_use]
    pub fn through_account_sas(mut self) -> Self {
        let permissions = [
            AccountPermissions::READ,
            AccountPermissions::WRITE,
            AccountPermissions::DELETE,
            AccountPermissions::LIST,
            AccountPermissions::ADD,
            AccountPermissions::CREATE,
            AccountPermissions::UPDATE,
        ];
        let permissions = permissions.into_iter().reduce(|all, one| all | one).unwrap();
        let resources = AccountResources::SERVICE | AccountResources::TABLES | AccountResources::ENTITIES;
        let expiry = DateTime::now() + Duration::from_secs(3_600);
        let sas = AccountSas::new(permissions, resources, expiry);
        let token = sas.sign(self.service.account_key().unwrap()).unwrap();
        self.service = self.with_sas(&token);
        self
    }

    /// Returns the same backend with the other scheme of signatures by its key.
    ///
    /// # Panics
    /// The backend has no account key.
    #[must_use]
    pub fn through_shared_key_lite(mut self) -> Self {
        let key = SharedKeyLite(self.service.account_key().unwrap().clone());
        self.service = self.on_its_way(TableServiceClient::new(self.service.endpoint(), key).unwrap());
        self
    }

    /// Returns the same backend, which accesses each new table with a signature that allows everything on it.
    #[must_use]
    pub fn through_table_sas(mut self) -> Self {
        self.by_table_sas = true;
        self
    }

    /// Returns a name for messages.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the beginning of new names.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns a name that no other test uses.
    pub fn fresh_name(&self) -> String {
        if let Some(names) = &self.names {
            return format!("{}{}fresh", self.prefix, names.fetch_add(1, Ordering::Relaxed));
        }
        format!(
            "{}{}",
            self.prefix,
            azure_table::Guid::random().to_string().replace('-', "")
        )
    }

    /// Creates a new, empty table.
    ///
    /// # Panics
    /// It cannot be created.
    pub async fn fresh_table<E>(&self) -> TableClient<E> {
        let table = self.service.table::<E>(self.fresh_name()).unwrap();
        table.create_table().await.unwrap();
        if !self.by_table_sas {
            return table;
        }
        let all = TablePermissions::READ | TablePermissions::ADD | TablePermissions::UPDATE | TablePermissions::DELETE;
        let expiry = DateTime::now() + Duration::from_secs(3_600);
        let sas = TableSas::new(table.name()).permissions(all).expiry(expiry);
        let token = sas.sign(self.service.account_key().unwrap()).unwrap();
        self.with_sas(&token).table(table.name()).unwrap()
    }

    /// Deletes a table that [`fresh_table`](Self::fresh_table) created.
    ///
    /// # Panics
    /// It cannot be deleted.
    pub async fn drop_table<E>(&self, table: &TableClient<E>) {
        self.service
            .table::<E>(table.name())
            .unwrap()
            .delete_table()
            .await
            .unwrap();
    }
}

/// Returns a variable of the environment that the tests on a service need.
fn variable(name: &str) -> String {
    match std::env::var(name) {
        Ok(value) => value,
        Err(e) => panic!("{name}: {e}; tests/external/azurite/run sets them for Azurite"),
    }
}
