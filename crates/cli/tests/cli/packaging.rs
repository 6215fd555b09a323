//! Scripts of the Debian package.

use std::path::Path;
use std::process::Command;

use crate::support::{Directory, root};

/// Runs a script of the package for a system in a directory.
fn script(system: &Path, name: &str, arguments: &[&str]) {
    let script = root().join("packaging/debian").join(name);
    let output = Command::new("sh").arg(script).args(arguments).env("DPKG_ROOT", system).output().unwrap();
    assert!(output.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the target of `/usr/bin/babeltrace2` in a system.
fn link(system: &Path) -> Option<String> {
    let target = std::fs::read_link(system.join("usr/bin/babeltrace2")).ok()?;
    Some(target.to_str().unwrap().to_owned())
}

#[test]
fn the_package_offers_babeltrace2() {
    if Command::new("update-alternatives").arg("--version").output().is_err() {
        eprintln!("skipped: `update-alternatives` is not installed");
        return;
    }
    let system = Directory::new("packaging");
    let pages = system.join("usr/share/man/man1");
    for directory in
        ["usr/bin", "usr/share/man/man1", "var/lib/dpkg/alternatives", "etc/alternatives", "var/log"]
    {
        std::fs::create_dir_all(system.join(directory)).unwrap();
    }
    for file in ["usr/bin/ichnos", "usr/share/man/man1/ichnos-babeltrace2.1.gz"] {
        std::fs::write(system.join(file), "").unwrap();
    }
    let alternative = Some("/etc/alternatives/babeltrace2".to_owned());
    script(&system, "postinst", &["configure"]);
    assert_eq!(link(&system), alternative);
    let program = std::fs::read_link(system.join("etc/alternatives/babeltrace2")).unwrap();
    assert_eq!(program, Path::new("/usr/bin/ichnos"));
    assert!(pages.join("babeltrace2.1.gz").is_symlink());
    script(&system, "prerm", &["upgrade", "2"]);
    script(&system, "postinst", &["configure", "1"]);
    assert_eq!(link(&system), alternative);
    script(&system, "prerm", &["remove"]);
    assert_eq!(link(&system), None);
    assert!(!pages.join("babeltrace2.1.gz").is_symlink());
    // A program of another package stays.
    let program = system.join("usr/bin/babeltrace2");
    std::fs::write(&program, "other").unwrap();
    script(&system, "postinst", &["configure"]);
    script(&system, "prerm", &["remove"]);
    assert_eq!(std::fs::read(&program).unwrap(), b"other");
}
