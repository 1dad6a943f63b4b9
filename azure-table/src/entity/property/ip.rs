//! Addresses of the Internet Protocol: Edm.String.
//!
//! Their text does not sort as the addresses do (`10.0.0.0` before `9.0.0.0`). They are therefore compared for equality
//! only, and cannot be part of a key.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};

macro_rules! addresses {
    ($($type:ty: $expected:literal;)*) => {$(
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = EdmType::String;
            const SORTED: bool = false;

            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::String(Cow::Owned(self.to_string()))))
            }
        }

        impl ReadProperty for $type {
            fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
                let text = value.as_str()?;
                text.parse().map_err(|_| expected($expected, format_args!("{text:?}")))
            }
        }
    )*};
}
addresses! {
    IpAddr: "an IP address";
    Ipv4Addr: "an IPv4 address";
    Ipv6Addr: "an IPv6 address";
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
