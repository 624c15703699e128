//! Runs the guest (rust/guest) on a simulated RISC-V machine, of the crate rrs-lib, and counts its instructions.
//!
//!   cycles GUEST KEY PROOF [FUNCTIONS]
//!
//! prints what the guest commits to and how many instructions it took, and of so many functions how many were theirs. It
//! fails if the guest refuses the proof.

use object::{Object, ObjectSection, ObjectSymbol};
use rrs_lib::instruction_executor::{InstructionException, InstructionExecutor};
use rrs_lib::{HartState, MemAccessSize, Memory};
use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

// As in the guest.
const INPUT: u32 = 0x4000_0000;
const COMMIT: u32 = 1;
const END: u32 = 93;
const ECALL: u32 = 0x73;

/// Memory of the machine below the input.
const RAM: usize = 1 << 29;

struct Machine {
    ram: Vec<u8>,
    input: Vec<u8>,
}

impl Machine {
    fn place(&mut self, at: u32, size: usize) -> Option<&mut [u8]> {
        let (memory, from) = if at >= INPUT { (&mut self.input, at - INPUT) } else { (&mut self.ram, at) };
        memory.get_mut(from as usize..from as usize + size)
    }
}

fn bytes(size: &MemAccessSize) -> usize {
    match size {
        MemAccessSize::Byte => 1,
        MemAccessSize::HalfWord => 2,
        MemAccessSize::Word => 4,
    }
}

impl Memory for Machine {
    fn read_mem(&mut self, at: u32, size: MemAccessSize) -> Option<u32> {
        let place = self.place(at, bytes(&size))?;
        Some(place.iter().rev().fold(0, |value, &byte| value << 8 | byte as u32))
    }

    fn write_mem(&mut self, at: u32, size: MemAccessSize, value: u32) -> bool {
        let size = bytes(&size);
        let Some(place) = self.place(at, size) else { return false };
        place.copy_from_slice(&value.to_le_bytes()[..size]);
        true
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [guest, key, proof] => run(guest, key, proof, 0),
        [guest, key, proof, functions] => run(guest, key, proof, functions.parse().unwrap_or(0)),
        _ => Err("usage: cycles GUEST KEY PROOF [FUNCTIONS]".into()),
    };
    if let Err(problem) = done {
        eprintln!("cycles: {problem}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn run(guest: &str, key: &str, proof: &str, functions: usize) -> Result<(), Box<dyn Error>> {
    let file = std::fs::read(guest)?;
    let program = object::File::parse(&*file)?;
    let mut machine = Machine { ram: vec![0; RAM], input: Vec::new() };
    for name in [key, proof] {
        let bytes = std::fs::read(name)?;
        machine.input.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        machine.input.extend_from_slice(&bytes);
    }
    for section in program.sections().filter(|s| s.address() > 0) {
        let data = section.data()?;
        let from = section.address() as usize;
        machine.ram.get_mut(from..from + data.len()).ok_or("the program does not fit")?.copy_from_slice(data);
    }
    let symbols: BTreeMap<u32, &str> =
        program.symbols().filter_map(|s| Some((s.address() as u32, s.name().ok().filter(|n| !n.starts_with(['.', '$']))?))).collect();
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut blocks: BTreeMap<u32, u64> = BTreeMap::new(); // by 64 bytes of code
    let mut hart = HartState::new();
    hart.pc = program.entry() as u32;
    let (mut instructions, mut committed) = (0u64, None);
    let code = loop {
        let pc = hart.pc;
        instructions += 1;
        if functions > 0 {
            *blocks.entry(pc & !63).or_default() += 1;
        }
        match (InstructionExecutor { mem: &mut machine, hart_state: &mut hart }).step() {
            Ok(()) => {}
            Err(InstructionException::IllegalInstruction(_, ECALL)) => {
                let (call, argument) = (hart.registers[17], hart.registers[10]);
                match call {
                    COMMIT => committed = machine.place(argument, 32).map(|digest| digest.to_vec()),
                    END => break argument,
                    _ => return Err(format!("call {call} at {pc:#x}").into()),
                }
                hart.pc = pc + 4;
            }
            Err(problem) => return Err(format!("{problem:?} at {pc:#x}").into()),
        }
    };
    for (at, n) in blocks {
        let of = symbols.range(..=at).next_back().map_or(0, |(&at, _)| at);
        *counts.entry(of).or_default() += n;
    }
    let (0, Some(digest)) = (code, committed) else {
        return Err(format!("the guest ended with {code} after {instructions} instructions").into());
    };
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("committed    {digest}");
    println!("instructions {instructions}");
    let mut list: Vec<_> = counts.into_iter().collect();
    list.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    for (at, n) in list.into_iter().take(functions) {
        println!("{:5.1} % {}", 100.0 * n as f64 / instructions as f64, symbols.get(&at).unwrap_or(&"?"));
    }
    Ok(())
}
