//! Properties and statistics of an account's service, and a ping.
//!
//! Source: REST "Get Table Service Properties", "Set Table Service Properties", "Get Table Service Stats".

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::require;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::request::http_request::{odata, xml};
use azure_table_wire::response;
use azure_table_wire::service::service_properties::{self, ServiceProperties};
use azure_table_wire::service::service_statistics::{self, ServiceStatistics};
use azure_table_wire::value::location::Location;
use bytes::Bytes;
use http::{Method, Response, StatusCode};

use crate::request::query;
use crate::write::operation_request::OperationRequest;

const PROPERTIES: &str = "?restype=service&comp=properties";

/// Builds `GET /?restype=service&comp=properties`.
pub(crate) fn get_properties(endpoint: &Endpoint) -> Result<OperationRequest> {
    require(endpoint.profile(), "service properties")?;
    let request = xml(endpoint.uri(PROPERTIES)?, Method::GET, None);
    Ok(OperationRequest::new(OperationKind::GetServiceProperties, request))
}

pub(crate) fn properties(response: Response<Bytes>) -> Result<ServiceProperties> {
    read(response, service_properties::from_xml)
}

/// Builds `PUT /?restype=service&comp=properties`.
pub(crate) fn set_properties(endpoint: &Endpoint, properties: &ServiceProperties) -> Result<OperationRequest> {
    require(endpoint.profile(), "service properties")?;
    service_properties::check(properties)?;
    let request = xml(
        endpoint.uri(PROPERTIES)?,
        Method::PUT,
        Some(service_properties::to_xml(properties)),
    );
    Ok(OperationRequest::new(OperationKind::SetServiceProperties, request))
}

pub(crate) fn properties_set(response: Response<Bytes>) -> Result<()> {
    response::expect(response, &[StatusCode::ACCEPTED]).map(drop)
}

/// Builds `GET /?restype=service&comp=stats` for the secondary.
pub(crate) fn get_statistics(endpoint: &Endpoint) -> Result<OperationRequest> {
    require(endpoint.profile(), "service statistics")?;
    let uri = endpoint.secondary_uri("?restype=service&comp=stats")?;
    let mut operation = OperationRequest::new(OperationKind::GetServiceStatistics, xml(uri, Method::GET, None));
    operation.location = Location::Secondary;
    Ok(operation)
}

pub(crate) fn statistics(response: Response<Bytes>) -> Result<ServiceStatistics> {
    read(response, service_statistics::from_xml)
}

/// Builds `GET /Tables?$top=1`.
pub(crate) fn ping(endpoint: &Endpoint) -> Result<OperationRequest> {
    let request = odata(endpoint, Method::GET, "Tables?$top=1", MetadataLevel::None)?;
    Ok(OperationRequest::new(OperationKind::Ping, request))
}

pub(crate) fn pinged(response: Response<Bytes>) -> Result<()> {
    query::read_response(response, MetadataLevel::None, |_| Ok(None::<()>)).map(drop)
}

/// Parses the document of a response.
pub(crate) fn read<T>(response: Response<Bytes>, read: fn(&[u8]) -> Result<T, ValueError>) -> Result<T> {
    let response = response::expect(response, &[StatusCode::OK])?;
    read(response.body()).map_err(|e| {
        Error::invalid_response(e.to_string())
            .with_status(response.status().as_u16())
            .with_request_id(response::request_id(&response))
    })
}
