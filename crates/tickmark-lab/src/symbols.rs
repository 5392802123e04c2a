//! The functions of a kernel: from the symbol table of its image, else from what the kernel says of itself (/proc/kallsyms).

use crate::Error;
use crate::image::{END_OF_TEXT, Elf, read_image};
use crate::kernel::Arch;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A symbol: its address, its name.
type Symbol = (u64, String);

/// What a function is to the plugin, as its list has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// A way into the kernel.
    Entry,
    /// That of a fault by what an instruction does: it was not carried out.
    Fault,
    /// That of a fault by what an instruction does or by fetching it.
    PageFault,
    /// Stubs that lead to one, each of some bytes.
    Stubs,
    /// Where a new thread begins.
    Forked,
    /// What switches stacks.
    Switch,
    /// What handles interrupts where they enter as everything else does.
    Handler,
    Function,
    /// Nothing: the kernel's text ends.
    End,
}

/// Where interrupts and system calls enter on PowerPC e500 (arch/powerpc/kernel/head_85xx.S).
const ENTRIES_POWERPC: [&str; 17] = [
    "CriticalInput",
    "MachineCheck",
    "InstructionStorage",
    "ExternalInput",
    "Alignment",
    "Program",
    "FloatingPointUnavailable",
    "SystemCall",
    "Decrementer",
    "FixedIntervalTimer",
    "WatchdogTimer",
    "InstructionTLBError",
    "SPEUnavailable",
    "SPEFloatingPointData",
    "SPEFloatingPointRound",
    "PerformanceMonitor",
    "Doorbell",
];

/// And faults of what an instruction does, which is carried out afterwards; those that are emulated, QEMU counts too.
const FAULTS_POWERPC: [&str; 2] = ["DataStorage", "DataTLBError"];

/// Faults of what an instruction does on x86-64, after `asm_exc_` (the Intel manual, volume 3, 6.15: those that are faults).
const FAULTS_X86: [&str; 9] = [
    "divide_error",
    "bounds",
    "invalid_op",
    "device_not_available",
    "invalid_tss",
    "segment_not_present",
    "stack_segment",
    "general_protection",
    "alignment_check",
];

/// The vectors of arm64, in order (arch/arm64/kernel/entry.S), and the bytes of each. Interrupts of programs and of the kernel have one name.
const VECTORS_ARM: [&str; 16] = [
    "el1t_64_sync.vector",
    INTERRUPT,
    INTERRUPT,
    INTERRUPT,
    "el1h_64_sync.vector",
    INTERRUPT,
    INTERRUPT,
    INTERRUPT,
    "el0t_64_sync.vector",
    INTERRUPT,
    INTERRUPT,
    INTERRUPT,
    "el0t_32_sync.vector",
    INTERRUPT,
    INTERRUPT,
    INTERRUPT,
];
const VECTOR: u64 = 128;

/// riscv64's only way into the kernel (arch/riscv/kernel/entry.S), and the labels within it, which the list of symbols has too.
const ENTRY_RISCV: &str = "handle_exception";
/// What it jumps to with an interrupt: the latter since Linux 6.3.
const HANDLERS_RISCV: [&str; 2] = ["generic_handle_arch_irq", "do_irq"];
const LABELS_RISCV: [&str; 15] = [
    "_restore_kernel_tpsp",
    "_save_context",
    "skip_context_tracking",
    "handle_syscall",
    "check_syscall_nr",
    "ret_from_syscall",
    "ret_from_syscall_rejected",
    "ret_from_exception",
    "resume_userspace",
    "resume_userspace_slow",
    "resume_kernel",
    "restore_all",
    "handle_syscall_trace_enter",
    "handle_syscall_trace_exit",
    "handle_kernel_stack_overflow",
];

/// Names that the plugin itself gives: tcg-plugin/plugin.h.
const OWN: [&str; 4] = ["program", "unknown code", "resumed thread", "interrupt"];
const UNKNOWN: usize = 1;
const INTERRUPT: &str = OWN[3];
/// Bytes of a name that the plugin reads; the kernel's have fewer (KSYM_NAME_LEN).
pub(crate) const LONGEST_SYMBOL: usize = 511;
/// Where the kernel's text ends: what lies behind it (modules, code that is made at run time) has no name.
const ENDS: [&str; 2] = [END_OF_TEXT, "_einittext"];
/// A function that only kernels with KASAN have; their stacks on x86-64 are of 2^15 bytes (arch/x86/include/asm/page_64_types.h).
const KASAN: &str = "kasan_check_range";
const KASAN_STACK: u32 = 15;

/// The functions of a kernel.
#[derive(Debug, Clone)]
pub struct Symbols {
    functions: Vec<(u64, usize, Role)>,
    names: Vec<String>,
}

impl Symbols {
    /// Those of an image with a symbol table; none where it has none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_image(image: &Path, arch: Arch) -> Result<Option<Self>, Error> {
        let bytes = read_image(image)?;
        let symbols = Elf::parse(&bytes).map(|elf| elf.functions()).unwrap_or_default();
        Ok(Self::new(symbols, arch))
    }

    /// Those of lines as in /proc/kallsyms; none where there are none, or where addresses are hidden.
    #[must_use]
    pub fn of_list(text: &str, arch: Arch) -> Option<Self> {
        let symbol = |line: &str| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            words.next().filter(|kind| matches!(*kind, "t" | "T" | "w" | "W"))?;
            Some((address, words.next()?.to_owned()))
        };
        Self::new(text.lines().filter_map(symbol).collect(), arch)
    }

    fn new(symbols: Vec<Symbol>, arch: Arch) -> Option<Self> {
        let least = match arch {
            Arch::X86_64 => 0xffff_ffff_8000_0000,
            Arch::PowerPc => 0xc000_0000,
            // The upper half of the addresses is the kernel's.
            Arch::Arm64 | Arch::Riscv64 => 1 << 63,
        };
        // One name for an address: one that has a role, else the one that reads best.
        let mut best: BTreeMap<u64, (Role, bool, String)> = BTreeMap::new();
        let symbols = symbols.into_iter().flat_map(|symbol| vectors(symbol, arch));
        for (address, name) in symbols {
            let ends = ENDS.contains(&name.as_str());
            // A name of a stranger's image stands in tables, and in stacks between semicolons.
            let is_odd = |c: char| !c.is_ascii_graphic() || c == ';';
            let is_long = name.len() > LONGEST_SYMBOL;
            let is_label = arch == Arch::Riscv64 && LABELS_RISCV.contains(&name.as_str());
            if address < least || is_label || (is_marker(&name) && !ends) || is_long || name.contains(is_odd)
            {
                continue;
            }
            let role = if ends { Role::End } else { role(&name, arch) };
            let this = (role, name.starts_with('_'), name);
            match best.entry(address) {
                std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(this)),
                std::collections::btree_map::Entry::Occupied(mut place) => {
                    if this < *place.get() {
                        place.insert(this);
                    }
                }
            }
        }
        // The last one would have what lies behind the text: x86-64's code for the end of what is built in stands there.
        let end = best.iter().rev().find(|(_, (role, ..))| *role == Role::End).map(|(address, _)| *address);
        end.map(|end| best.split_off(&(end + 1)));
        let mut names = OWN.map(str::to_owned).to_vec();
        let mut numbers: BTreeMap<String, usize> = names.iter().cloned().zip(0..).collect();
        let functions = best.into_iter().map(|(address, (role, _, name))| {
            if role == Role::End {
                return (address, UNKNOWN, Role::Function);
            }
            let name = readable(&name);
            let number = *numbers.entry(name.to_owned()).or_insert_with(|| {
                names.push(name.to_owned());
                names.len() - 1
            });
            (address, number, role)
        });
        let functions: Vec<_> = functions.collect();
        (functions.iter().any(|(_, number, _)| *number != UNKNOWN)).then_some(Self { functions, names })
    }

    /// The size of a stack, as a power of two, where it is not the usual one.
    #[must_use]
    pub fn stack_shift(&self) -> Option<u32> {
        let is_wide = self.functions.first().is_some_and(|(address, ..)| *address > u64::from(u32::MAX));
        (is_wide && self.names.iter().any(|name| name == KASAN)).then_some(KASAN_STACK)
    }

    /// True if the ways into the kernel are called as the plugin knows them: on x86-64 since Linux 5.8, on arm64 since 5.14, on riscv64 where interrupts have a handler of one of two names.
    #[must_use]
    pub fn has_known_entries(&self, arch: Arch) -> bool {
        let needed = match arch {
            Arch::X86_64 => ["asm_sysvec_apic_timer_interrupt", "asm_exc_page_fault"],
            Arch::PowerPc => ["Decrementer", "SystemCall"],
            Arch::Arm64 => ["el0t_64_irq", "cpu_switch_to"],
            Arch::Riscv64 => ["handle_exception", "__switch_to"],
        };
        let has = |needed: &&str| self.names.iter().any(|name| name == *needed);
        needed.iter().all(has) && (arch != Arch::Riscv64 || HANDLERS_RISCV.iter().any(has))
    }

    /// The list that the plugin reads: address, number of the name, role, name.
    #[must_use]
    pub fn list(&self) -> String {
        let mut text = String::new();
        for (address, number, role) in &self.functions {
            let role = match role {
                Role::Entry => 'e',
                Role::Fault => 'd',
                Role::PageFault => 'p',
                Role::Stubs => 'v',
                Role::Forked => 'f',
                Role::Switch => 's',
                Role::Handler => 'h',
                Role::Function | Role::End => '.',
            };
            let _ = writeln!(text, "{address:x} {number} {role} {}", self.names[*number]);
        }
        text
    }
}

/// True if a symbol is where a section begins or ends, or the padding before a function.
fn is_marker(name: &str) -> bool {
    let bounds = ["text_start", "text_end"].iter().any(|word| name.contains(word));
    name.starts_with('.')
        || name.starts_with("__pfx_")
        || name.starts_with('_') && (bounds || (name.ends_with("text") && !name.ends_with("context")))
}

/// A function's name without what the compiler has added to a part or a copy of it.
fn readable(name: &str) -> &str {
    if name.starts_with("entry_SYSCALL_64_") {
        return "entry_SYSCALL_64";
    }
    name.find('.').filter(|at| *at > 0).map_or(name, |at| &name[..at])
}

/// A symbol, or the functions that it stands for.
fn vectors((address, name): Symbol, arch: Arch) -> Vec<Symbol> {
    if arch != Arch::Arm64 || name != "vectors" {
        return vec![(address, name)];
    }
    let places = (0..).map(|number| address + number * VECTOR);
    places.zip(VECTORS_ARM.map(str::to_owned)).collect()
}

fn role(name: &str, arch: Arch) -> Role {
    match (name, arch) {
        ("__switch_to_asm", Arch::X86_64)
        | ("_switch", Arch::PowerPc)
        | ("cpu_switch_to", Arch::Arm64)
        | ("__switch_to", Arch::Riscv64) => Role::Switch,
        (INTERRUPT, Arch::Arm64) => Role::Entry,
        (name, Arch::Arm64) if name.ends_with(".vector") => Role::PageFault,
        (ENTRY_RISCV, Arch::Riscv64) => Role::PageFault,
        (name, Arch::Riscv64) if HANDLERS_RISCV.contains(&name) => Role::Handler,
        ("ret_from_fork" | "ret_from_fork_asm", _)
        | ("ret_from_kernel_thread" | "ret_from_kernel_user_thread", Arch::PowerPc)
        | ("ret_from_kernel_thread" | "ret_from_fork_kernel_asm" | "ret_from_fork_user_asm", Arch::Riscv64) => {
            Role::Forked
        }
        ("irq_entries_start" | "spurious_entries_start", Arch::X86_64) => Role::Stubs,
        ("asm_exc_page_fault", Arch::X86_64) => Role::PageFault,
        ("entry_SYSCALL_64" | "asm_common_interrupt" | "asm_spurious_interrupt", Arch::X86_64) => Role::Entry,
        (name, Arch::X86_64) if name.starts_with("asm_sysvec_") => Role::Entry,
        (name, Arch::X86_64) => match name.strip_prefix("asm_exc_") {
            Some(name) if FAULTS_X86.contains(&name) => Role::Fault,
            Some(_) => Role::Entry,
            None => Role::Function,
        },
        (name, Arch::PowerPc) if FAULTS_POWERPC.contains(&name) => Role::Fault,
        (name, Arch::PowerPc) if ENTRIES_POWERPC.contains(&name) => Role::Entry,
        _ => Role::Function,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str, arch: Arch) -> Vec<(u64, String, char)> {
        let symbols = Symbols::of_list(text, arch).unwrap();
        let one = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            (
                u64::from_str_radix(words[0], 16).unwrap() & 0xffff,
                words[3..].join(" "),
                words[2].chars().next().unwrap(),
            )
        };
        symbols.list().lines().map(one).collect()
    }

    #[test]
    fn an_address_has_the_name_that_a_reader_knows() {
        let text = "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000000 T startup_64\n\
                    ffffffff81000100 t __pfx_do_it\nffffffff81000110 t do_it.isra.0\nffffffff81000110 T __do_it\n\
                    ffffffff81000200 t do_it.cold\nffffffff81000300 d data\n0000000000000000 A fixed_percpu_data\n";
        let name = |at, name: &str| (at, name.to_owned(), '.');
        assert_eq!(
            listed(text, Arch::X86_64),
            [name(0, "startup_64"), name(0x110, "do_it"), name(0x200, "do_it")]
        );
    }

    #[test]
    fn ways_into_the_kernel_are_known_beside_other_names() {
        let text = "ffffffff81800000 T __entry_text_start\nffffffff81800000 T entry_SYSCALL_64\n\
                    ffffffff81800012 T entry_SYSCALL_64_after_hwframe\nffffffff81800200 t asm_sysvec_apic_timer_interrupt\n\
                    ffffffff81800300 T __switch_to_asm\nffffffff81800400 T ret_from_fork_asm\n\
                    ffffffff81800500 t irq_entries_start\n";
        let roles: Vec<(String, char)> =
            listed(text, Arch::X86_64).into_iter().map(|(_, name, role)| (name, role)).collect();
        let role = |name: &str, role| (name.to_owned(), role);
        assert_eq!(
            roles,
            [
                role("entry_SYSCALL_64", 'e'),
                role("entry_SYSCALL_64", '.'),
                role("asm_sysvec_apic_timer_interrupt", 'e'),
                role("__switch_to_asm", 's'),
                role("ret_from_fork_asm", 'f'),
                role("irq_entries_start", 'v')
            ]
        );
        assert_eq!(listed("c0001000 t Decrementer\n", Arch::PowerPc)[0].2, 'e');
        // The vectors of arm64, two ways in for programs and interrupts; the one of riscv64 with its labels.
        let vectors = listed("ffff800008010800 T vectors\nffff800008011000 t el0t_64_sync\n", Arch::Arm64);
        let of = |name: &str, role| -> Vec<u64> {
            let is = |(_, this, as_role): &&(u64, String, char)| this == name && *as_role == role;
            vectors.iter().filter(is).map(|(address, ..)| *address).collect()
        };
        assert_eq!((of("interrupt", 'e').len(), of("el0t_64_sync", 'p')), (12, vec![0x0c00]));
        assert_eq!((of("interrupt", 'e')[3], of("el0t_64_sync", '.')), (0x0a80, vec![0x1000]));
        let text = "ffffffff80001000 T handle_exception\nffffffff80001010 t restore_all\nffffffff80002000 T do_irq\n";
        let door = |name: &str, role| (name.to_owned(), role);
        let riscv: Vec<_> =
            listed(text, Arch::Riscv64).into_iter().map(|(_, name, role)| (name, role)).collect();
        assert_eq!(riscv, [door("handle_exception", 'p'), door("do_irq", 'h')]);
    }

    #[test]
    fn hidden_addresses_are_no_list() {
        assert!(Symbols::of_list("0000000000000000 T _text\n", Arch::X86_64).is_none());
        assert!(Symbols::of_list("", Arch::PowerPc).is_none());
        // What lies behind the end of the text is no function.
        let text = "ffffffff81000000 T one\nffffffff81000040 T _etext\n";
        assert_eq!(listed(text, Arch::X86_64)[1], (0x40, "unknown code".to_owned(), '.'));
        // Nor does the last one there have it.
        let text = format!("{text}ffffffff81000080 t b_exit\n");
        assert_eq!(listed(&text, Arch::X86_64).len(), 2);
        assert_eq!(listed("ffffffff81000000 T a;b\nffffffff81000010 T c\n", Arch::X86_64).len(), 1);
        let symbols = Symbols::of_list(&text, Arch::X86_64).unwrap();
        assert!(!symbols.has_known_entries(Arch::X86_64) && symbols.stack_shift().is_none());
        assert!(Symbols::of_image(&std::env::current_exe().unwrap(), Arch::X86_64).unwrap().is_none());
    }
}
