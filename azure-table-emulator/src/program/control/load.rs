//! The load of the emulated service: a model of its latencies and limits, set while the program runs.
//!
//! Contains the transport that applies the current model, and the model as JSON. The models belong to the library.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use azure_table_emulator::{Emulator, ServiceModel};
use azure_table_wire::account::profile::Profile;
use azure_table_wire::transport::{BoxFuture, Transport, TransportError};
use bytes::Bytes;
use http::{Request, Response};
use serde::{Deserialize, Serialize};

use crate::preset::Preset;

/// The maximum time in a model, in milliseconds: a day.
const MAX_MILLISECONDS: f64 = 86_400_000.0;

/// The emulator with its current model, shared by clones.
#[derive(Clone, Debug)]
pub(crate) struct Load(Arc<RwLock<Current>>);

#[derive(Debug)]
struct Current {
    emulator: Emulator,
    model: Option<ModelJson>,
    /// The model of the command line.
    initial: Option<ModelJson>,
}

/// A model: a preset, numbers, or a preset with other numbers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct ModelJson {
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_latency_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_latency_per_entity_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_latency_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_per_request_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_per_entity_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_per_entity_read_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_wait_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst_milliseconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_entities_per_second: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account_entities_per_second: Option<u32>,
    /// The load in a response, accepted so that a client can send the response back.
    #[serde(skip_serializing)]
    load: serde::de::IgnoredAny,
}

/// The model and the load since it was set.
#[derive(Serialize)]
pub(super) struct LoadJson {
    #[serde(flatten)]
    model: ModelJson,
    load: Counts,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    accepted_requests: u64,
    accepted_entities: u64,
    throttled_requests: u64,
    throttled_entities: u64,
}

impl Load {
    /// Creates the transport of an emulator with the model of the command line.
    pub(crate) fn new(emulator: Emulator, model: Option<Preset>) -> Self {
        let model = model.map(|preset| ModelJson {
            model: Some(preset.name().to_owned()),
            ..ModelJson::default()
        });
        let initial = model.clone();
        Self(Arc::new(RwLock::new(Current {
            emulator,
            model,
            initial,
        })))
    }

    /// Sends requests to this emulator from now on.
    pub(super) fn respond_by(&self, emulator: Emulator) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).emulator = emulator;
    }

    pub(super) fn json(&self) -> LoadJson {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let load = current.emulator.load();
        LoadJson {
            model: current.model.clone().unwrap_or_default(),
            load: Counts {
                accepted_requests: load.accepted_requests,
                accepted_entities: load.accepted_entities,
                throttled_requests: load.throttled_requests,
                throttled_entities: load.throttled_entities,
            },
        }
    }

    /// Sets another model, or with `None` the initial one. Requests in flight keep theirs.
    pub(super) fn set(&self, json: Option<ModelJson>) -> Result<(), String> {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let json = json.or_else(|| current.initial.clone());
        let model = json.as_ref().map(ModelJson::model).transpose()?;
        current.emulator = current.emulator.clone().service_model(model);
        current.model = json;
        Ok(())
    }
}

/// A setter of a time.
type Set = fn(ServiceModel, Duration) -> ServiceModel;

impl ModelJson {
    fn model(&self) -> Result<ServiceModel, String> {
        let preset = self.model.as_deref().map(Preset::of).transpose();
        let preset = preset.map_err(|why| format!("model: {why}"))?;
        let mut model = preset.map_or_else(ServiceModel::new, Preset::model);
        let times: [(&str, Option<f64>, Set); 8] = [
            (
                "writeLatencyMilliseconds",
                self.write_latency_milliseconds,
                ServiceModel::write_latency,
            ),
            (
                "writeLatencyPerEntityMilliseconds",
                self.write_latency_per_entity_milliseconds,
                ServiceModel::write_latency_per_entity,
            ),
            (
                "readLatencyMilliseconds",
                self.read_latency_milliseconds,
                ServiceModel::read_latency,
            ),
            (
                "timePerRequestMilliseconds",
                self.time_per_request_milliseconds,
                ServiceModel::time_per_request,
            ),
            (
                "timePerEntityMilliseconds",
                self.time_per_entity_milliseconds,
                ServiceModel::time_per_entity,
            ),
            (
                "timePerEntityReadMilliseconds",
                self.time_per_entity_read_milliseconds,
                ServiceModel::time_per_entity_read,
            ),
            (
                "maxWaitMilliseconds",
                self.max_wait_milliseconds,
                ServiceModel::max_wait,
            ),
            ("burstMilliseconds", self.burst_milliseconds, ServiceModel::burst),
        ];
        for (name, value, set) in times {
            let Some(value) = value else { continue };
            if !(0.0..=MAX_MILLISECONDS).contains(&value) {
                return Err(format!("{name}: {value}, it must be 0 to {MAX_MILLISECONDS}"));
            }
            model = set(model, Duration::from_secs_f64(value / 1_000.0));
        }
        model = capped(
            model,
            "partitionEntitiesPerSecond",
            self.partition_entities_per_second,
            ServiceModel::partition_entities_per_second,
        )?;
        capped(
            model,
            "accountEntitiesPerSecond",
            self.account_entities_per_second,
            ServiceModel::account_entities_per_second,
        )
    }
}

/// Sets the rate, if the JSON has one.
fn capped(
    model: ServiceModel,
    name: &str,
    rate: Option<u32>,
    set: fn(ServiceModel, u32) -> ServiceModel,
) -> Result<ServiceModel, String> {
    match rate {
        None => Ok(model),
        Some(0) => Err(format!("{name}: 0, it must be 1 to {}", u32::MAX)),
        Some(rate) => Ok(set(model, rate)),
    }
}

impl Transport for Load {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let emulator = current.emulator.clone();
        Box::pin(async move { emulator.send(request).await })
    }

    fn profile(&self) -> Option<Profile> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.emulator.profile()
    }
}
