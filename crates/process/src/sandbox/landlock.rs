//! Restricts the calling process with the kernel's Landlock. Knows nothing about mounts and networks.
//!
//! Only rights to change are handled: reading and executing stay free everywhere. The rights of version 5 and the scopes of
//! version 6 are all that is asked for; an older kernel enforces those that it has.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, RestrictSelf, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use crate::wire::Jail;

/// What this module asks for.
const ASKED: ABI = ABI::V6;
/// Before this version no file could be moved from one folder to another, which is more than honest work can bear.
const OLDEST: u32 = 2;
/// What any program may write.
const DEVICES: [&str; 9] = [
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/random",
    "/dev/shm",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// The version of the running kernel, or why there is none to use.
pub(super) fn version() -> Result<u32, String> {
    let status = RestrictSelf::default().no_new_privs(false).apply().map_err(|error| error.to_string())?;
    let version = match status.landlock {
        LandlockStatus::NotEnabled => {
            return Err("Landlock is disabled in this kernel (see the lsm= boot option)".into());
        }
        LandlockStatus::NotImplemented => {
            return Err("this kernel has no Landlock (Linux 5.19 or newer is required)".into());
        }
        LandlockStatus::Available { effective_abi, kernel_abi } => kernel_abi.unwrap_or(effective_abi as i32),
    };
    match u32::try_from(version) {
        Ok(version) if version >= OLDEST => Ok(version),
        _ => Err("the Landlock of this kernel is too old (Linux 5.19 or newer is required)".into()),
    }
}

/// From here on, this process and all that it starts write only what it may. It cannot be undone.
pub(super) fn restrict(jail: &Jail) -> Result<(), String> {
    match apply(jail) {
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => Ok(()),
        Ok(RulesetStatus::NotEnforced) => Err("the kernel does not enforce Landlock any more".into()),
        Err(error) => Err(format!("Landlock: {error}")),
    }
}

fn apply(jail: &Jail) -> Result<RulesetStatus, RulesetError> {
    let handled = AccessFs::from_write(ASKED);
    // A device is a way around every file system, and honest work creates none.
    let granted = handled & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    let devices =
        DEVICES.iter().map(Path::new).filter(|device| !jail.hidden.iter().any(|path| path.starts_with(device)));
    // Root could change the settings of the machine there. Others are kept to their own processes by the kernel.
    let processes = (!rustix::process::geteuid().is_root()).then_some(Path::new("/proc"));
    let in_place: BitFlags<AccessFs> = AccessFs::WriteFile | AccessFs::Truncate;
    let status = Ruleset::default()
        .handle_access(handled)?
        .scope(Scope::from_all(ASKED))?
        .create()?
        .add_rules(path_beneath_rules(&jail.writable, granted))?
        .add_rules(path_beneath_rules(devices, granted))?
        .add_rules(path_beneath_rules(processes, in_place))?
        .restrict_self()?;
    Ok(status.ruleset)
}
