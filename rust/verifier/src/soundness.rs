//! Bits of security of every challenge (docs/security.md, "Bits per round"; how they are rounded:
//! docs/proof-format.md, "Parameters"). Bits are integers in units of 2^−24 of a bit, rounded against the prover.

use crate::error::{Result, fail, require};
use crate::hash::Suite;
use alloc::string::String;
use core::fmt::Display;

pub const MOST_DOMAIN_BITS: u32 = 29;
/// log2 of the blow-up of the first trees.
pub const LOG_BLOWUP: u32 = 2;
/// log2 of the most rows of a tree.
pub const MOST_FOLD_VARS: u32 = 16;
const UNIT: u32 = 24;
const FIELD_BITS: i64 = (124 << UNIT) - 1; // log2 |K|, rounded down
const COLUMNS_BITS: u32 = 2; // ⌈log2⌉ of the columns of a look-up's row: key, value, tag
const LEAST_LOOKUP_GRIND: u32 = 8;
const MOST_LEVELS: usize = 32;
const MOST_QUERIES: u32 = 4096;
const MOST_SAMPLES: u32 = 16;
const MOST_MULTIPLICITY: u32 = 64;
const MOST_CLEAR_VARS: u32 = 14;
const MOST_TARGET: u32 = 120;
const MOST_GRIND: u32 = 24;
/// Tails are of a 2^j-th of a row, for these j.
pub const LEAST_TAIL_LOG: u32 = 2;
pub const MOST_TAIL_LOG: u32 = 6;
const LEAST_HIDING_FOLD: u32 = 4; // variables of level 1 of a masked opening
/// The values of the pads of a round.
pub const PAD_VALUES: u32 = 8;

/// What every proof for a key has to reach.
#[derive(Clone, Debug)]
pub struct Security {
    pub target_bits: u32,
    pub grind_bits: u32,
    pub johnson: bool,
    pub hash: Suite,
}

impl Security {
    pub fn check(&self) -> Result<()> {
        let target = 0 < self.target_bits && self.target_bits <= MOST_TARGET;
        require!(target, "soundness: target of {} bits, want 1 to {MOST_TARGET}", self.target_bits);
        let grind = self.grind_bits <= MOST_GRIND;
        require!(grind, "soundness: {} grinding bits, want 0 to {MOST_GRIND}", self.grind_bits);
        Ok(())
    }
}

/// An oracle of an opening.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    pub fold_vars: u32,
    pub row_vars: u32,
    pub log_blowup: u32,
    pub multiplicity: u32,
    pub queries: u32,
    pub out_of_domain: u32,
    pub query_grind: u32,
    pub fold_grind: u32,
}

impl From<[u32; 8]> for Level {
    fn from(n: [u32; 8]) -> Level {
        let [fold_vars, row_vars, log_blowup, multiplicity, queries, out_of_domain, query_grind, fold_grind] = n;
        Level { fold_vars, row_vars, log_blowup, multiplicity, queries, out_of_domain, query_grind, fold_grind }
    }
}

impl Level {
    pub fn numbers(&self) -> [u32; 8] {
        [
            self.fold_vars,
            self.row_vars,
            self.log_blowup,
            self.multiplicity,
            self.queries,
            self.out_of_domain,
            self.query_grind,
            self.fold_grind,
        ]
    }

    /// log2 of the positions of its code.
    pub fn domain_bits(&self) -> usize {
        (self.row_vars + self.log_blowup) as usize
    }

    /// ℓ, the most codewords within the radius.
    fn list_size(&self) -> u128 {
        if self.multiplicity == 0 { 1 } else { ((self.multiplicity as u128) << self.log_blowup).div_ceil(2) }
    }

    /// a, the most challenges at which a line is close to the code by accident.
    fn bad_challenges(&self) -> u128 {
        let n = 1 << self.domain_bits();
        if self.multiplicity == 0 {
            return n;
        }
        // (2M⁵ + 3Mδρ)/(3ρ^(3/2))·n + M/√ρ with M = m + 1/2 and δρ counted as 1, in terms of s = 2M.
        let s = 2 * self.multiplicity as u128 + 1;
        let first = times_root((s.pow(5) + 24 * s) * n, 3 * self.log_blowup);
        first.div_ceil(48) + times_root(s, self.log_blowup).div_ceil(2)
    }

    fn fold_error(&self) -> u128 {
        3 * self.list_size() + self.bad_challenges()
    }

    /// `tail_log` is that of the code, 0 without tails.
    fn query_bits(&self, tail_log: u32) -> i64 {
        let (b, m) = (self.log_blowup, self.multiplicity as u128);
        let each = if tail_log > 0 {
            whole(b + tail_log + 1) - log2_up((1 << (b + tail_log)) + (1 << tail_log) + 2)
        } else if m == 0 {
            whole(b + 1) - log2_up((1 << b) + 1)
        } else {
            whole(b) / 2 - log2_up(m + 1) + log2_down(m)
        };
        self.queries as i64 * each
    }

    fn sample_bits(&self) -> i64 {
        let list = self.list_size();
        let each = FIELD_BITS - whole(self.fold_vars + self.row_vars);
        self.out_of_domain as i64 * each - (log2_up(list * list) - whole(1))
    }
}

/// ⌈x·2^(e/2)⌉, for results below 2^127.
fn times_root(x: u128, e: u32) -> u128 {
    let x = x << (e / 2);
    if e % 2 == 0 {
        return x;
    }
    // The least r with r² ≥ 2·x², between x and 2·x.
    let square = |r: u128| {
        let (high, low) = (r >> 64, r & u64::MAX as u128);
        let cross = high * low; // below 2^127
        let (low, carry) = (low * low).overflowing_add(cross << 65);
        (high * high + (cross >> 63) + carry as u128, low)
    };
    let (high, low) = square(x);
    let double = (high << 1 | low >> 127, low << 1);
    let (mut below, mut enough) = (x, 2 * x);
    while enough - below > 1 {
        let middle = below + (enough - below) / 2;
        if square(middle) >= double {
            enough = middle;
        } else {
            below = middle;
        }
    }
    enough
}

fn whole(bits: u32) -> i64 {
    (bits as i64) << UNIT
}

/// log2 of an integer, rounded down.
fn log2_down(x: u128) -> i64 {
    let bits = x.ilog2();
    let mut m = if bits > 63 { (x >> (bits - 63)) as u64 } else { (x as u64) << (63 - bits) };
    let mut log = bits as i64;
    // Squaring the mantissa moves the next digit of the logarithm before the point.
    for _ in 0..UNIT {
        let square = m as u128 * m as u128;
        let carry = (square >> 127) as i64;
        m = (square >> (63 + carry)) as u64;
        log = 2 * log + carry;
    }
    log
}

/// log2 of an integer: exact for powers of two, otherwise rounded up to the second unit above what `log2_down` gives.
fn log2_up(x: u128) -> i64 {
    log2_down(x) + 2 * !x.is_power_of_two() as i64
}

/// The bits of an error of `error`/|K|.
fn over_field(error: u128) -> i64 {
    FIELD_BITS - log2_up(error.max(1))
}

/// Bits in tenths, rounded down.
fn tenths(bits: i64) -> i64 {
    (bits * 10) >> UNIT
}

fn shown(bits: i64) -> String {
    let (sign, tenths) = (if bits < 0 { "-" } else { "" }, tenths(bits).abs());
    alloc::format!("{sign}{}.{}", tenths / 10, tenths % 10)
}

/// How strong the weakest challenge of a proof is, in bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strength {
    total: i64,
    proven: i64,
}

impl Strength {
    /// With the proofs of work.
    pub fn total_bits(&self) -> f64 {
        tenths(self.total) as f64 / 10.0
    }

    /// What holds against any prover. Work adds the rest.
    pub fn proven_bits(&self) -> f64 {
        tenths(self.proven) as f64 / 10.0
    }

    /// An error unless there are so many bits in all.
    pub fn require(&self, least: u32) -> Result<()> {
        let enough = self.total >= whole(least);
        require!(enough, "the key gives {} bits, and at least {least} are asked for", shown(self.total));
        Ok(())
    }
}

/// The challenges of a proof so far, each held against the target.
pub struct Rounds {
    target: u32,
    pub strength: Strength,
}

impl Rounds {
    pub fn new(security: &Security) -> Rounds {
        Rounds { target: security.target_bits, strength: Strength { total: i64::MAX, proven: i64::MAX } }
    }

    fn record(&mut self, name: impl Display, proven: i64, grind: u32) -> Result<()> {
        let total = proven + whole(grind);
        let s = &mut self.strength;
        *s = Strength { total: s.total.min(total), proven: s.proven.min(proven) };
        if total < whole(self.target) {
            return fail!("{name}: {} bits, the target is {}", shown(total), self.target);
        }
        Ok(())
    }

    /// A polynomial of this degree, which should be zero, at a random point.
    pub fn point(&mut self, name: impl Display, degree: u64) -> Result<()> {
        self.record(name, over_field(degree as u128), 0)
    }

    pub fn lookups(&mut self, name: impl Display, fractions: u64, grind: u32) -> Result<()> {
        self.record(name, over_field((fractions * COLUMNS_BITS as u64) as u128), grind)
    }

    pub fn fractional_sum(&mut self, name: impl Display, depth: u64) -> Result<()> {
        self.point(name, (depth * (3 * depth + 1)).div_ceil(2))
    }

    /// All challenges of an opening.
    pub fn opening(&mut self, levels: &[Level], tail_log: u32) -> Result<()> {
        let mut before: Option<&Level> = None;
        for (i, l) in levels.iter().enumerate() {
            if l.out_of_domain > 0 {
                self.record(format_args!("soundness: opening {i}: out of domain"), l.sample_bits(), 0)?;
            }
            if let Some(before) = before {
                let error = l.list_size() * (before.queries + l.out_of_domain) as u128;
                self.record(format_args!("soundness: opening {i}: join {} queries", before.queries), over_field(error), 0)?;
            }
            if l.fold_vars > 0 {
                self.record(format_args!("soundness: opening {i}: fold"), over_field(l.fold_error()), l.fold_grind)?;
            }
            let mut code = 0;
            if i == 0 && tail_log > 0 {
                self.record("soundness: opening 0: auxiliary row", over_field(l.fold_error()), l.fold_grind)?;
                code = tail_log.min(levels[1].fold_vars - 1);
            }
            self.record(format_args!("soundness: opening {i}: {} queries", l.queries), l.query_bits(code), l.query_grind)?;
            before = Some(l);
        }
        if before.is_some_and(|l| l.row_vars > 0) {
            self.point("soundness: opening: last sumcheck", 2)?;
        }
        Ok(())
    }
}

/// The work before the look-up challenges: the least of at least 8 bits that reaches the target in every chunk.
pub fn lookup_grind(security: &Security, fractions: &[u64]) -> Result<u32> {
    let Some(most) = fractions.iter().max().filter(|&&most| most > 0) else { return Ok(0) };
    let missing = whole(security.target_bits) - over_field((most * COLUMNS_BITS as u64) as u128);
    let bits = ((missing + whole(1) - 1) >> UNIT).max(LEAST_LOOKUP_GRIND as i64) as u32;
    let reached = bits <= security.grind_bits.max(LEAST_LOOKUP_GRIND);
    require!(reached, "{} bits are out of reach for the look-ups with {} bits of grinding", security.target_bits, security.grind_bits);
    Ok(bits)
}

/// Refuses levels of a masked opening that do not hide.
pub fn check_hiding(levels: &[Level], tail_log: u32) -> Result<()> {
    const LEAST: u32 = LEAST_HIDING_FOLD;
    let tails = (LEAST_TAIL_LOG..=MOST_TAIL_LOG).contains(&tail_log);
    require!(tails, "soundness: tails of a 2^{tail_log}-th of a row, want 2^{LEAST_TAIL_LOG} to 2^{MOST_TAIL_LOG}");
    let [first, second, ..] = levels else { return fail!("soundness: a hiding opening of {} levels, which needs two", levels.len()) };
    let folds = second.fold_vars;
    require!(folds >= LEAST, "soundness: level 1 of a hiding opening folds {folds} variables, want at least {LEAST}");
    let room = first.row_vars <= MOST_DOMAIN_BITS && 2 * PAD_VALUES as u64 * first.fold_vars as u64 <= 1 << first.row_vars;
    let (rounds, row) = (first.fold_vars, first.row_vars);
    require!(room, "soundness: the pads of {rounds} rounds and as many values again do not fit into a row of 2^{row} values");
    Ok(())
}

/// Refuses levels that do not fit each other, the table of the opening, which has so many rows, or the security's limits.
/// Without a number of rows that of level 0 may be any.
pub fn check_levels(security: &Security, levels: &[Level], rows: Option<u64>, tail_log: u32) -> Result<()> {
    let count = levels.len();
    require!(0 < count && count <= MOST_LEVELS, "soundness: {count} levels");
    let mode = if security.johnson { "johnson" } else { "unique" };
    let mut before: Option<&Level> = None;
    for (i, l) in levels.iter().enumerate() {
        let fits = match before {
            None => {
                let folds = rows.is_none_or(|rows| rows > 0 && l.fold_vars as usize == crate::shape::variables(rows));
                folds && l.log_blowup == LOG_BLOWUP && l.multiplicity == 0
            }
            Some(before) => {
                let folded = before.row_vars as u64 + (i == 1 && tail_log > 0) as u64;
                l.fold_vars > 0 && l.log_blowup > 0 && l.fold_vars as u64 + l.row_vars as u64 == folded
            }
        };
        let small = l.fold_vars <= MOST_FOLD_VARS
            && l.row_vars <= MOST_DOMAIN_BITS
            && l.log_blowup <= MOST_DOMAIN_BITS
            && l.row_vars + l.log_blowup <= MOST_DOMAIN_BITS;
        require!(fits && small, "soundness: level {i} does not fit: {:?}", l.numbers());
        let sampled = l.multiplicity == 0 || security.johnson && (3..=MOST_MULTIPLICITY).contains(&l.multiplicity);
        let samples = sampled && (l.multiplicity == 0) == (l.out_of_domain == 0) && l.out_of_domain <= MOST_SAMPLES;
        require!(samples, "soundness: level {i}: {} samples at multiplicity {} in mode {mode}", l.out_of_domain, l.multiplicity);
        let bounded = 0 < l.queries && l.queries <= MOST_QUERIES && l.query_grind.max(l.fold_grind) <= security.grind_bits;
        require!(bounded, "soundness: level {i}: {} queries, {} and {} bits of grinding", l.queries, l.query_grind, l.fold_grind);
        before = Some(l);
    }
    let clear = before.map_or(0, |l| l.row_vars);
    require!(clear <= MOST_CLEAR_VARS, "soundness: 2^{clear} values in the clear");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        assert_eq!(log2_down((1u128 << 124) - 1), (124 << UNIT) - 1);
        assert_eq!(log2_up(1 << 70), whole(70));
        assert_eq!(log2_down(3), 26591258); // ⌊2^24·log2 3⌋
        assert_eq!(log2_up(3), 26591260);
    }

    #[test]
    fn roots() {
        assert_eq!(times_root(5, 4), 20);
        assert_eq!(times_root(1, 1), 2);
        assert_eq!(times_root(1_000_000, 1), 1_414_214);
        let x = (1u128 << 65) + 12345;
        assert_eq!(times_root(x, 87), 458_938_539_825_448_211_780_546_759_308_288);
    }
}
