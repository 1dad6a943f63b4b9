//! Properties and statistics of an account's service, and a ping.
//!
//! Source: REST "Get Table Service Properties", "Set Table Service Properties", "Get Table Service Stats".

use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::model::entity::MetadataLevel;
use crate::model::error::{Error, ErrorInternals, Result, ValueError};
use crate::model::location::Location;
use crate::model::operation_kind::OperationKind;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::http_request::{odata, xml};
use crate::protocol::profile::Feature;
use crate::protocol::request::Call;
use crate::protocol::response;
use crate::protocol::service_properties::{self, ServiceProperties};
use crate::protocol::service_statistics::ServiceStatistics;

const PROPERTIES: &str = "?restype=service&comp=properties";

/// Builds `GET /?restype=service&comp=properties`.
pub fn get_properties(endpoint: &Endpoint) -> Result<Call> {
    endpoint.profile().require(Feature::ServiceProperties)?;
    let request = xml(endpoint.uri(PROPERTIES)?, Method::GET, None);
    Ok(Call::new(OperationKind::GetServiceProperties, request))
}

pub fn properties(response: Response<Bytes>) -> Result<ServiceProperties> {
    read(response, service_properties::from_xml)
}

/// Builds `PUT /?restype=service&comp=properties`.
pub fn set_properties(endpoint: &Endpoint, properties: &ServiceProperties) -> Result<Call> {
    endpoint.profile().require(Feature::ServiceProperties)?;
    service_properties::check(properties)?;
    let request = xml(
        endpoint.uri(PROPERTIES)?,
        Method::PUT,
        Some(service_properties::to_xml(properties)),
    );
    Ok(Call::new(OperationKind::SetServiceProperties, request))
}

pub fn properties_set(response: Response<Bytes>) -> Result<()> {
    response::expect(response, &[StatusCode::ACCEPTED]).map(drop)
}

/// Builds `GET /?restype=service&comp=stats` for the secondary.
pub fn get_statistics(endpoint: &Endpoint) -> Result<Call> {
    endpoint.profile().require(Feature::ServiceStatistics)?;
    let uri = endpoint.secondary_uri("?restype=service&comp=stats")?;
    let mut call = Call::new(OperationKind::GetServiceStatistics, xml(uri, Method::GET, None));
    call.location = Location::Secondary;
    Ok(call)
}

pub fn statistics(response: Response<Bytes>) -> Result<ServiceStatistics> {
    read(response, ServiceStatistics::from_xml)
}

/// Builds `GET /Tables?$top=1`.
pub fn ping(endpoint: &Endpoint) -> Result<Call> {
    let request = odata(endpoint, Method::GET, "Tables?$top=1", MetadataLevel::None)?;
    Ok(Call::new(OperationKind::Ping, request))
}

pub fn pinged(response: Response<Bytes>) -> Result<()> {
    response::expect(response, &[StatusCode::OK]).map(drop)
}

/// Parses the document of a response.
pub fn read<T>(response: Response<Bytes>, read: fn(&[u8]) -> Result<T, ValueError>) -> Result<T> {
    let response = response::expect(response, &[StatusCode::OK])?;
    read(response.body()).map_err(|e| {
        Error::invalid_response(e.to_string())
            .with_status(response.status().as_u16())
            .with_request_id(response::request_id(&response))
    })
}
