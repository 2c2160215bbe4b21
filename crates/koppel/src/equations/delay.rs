//! `delay(u, T)` and `delay(u, T, before)`: a value as it was T earlier, and `before` (else 0) until then.
//!
//! The value is sampled N = 32 times per delay into a chain of discrete variables, as `when every(T / N)` would do it. Between two
//! samples the chain is read by a cubic:
//!
//!   y(t) = Σ_j w_j(θ) c_j,   j = N-2 .. N+1,     θ = (t - t_k) N / T                     (1)
//!
//! | symbol | meaning                                            |
//! | c_j    | the value at t_k - j T / N                         |
//! | t_k    | when the last sample was taken                     |
//! | w_j    | weights of Lagrange's polynomial through four samples |
//!
//! So the delay is saved, restored, exported and linearised like everything else: derivatives see a chain of N lags. An angular
//! frequency ω comes through with an error of about 0.02 (ω T / N)⁴ of its amplitude. A jump takes 3 T / N, begins 2 T / N too early, and
//! overshoots by 6 %.
//!
//! The calls are replaced by variables before names are looked at.

use super::mistake::{Kind, Mistake};
use super::statement::{self, Assignment, Declared, Name, Statements, Trigger, When};
use crate::expression::{Binary, Formula, Instruction};
use std::ops::Range;

/// Samples per delay.
const SAMPLES: usize = 32;
const WORD: &str = "delay";

/// Replaces every delay of a text.
pub(super) fn expand(statements: &mut Statements, mistakes: &mut Vec<Mistake>) {
    let mut found = Found { count: 0, declared: vec![], equations: vec![], whens: vec![], mistakes };
    let Statements { declared, derivatives, equations, whens } = statements;
    for formula in declared.iter_mut().filter_map(|one| one.value.as_mut()) {
        found.expand(formula);
    }
    for assignment in derivatives.iter_mut().chain(&mut *equations) {
        assignment.formula.iter_mut().for_each(|formula| found.expand(formula));
    }
    for when in &mut *whens {
        if let Trigger::Becomes(condition) = &mut when.trigger {
            found.expand(condition);
        }
        for assignment in &mut when.body {
            assignment.formula.iter_mut().for_each(|formula| found.expand(formula));
        }
    }
    declared.append(&mut found.declared);
    equations.append(&mut found.equations);
    whens.append(&mut found.whens);
}

struct Found<'a> {
    count: usize,
    declared: Vec<Declared>,
    equations: Vec<Assignment>,
    whens: Vec<When>,
    mistakes: &'a mut Vec<Mistake>,
}

impl Found<'_> {
    /// Replaces the delays of one formula, the inner ones first.
    fn expand(&mut self, formula: &mut Formula) {
        while let Some((at, arguments)) = next_call(formula) {
            let span = formula.spans[at].clone();
            let whole = arguments[0].start..at + 1;
            let name = if let [value, delay, rest @ ..] = &arguments[..]
                && rest.len() <= 1
            {
                let before = rest.first().map(|before| part(formula, before));
                self.line(&part(formula, value), &part(formula, delay), before, &span)
            } else {
                let what = format!("`{WORD}` takes a value, a time and perhaps what was before");
                self.mistakes
                    .push(Mistake::at(&span, what).hint("write delay(u, 0.1), or delay(u, 0.1, 20)"));
                self.count += 1;
                let own = format!("{WORD}[{}]", self.count);
                // It has a mistake already.
                let target = Name { text: own.clone(), span: span.clone() };
                self.equations.push(Assignment { target, formula: None });
                own
            };
            formula.names.push(name);
            let variable = Instruction::Variable(formula.names.len() - 1);
            formula.program.splice(whole.clone(), [variable]);
            formula.spans.splice(whole, [span]);
            *formula = part(formula, &(0..formula.program.len()));
        }
    }

    /// One chain of samples; the name of what comes out of it.
    fn line(
        &mut self,
        value: &Formula,
        delay: &Formula,
        before: Option<Formula>,
        span: &Range<usize>,
    ) -> String {
        self.count += 1;
        let own = format!("{WORD}[{}]", self.count);
        let cell = |j: usize| format!("`{own}.sample[{}]`", j + 1);
        let (now, last) = (format!("`{own}.now`"), format!("`{own}.time`"));
        let name = |text: &str| Name { text: text.trim_matches('`').to_owned(), span: span.clone() };
        let own_formula = |text: &str| at(text, span);
        self.equations.push(Assignment { target: name(&now), formula: Some(value.clone()) });
        let period = divided(delay, SAMPLES as f64);
        self.equations
            .push(Assignment { target: name(&format!("{own}.period")), formula: Some(period.clone()) });
        self.equations.push(Assignment {
            target: name(&format!("{own}.part")),
            formula: own_formula(&format!("(time - {last}) / `{own}.period`")),
        });
        let p = format!("`{own}.part`");
        let (a, b, c, d) = (cell(SAMPLES + 1), cell(SAMPLES), cell(SAMPLES - 1), cell(SAMPLES - 2));
        let cubic = format!(
            "{a} * ({p} * (1 - {p}) * ({p} - 2) / 6) + {b} * (({p} + 1) * ({p} - 1) * ({p} - 2) / 2) \
             + {c} * (({p} + 1) * {p} * (2 - {p}) / 2) + {d} * (({p} + 1) * {p} * ({p} - 1) / 6)"
        );
        self.equations.push(Assignment { target: name(&own), formula: own_formula(&cubic) });
        // From the last cell to the first: what was assigned above is seen below.
        let mut body = vec![Assignment { target: name(&last), formula: own_formula("time") }];
        for j in (0..=SAMPLES + 1).rev() {
            let from = if j == 0 { now.clone() } else { cell(j - 1) };
            body.push(Assignment { target: name(&cell(j)), formula: own_formula(&from) });
        }
        for j in (0..=SAMPLES + 1).filter(|_| before.is_some()) {
            let (kind, name, value) = (Kind::Variable, name(&cell(j)), before.clone());
            self.declared.push(Declared { kind, name, value, unit: None, about: String::new() });
        }
        self.whens.push(When {
            trigger: Trigger::Every(period, None),
            span: span.clone(),
            body,
            what: "the delay",
        });
        own
    }
}

/// The first call of a delay, which has none inside, and where its arguments stand.
fn next_call(formula: &Formula) -> Option<(usize, Vec<Range<usize>>)> {
    // Where each value on the stack begins.
    let mut begins: Vec<usize> = Vec::new();
    for (at, instruction) in formula.program.iter().enumerate() {
        let operands = match *instruction {
            Instruction::Number(_) | Instruction::Time | Instruction::Variable(_) => 0,
            Instruction::Unary(_) => 1,
            Instruction::Binary(_) => 2,
            Instruction::Ternary(_) => 3,
            Instruction::Call(call) => formula.calls[call].arguments,
        };
        let taken = begins.split_off(begins.len() - operands);
        if let Instruction::Call(call) = *instruction
            && formula.calls[call].name == WORD
        {
            let ends = taken.iter().skip(1).copied().chain([at]);
            let arguments: Vec<_> = taken.iter().copied().zip(ends).map(|(begin, end)| begin..end).collect();
            // One without arguments begins with itself.
            return Some((
                at,
                if arguments.is_empty() { vec![Range { start: at, end: at }] } else { arguments },
            ));
        }
        begins.push(taken.first().copied().unwrap_or(at));
    }
    None
}

/// A part of a formula, with the names and calls that it uses.
fn part(formula: &Formula, range: &Range<usize>) -> Formula {
    let mut own = Formula { spans: formula.spans[range.clone()].to_vec(), ..Formula::default() };
    for instruction in &formula.program[range.clone()] {
        own.program.push(match *instruction {
            Instruction::Variable(index) => {
                let name = &formula.names[index];
                let known = own.names.iter().position(|other| other == name);
                Instruction::Variable(known.unwrap_or_else(|| {
                    own.names.push(name.clone());
                    own.names.len() - 1
                }))
            }
            Instruction::Call(index) => {
                own.calls.push(formula.calls[index].clone());
                Instruction::Call(own.calls.len() - 1)
            }
            other => other,
        });
    }
    own
}

fn divided(formula: &Formula, by: f64) -> Formula {
    let mut own = formula.clone();
    let span = own.spans.last().cloned().unwrap_or_default();
    own.program.extend([Instruction::Number(by), Instruction::Binary(Binary::Divide)]);
    own.spans.extend([span.clone(), span]);
    own
}

/// A formula that is not in the text; its mistakes are shown at the call.
fn at(text: &str, span: &Range<usize>) -> Option<Formula> {
    let mut formula = statement::formula(text).ok()?;
    formula.spans.fill(span.clone());
    Some(formula)
}
