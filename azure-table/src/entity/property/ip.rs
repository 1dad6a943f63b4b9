//! Addresses of the Internet Protocol: Edm.String.
//!
//! Their text does not sort as the addresses do (`10.0.0.0` before `9.0.0.0`). They are therefore compared for equality
//! only, and cannot be part of a key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty, as_text};

as_text! {
    IpAddr, sorted: false, |text| read(text, "an IP address");
    Ipv4Addr, sorted: false, |text| read(text, "an IPv4 address");
    Ipv6Addr, sorted: false, |text| read(text, "an IPv6 address");
}

fn read<T: FromStr>(text: &str, what: &str) -> Result<T, ValueError> {
    text.parse().map_err(|_| expected(what, format_args!("{text:?}")))
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;
    use proptest::prelude::*;

    use super::*;

    fn read<T: ReadProperty>(text: &str) -> Result<T, ValueError> {
        T::from_wire(WireValue {
            annotation: None,
            token: Token::Text(text),
        })
    }

    #[test]
    fn addresses_are_stored_as_their_text() {
        assert_eq!(Ipv4Addr::LOCALHOST.to_edm().unwrap(), Some(Edm::from("127.0.0.1")));
        assert_eq!(
            IpAddr::from(Ipv6Addr::LOCALHOST).to_edm().unwrap(),
            Some(Edm::from("::1"))
        );
        assert_eq!(
            read::<Ipv4Addr>("::1").unwrap_err().to_string(),
            "expected an IPv4 address, found \"::1\""
        );
        for wrong in ["", "127.0.0.1:80", "127.0.0", "localhost"] {
            assert!(read::<IpAddr>(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_address_round_trips(address in any::<IpAddr>()) {
            let Some(Edm::String(text)) = address.to_edm().unwrap() else { panic!() };
            prop_assert_eq!(read::<IpAddr>(&text).unwrap(), address);
            match address {
                IpAddr::V4(address) => prop_assert_eq!(read::<Ipv4Addr>(&text).unwrap(), address),
                IpAddr::V6(address) => prop_assert_eq!(read::<Ipv6Addr>(&text).unwrap(), address),
            }
        }
    }
}
