//! The predefined models of a service's latencies and limits.

use azure_table_emulator::ServiceModel;
use clap::ValueEnum;

/// A predefined model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    Today,
    #[value(name = "2010")]
    In2010,
}

impl Preset {
    /// Returns the preset with a name. The error lists the names.
    pub(crate) fn of(name: &str) -> Result<Self, String> {
        <Self as ValueEnum>::from_str(name, false).map_err(|_| format!("{name}: it must be today or 2010"))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::In2010 => "2010",
        }
    }

    pub(crate) fn model(self) -> ServiceModel {
        match self {
            Self::Today => ServiceModel::azure_storage(),
            Self::In2010 => ServiceModel::azure_storage_2010(),
        }
    }
}
