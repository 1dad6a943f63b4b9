//! Settings and statistics of the service.
//!
//! Owns what is set, read and told. The documents are `protocol/service_properties.rs` and `protocol/service_statistics.rs`; what
//! the rules for browsers do is `cors.rs`. Nothing is logged and nothing counted.
//! Not confirmed: the code for a document that is well-formed and says something impossible (all that were seen beyond a
//! limit were InvalidXmlDocument), or names a setting that does not exist (it is ignored here); that statistics of the first
//! region are refused as an invalid parameter.
//!
//! Source: REST "Set Table Service Properties", "Get Table Service Properties", "Get Table Service Stats"; recorded answers.

use crate::emulator::operations::call::Call;
use crate::emulator::response::answer::Answer;
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::store::Store;
use crate::protocol::service_properties::ServiceProperties;
use crate::protocol::service_statistics::{GeoReplicationStatus, ServiceStatistics};

/// `GET /?restype=service&comp=properties`.
pub(crate) fn get(store: &Store, call: &Call<'_>) -> Answer {
    Answer::xml(&store.properties(call.site()).to_xml())
}

/// `PUT /?restype=service&comp=properties`.
pub(crate) fn set(store: &mut Store, call: &Call<'_>) -> Result<Answer> {
    let given = ServiceProperties::from_xml(call.xml()).map_err(|_| Refusal::INVALID_XML)?;
    given.check().map_err(|_| Refusal::INVALID_XML)?;
    let present = store.properties(call.site());
    // What is not said stays as it is (documented).
    let properties = ServiceProperties {
        logging: given.logging.or(present.logging),
        hour_metrics: given.hour_metrics.or(present.hour_metrics),
        minute_metrics: given.minute_metrics.or(present.minute_metrics),
        cors: given.cors.or(present.cors),
    };
    store.set_properties(call.site(), properties, call.caller.now);
    Ok(Answer::set(202))
}

/// `GET /?restype=service&comp=stats`.
pub(crate) fn statistics(call: &Call<'_>) -> Result<Answer> {
    if !call.site().is_secondary {
        return Err(Refusal::INVALID_QUERY_PARAMETER);
    }
    let statistics = ServiceStatistics {
        status: GeoReplicationStatus::Live,
        last_sync_time: Some(call.caller.now - call.caller.settings.secondary_lag),
    };
    Ok(Answer::xml(&statistics.to_xml()))
}
