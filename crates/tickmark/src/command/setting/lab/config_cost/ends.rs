//! The two configurations that are compared, and the source that they are built from.

use crate::error::Error;
use crate::progress::Steps;
use std::path::{Path, PathBuf};
use tickmark_drive::bisect::{Commit, Tree};
use tickmark_drive::lab::differing;
use tickmark_lab::{Arch, Kernel, Series, Source, source_version};
use tickmark_store::files::{SMALL, read_regular};

/// A configuration, as it is given.
pub(super) enum End {
    Lab(Kernel),
    File { text: String, arch: Arch, source: Source },
}

/// How symbols begin that say what the compiler is and can: they are found out anew.
const OF_TOOLS: [&str; 9] = ["CC_", "GCC", "LD_", "AS_", "CLANG_", "LLD_", "RUSTC", "PAHOLE", "TOOLS_"];

impl End {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let path = Path::new(text);
        if !path.is_file() {
            return Ok(Self::Lab(text.parse()?));
        }
        let bytes = read_regular(path, SMALL).map_err(Error::file("read", path))?;
        let read = String::from_utf8_lossy(&bytes).into_owned();
        let title = read.lines().find_map(|line| {
            line.strip_prefix("# Linux/")?.strip_suffix(" Kernel Configuration")?.split_once(' ')
        });
        let wrong =
            |why: &str| Error::Usage(format!("{text} is no kernel's configuration for the lab: {why}"));
        let (arch, version) = title
            .ok_or_else(|| wrong("no line \"# Linux/x86 6.1.192 Kernel Configuration\" at its beginning"))?;
        let arch = Arch::ALL
            .into_iter()
            .find(|known| [known.source_name(), known.name()].contains(&arch))
            .ok_or_else(|| wrong(&format!("it is for {arch}")))?;
        let has = |symbol: &str| read.lines().any(|line| line == symbol);
        match arch {
            Arch::X86_64 if !has("CONFIG_X86_64=y") => return Err(wrong("it is for 32 bits")),
            Arch::Riscv64 if !has("CONFIG_64BIT=y") => return Err(wrong("it is for 32 bits")),
            Arch::PowerPc if has("CONFIG_PPC64=y") => return Err(wrong("it is for 64 bits")),
            _ => {}
        }
        let mut numbers = version.split(['.', '-']).map_while(|number| number.parse().ok());
        let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
            return Err(wrong(&format!("{version:?} is no version")));
        };
        Ok(Self::File { text: read, arch, source: Source { major, minor } })
    }

    pub(super) fn arch(&self) -> Arch {
        match self {
            Self::Lab(kernel) => kernel.arch,
            Self::File { arch, .. } => *arch,
        }
    }

    pub(super) fn source(&self) -> Source {
        match self {
            Self::Lab(kernel) => kernel.source,
            Self::File { source, .. } => *source,
        }
    }

    pub(super) fn names_a_source(&self) -> bool {
        matches!(self, Self::Lab(kernel) if kernel.source != Source::USUAL)
    }

    /// Lines that have no effect, as the source or the compiler does not know them, or something that they depend on is off.
    pub(super) fn without_effect(&self, whole: &str) -> Vec<String> {
        let Self::File { text, .. } = self else { return Vec::new() };
        let is_set = |line: &Option<String>| line.as_ref().is_some_and(|line| line.contains('='));
        let found = |name: &str| OF_TOOLS.iter().any(|tool| name.starts_with(tool));
        let lost = differing(text, whole).into_iter();
        lost.filter(|change| is_set(&change.before) && !found(&change.name))
            .map(|change| change.name)
            .collect()
    }
}

/// The source that they are built from.
pub(super) struct SourceTree {
    pub(super) key: String,
    from: Origin,
}

enum Origin {
    Package(Source),
    Git(PathBuf, Commit),
}

impl SourceTree {
    pub(super) fn find(tree: Option<&Path>, source: Source) -> Result<Self, Error> {
        let Some(folder) = tree else {
            return Ok(Self { key: source_version(source)?, from: Origin::Package(source) });
        };
        let head = Tree::commits(folder, "HEAD..HEAD")?.into_iter().next();
        let head = head.ok_or_else(|| Error::Usage(format!("{} has no commit", folder.display())))?;
        let place = folder.canonicalize().map_err(Error::file("open", folder))?;
        let key = format!("{} {}", place.display(), head.id);
        Ok(Self { key, from: Origin::Git(folder.to_owned(), head) })
    }

    /// Where it is, as it is to be built.
    pub(super) fn ready(
        &self,
        builds: &Series,
        stop: &dyn Fn() -> bool,
        steps: &mut Steps,
    ) -> Result<PathBuf, Error> {
        match &self.from {
            Origin::Package(source) => {
                steps.at("unpacking the kernel's source");
                Ok(builds.source(*source, stop)?)
            }
            Origin::Git(folder, head) => Ok(Tree::open(folder, builds.folder())?.check_out(head)?.to_owned()),
        }
    }
}
