//! `tickmark hz`: a command in guests that differ in HZ alone.

use crate::cli::{CompareFormat, Format, Hz, Speed};
use crate::command::matrix::{self, MatrixOutput};
use crate::error::{Code, Error};
use std::fs::File;
use std::io::Read;
use tickmark_drive::knob::distinct;
use tickmark_drive::lab::{Machine, MatrixRequest, Report, Setting};
use tickmark_store::Store;
use tickmark_wire::{Better, Nanos};

pub(in crate::command) fn run(store: &Store, options: &Hz) -> Result<Code, Error> {
    let from = boots(options)?;
    let format = match options.output.format {
        Format::Text => CompareFormat::Text,
        Format::Json => CompareFormat::Json,
    };
    let shown = MatrixOutput { limit: Some(options.limit.to_duration()), file: None, format, fail_on: None };
    let (code, made) = matrix::carry_out(store, &from, None, shown)?;
    if format == CompareFormat::Json {
        made.iter()
            .filter_map(matrix::MachineOutcome::balance)
            .try_for_each(|balance| crate::command::print_page(&balance))?;
    }
    Ok(code)
}

/// The matrix: one machine, a setting for each HZ.
fn boots(options: &Hz) -> Result<MatrixRequest, Error> {
    let names: Vec<String> = options.hz.iter().map(|hz| format!("HZ {hz}")).collect();
    if names.len() < 2 {
        return Err(Error::Usage("--hz: give two rates or more, such as 100,1000".to_owned()));
    }
    distinct("hz", &names)?;
    let setting = |(hz, name): (&u32, String)| match &options.boot {
        Some(boot) => {
            let boot = boot.replace("{hz}", &hz.to_string());
            Setting { name, boot, hz: Some(*hz), ..Setting::default() }
        }
        None => Setting { name, kernel: format!("hz={hz}"), ..Setting::default() },
    };
    let machine = match &options.host {
        Some(host) => remote(options, host),
        None => guest(options)?,
    };
    let from = MatrixRequest {
        name: "hz".to_owned(),
        answers: None,
        blocks: options.blocks,
        slice: Nanos::from_millis(100),
        margin: options.margin,
        report: vec![Report::BreakEven],
        settings: options.hz.iter().zip(names).map(setting).collect(),
        machines: vec![Machine {
            blocks: Some(options.blocks),
            number: options.number.clone().unwrap_or_default(),
            better: options.higher.then_some(Better::Higher),
            ..machine
        }],
    };
    from.complete(&[], &[]).map_err(Error::Usage)
}

/// A real machine with the command as it was typed.
fn remote(options: &Hz, host: &str) -> Machine {
    Machine {
        name: host.to_owned(),
        target: Some(format!("ssh:{host}")),
        ssh: options.ssh.clone(),
        identity: options.identity.clone(),
        boot_limit: Some(format!("{}ns", options.boot_limit.get())),
        command: options.command.clone(),
        ..Machine::default()
    }
}

/// A guest that has the program.
fn guest(options: &Hz) -> Result<Machine, Error> {
    let Speed::Mips(shift) = options.speed else {
        return Err(Error::Usage(
            "rates are told apart where instructions are counted: --speed host does not".to_owned(),
        ));
    };
    let mut command = options.command.clone();
    let program = crate::command::program::find(&command[0])?;
    let mut begins = [0; 4];
    let read = File::open(&program).and_then(|mut file| file.read_exact(&mut begins));
    read.map_err(Error::file("read", &program))?;
    if begins != *b"\x7fELF" {
        let place = program.display();
        return Err(Error::Usage(format!("{place} is no program: a guest has no interpreter for a script")));
    }
    command[0] = format!("/bin/{}", program.file_name().unwrap_or_default().to_string_lossy());
    Ok(Machine {
        name: program.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        kernel: options.kernel.clone(),
        memory: Some(options.memory),
        speeds: vec![1000.0 / f64::from(1u32 << shift)],
        files: std::iter::once(program).chain(options.file.iter().cloned()).collect(),
        command,
        ..Machine::default()
    })
}
