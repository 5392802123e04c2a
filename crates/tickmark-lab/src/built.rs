//! Kernels that are in the cache.

use crate::cache::Cache;
use crate::kernel::{Arch, Kernel};
use crate::module::TREE;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The kind of these cache entries.
pub(crate) const KIND: &str = "kernels";

/// A kernel in the cache.
#[derive(Debug, Clone)]
pub struct Built {
    /// The requested kernel.
    pub kernel: Kernel,
    /// The image to boot.
    pub image: PathBuf,
    /// Its configuration.
    pub config: PathBuf,
    /// Name of its entry: a hash of the source's version, the fragments, the compiler and the time stamp.
    pub key: String,
    /// How long it was built just now, in s; none where it was there.
    pub seconds: Option<f64>,
    /// SHA-256 of the image.
    pub sha256: String,
    /// True if modules can be built for it.
    pub takes_modules: bool,
}

/// The file kernel.json of an entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) kernel: String,
    pub(crate) source: String,
    pub(crate) compiler: String,
    pub(crate) seconds: f64,
    pub(crate) sha256: String,
}

/// Additional needs of a kernel that is in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: its image is enough.
    Image,
    /// That modules are to be built for it, too.
    Modules,
    /// It is built again, and compared.
    Again,
}

impl Need {
    pub(crate) fn is_met(self, found: &Built) -> bool {
        match self {
            Self::Image => true,
            // Only these take modules.
            Self::Modules => found.takes_modules || found.kernel.arch != Arch::X86_64,
            Self::Again => false,
        }
    }
}

/// The kernel that is in the cache under this key.
pub(crate) fn find_built(cache: &Cache, kernel: &Kernel, key: &str) -> Option<Built> {
    let folder = cache.entry(KIND, key);
    let text = std::fs::read_to_string(folder.join("kernel.json")).ok()?;
    let entry: Entry = serde_json::from_slice(text.as_bytes()).ok()?;
    let image = folder.join("image");
    image.is_file().then(|| Built {
        kernel: *kernel,
        config: folder.join("config"),
        key: key.to_owned(),
        seconds: None,
        sha256: entry.sha256,
        takes_modules: folder.join(TREE).is_file(),
        image,
    })
}
