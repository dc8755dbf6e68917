//! How the machine is: the indicators that `status` shows beside the services (execution R133).

use std::fs;
use std::path::Path;

use serde::Serialize;

/// What the system tells; absent where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MachineLoad {
    /// Processes that want a processor, on average over a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available_bytes: Option<u64>,
    /// On the disk of the home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_available_bytes: Option<u64>,
}

impl MachineLoad {
    pub fn read(home: &Path) -> MachineLoad {
        let load = fs::read_to_string("/proc/loadavg")
            .ok()
            .and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
        let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
            let kilobytes: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
            Some(kilobytes * 1024)
        });
        let disk = rustix::fs::statvfs(home).ok();
        MachineLoad {
            load,
            memory_available_bytes: memory,
            disk_available_bytes: disk.map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize)),
        }
    }
}
