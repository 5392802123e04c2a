//! The fragments of a kernel's configuration, and whether they took effect.

use crate::Error;
use crate::kernel::{Arch, Kernel, Source};
use std::collections::BTreeMap;

/// The fragments by name: the files of `fragments/`.
macro_rules! fragments {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../fragments/", $name, ".config")))),*] };
}

const FRAGMENTS: &[(&str, &str)] = fragments!["x86_64" "powerpc" "arm64" "riscv64" "virt" "hz-100" "hz-250" "hz-300" "hz-1000" "tick-periodic"
    "tick-idle" "highres-on" "highres-off" "preempt-none" "preempt-voluntary" "preempt-full" "osnoise-on" "lockdep-on"];

/// All lines that a kernel adds to tinyconfig.
pub(crate) fn fragment(kernel: &Kernel) -> String {
    let text = |name: &str| FRAGMENTS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
    let settings = kernel.settings().map(|(name, value)| text(&format!("{name}-{value}")).to_owned());
    let shared = if matches!(kernel.arch, Arch::Arm64 | Arch::Riscv64) { text("virt") } else { "" };
    let mut base = format!("{shared}{}", text(kernel.arch.name()));
    let since = |minor: u16| kernel.source >= (Source { major: 6, minor });
    // Linux 6.3 renamed it.
    if kernel.arch == Arch::Riscv64 && since(3) {
        base = base.replace("CONFIG_SOC_VIRT=y", "CONFIG_ARCH_VIRT=y");
    }
    // How QEMU 7.2 describes its processor.
    if kernel.arch == Arch::Riscv64 && since(5) {
        base += "CONFIG_RISCV_ISA_FALLBACK=y\n";
    }
    // Linux 6.2 has an allocator for the smallest machines, which tinyconfig takes: it makes a slab anew for most objects.
    if since(2) && !kernel.lockdep && shared.is_empty() {
        base += "# CONFIG_SLUB_TINY is not set\n";
    }
    let more = [(kernel.osnoise, "osnoise-on"), (kernel.lockdep, "lockdep-on")];
    let more = more.into_iter().filter(|(is, _)| *is).map(|(_, name)| text(name).to_owned());
    std::iter::once(base).chain(settings).chain(more).collect()
}

/// The symbol of a line of a configuration.
fn symbol(line: &str) -> Option<&str> {
    match line.strip_prefix("# CONFIG_") {
        Some(rest) => rest.strip_suffix(" is not set"),
        None => line.strip_prefix("CONFIG_")?.split_once('=').map(|(symbol, _)| symbol),
    }
}

/// Checks each symbol of a fragment in the configuration that came of it; its last line counts, as it does for the kernel.
pub(crate) fn verify(kernel: &Kernel, config: &str) -> Result<(), Error> {
    let fragment = fragment(kernel);
    let wanted: BTreeMap<&str, &str> =
        fragment.lines().filter_map(|line| Some((symbol(line)?, line))).collect();
    for (symbol, line) in wanted {
        let set = format!("CONFIG_{symbol}=");
        let got = config.lines().find(|line| line.starts_with(&set));
        // What is not asked for may be unknown to this version, or hidden: both are "not set".
        let right = if line.starts_with('#') { got.is_none() } else { got == Some(line) };
        if !right {
            let got = got.map_or_else(|| "not set".to_owned(), str::to_owned);
            return Err(Error::Symbol { kernel: kernel.to_string(), requested: line.to_owned(), got });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_its_fragment_and_a_symbol_that_is_otherwise_is_named() {
        for text in [
            "x86_64:hz=250:tick=idle:highres=off:preempt=full",
            "powerpc:hz=300:preempt=voluntary",
            "x86_64:osnoise=on",
            "x86_64:lockdep=on",
            "arm64:hz=1000:tick=idle",
            "riscv64",
            "riscv64:source=6.12",
            "x86_64:source=6.12",
            "powerpc:source=6.12",
            "x86_64:lockdep=on:source=6.12",
        ] {
            let kernel: Kernel = text.parse().unwrap();
            let config = fragment(&kernel);
            assert_eq!(config.contains("CONFIG_OSNOISE_TRACER=y"), kernel.osnoise);
            let (before, since) = (config.contains("SOC_VIRT=y"), config.contains("ARCH_VIRT=y"));
            assert_eq!(before != since, kernel.arch == Arch::Riscv64, "{text}");
            let later = kernel.source > Source::USUAL;
            assert!(!later || config.contains("# CONFIG_SLUB_TINY is not set"), "{text}");
            for checks in ["CONFIG_PROVE_LOCKING=y", "CONFIG_KASAN=y", "CONFIG_SLUB_DEBUG=y"] {
                assert_eq!(config.contains(checks), kernel.lockdep);
            }
            assert!(config.contains(&format!("CONFIG_HZ_{}=y", kernel.hz)), "{config}");
            assert!(config.contains("PREEMPT") && config.contains("HIGH_RES_TIMERS"));
            // As the kernel takes it: the last line of a symbol.
            let lines: BTreeMap<_, _> =
                config.lines().filter_map(|line| Some((symbol(line)?, line))).collect();
            let config = lines.into_values().collect::<Vec<_>>().join("\n");
            verify(&kernel, &config).unwrap();
            let other = config.replace(&format!("CONFIG_HZ_{}=y", kernel.hz), "");
            let error = verify(&kernel, &other).unwrap_err().to_string();
            assert!(
                error.contains(&format!("CONFIG_HZ_{}=y", kernel.hz)) && error.contains("not set"),
                "{error}"
            );
        }
        let kernel: Kernel = "x86_64".parse().unwrap();
        let config = fragment(&kernel).replace("# CONFIG_USB_SUPPORT is not set", "CONFIG_USB_SUPPORT=y");
        assert!(verify(&kernel, &config).is_err());
    }
}
