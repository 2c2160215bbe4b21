//! A model that is learned during the run, by whichever method.

use super::learned::starting_from;
use super::{InterfaceModel, Learned, LearnedMoesp, Moesp, MoespConfig, Rls, RlsConfig};
use crate::error::{Error, Result};
use crate::system::Ports;
use crate::tape::Tape;

/// How a model is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IdentifyConfig {
    /// By recursive least squares.
    Rls(RlsConfig),
    /// By MOESP.
    Moesp(MoespConfig),
}

impl IdentifyConfig {
    /// Refuses settings that make no sense.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            IdentifyConfig::Rls(config) => config.check(),
            IdentifyConfig::Moesp(config) => config.check_limits(),
        }
    }

    /// Why what is learned at one step cannot be carried to another; nothing if it can.
    pub(crate) fn bound_to_its_step(&self) -> Option<&'static str> {
        match self {
            IdentifyConfig::Rls(config) if config.can_rescale() => None,
            IdentifyConfig::Rls(_) => Some("needs M = N or M = N + 1: only those are rescaled"),
            IdentifyConfig::Moesp(_) => {
                Some("needs identify = \"rls\": a model of MOESP belongs to its step")
            }
        }
    }

    /// The settings a subsystem starts with, if it starts from something learned before.
    pub(crate) fn with(self, learned: Option<&Learned>) -> Self {
        match (self, learned) {
            (IdentifyConfig::Rls(config), Some(Learned::Rls(learned))) => {
                IdentifyConfig::Rls(learned.config(config))
            }
            (IdentifyConfig::Moesp(_), Some(Learned::Moesp(learned))) => {
                IdentifyConfig::Moesp(learned.config())
            }
            (config, _) => config,
        }
    }
}

/// A model that is being learned.
#[derive(Clone, Debug)]
pub(crate) enum Identifier {
    Rls(Box<Rls>),
    Moesp(Box<Moesp>),
}

impl Identifier {
    /// For the subsystem `name`, from what was learned before, if anything was.
    pub(crate) fn new(
        config: IdentifyConfig,
        name: &str,
        ports: (usize, usize),
        step: f64,
        learned: Option<&Learned>,
    ) -> Result<Self> {
        let (inputs, outputs) = ports;
        let refused = |reason: String| -> Box<Error> {
            Error::Unsupported { what: starting_from(name), reason }.into()
        };
        learned.map_or(Ok(()), |learned| learned.check(name))?;
        let mut identifier = match config.with(learned) {
            IdentifyConfig::Rls(config) => Identifier::Rls(Box::new(Rls::new(config, inputs, outputs, step))),
            IdentifyConfig::Moesp(config) => {
                config.check(name, inputs, outputs)?;
                Identifier::Moesp(Box::new(Moesp::new(config, inputs, outputs, step)))
            }
        };
        let fits = match (&mut identifier, learned) {
            (_, None) => return Ok(identifier),
            (Identifier::Rls(rls), Some(Learned::Rls(learned))) => rls.load(learned),
            (Identifier::Moesp(moesp), Some(Learned::Moesp(learned))) => {
                if (step / learned.step - 1.0).abs() > 1e-9 {
                    let was = learned.step;
                    return Err(refused(format!(
                        "it was learned by MOESP at a step of {was} s, not {step} s; run at that step, or learn by \"rls\""
                    )));
                }
                moesp.load(&learned.factor)
            }
            _ => return Err(refused("it was learned by another method".into())),
        };
        if !fits {
            let was = match (learned.and_then(Learned::ports), learned.and_then(Learned::signals)) {
                (Some((inputs, outputs)), _) => {
                    format!("it is a model of {inputs} inputs and {outputs} outputs")
                }
                (None, Some(signals)) => format!("it is a model of {signals} inputs and outputs together"),
                (None, None) => "its numbers do not fit together".to_owned(),
            };
            return Err(refused(format!("{was}; the subsystem has {inputs} inputs and {outputs} outputs")));
        }
        if (step / identifier.step() - 1.0).abs() > 1e-9 {
            if let Some(reason) = config.with(learned).bound_to_its_step() {
                return Err(refused(format!(
                    "it was learned at a step of {} s; another {reason}",
                    identifier.step()
                )));
            }
            identifier.rescale(step)?;
        }
        Ok(identifier)
    }

    /// What has been learned.
    pub(crate) fn learned(&self) -> Learned {
        match self {
            Identifier::Rls(rls) => Learned::Rls(rls.learned().clone()),
            Identifier::Moesp(moesp) => {
                let MoespConfig { order, window, rows } = moesp.config();
                let factor = moesp.factor().clone();
                let rows = rows.unwrap_or_else(|| moesp.rows());
                Learned::Moesp(LearnedMoesp { step: moesp.step(), order, window, rows, factor })
            }
        }
    }

    /// The step it belongs to.
    pub(crate) fn step(&self) -> f64 {
        match self {
            Identifier::Rls(rls) => rls.step(),
            Identifier::Moesp(moesp) => moesp.step(),
        }
    }

    /// True if its model can predict the next outputs.
    pub(crate) fn is_ready(&self) -> bool {
        match self {
            Identifier::Rls(rls) => rls.is_ready(),
            Identifier::Moesp(moesp) => moesp.is_ready(),
        }
    }

    /// Learns from outputs at T^k and the inputs at the end of the step that ended there; writes the errors of the
    /// predictions before that.
    pub(crate) fn observe(&mut self, y: &[f64], u: &[f64], errors: &mut [f64]) {
        match self {
            Identifier::Rls(rls) => rls.observe(y, u, errors),
            Identifier::Moesp(moesp) => moesp.observe(y, u, errors),
        }
    }

    /// Notes a sample without learning: after a step of another size, or a jump.
    pub(crate) fn pass_over(&mut self, y: &[f64], u: &[f64]) {
        match self {
            Identifier::Rls(rls) => rls.pass_over(y, u),
            Identifier::Moesp(moesp) => moesp.pass_over(y, u),
        }
    }

    /// The interface model in discrete time from here on.
    pub(crate) fn model(&self, model: &mut InterfaceModel) {
        match self {
            Identifier::Rls(rls) => rls.model(model),
            Identifier::Moesp(moesp) => moesp.model(model),
        }
    }

    /// Carries the model to another step.
    pub(crate) fn rescale(&mut self, step: f64) -> Result<()> {
        match self {
            Identifier::Rls(rls) => rls.rescale(step),
            Identifier::Moesp(_) => Ok(()),
        }
    }

    /// How well the data behind the model of an output were excited: 1 at best, 0 if something never moved that can move.
    pub(crate) fn excitation(&mut self, output: usize, can_move: &[bool]) -> f64 {
        match self {
            Identifier::Rls(rls) => rls.excitation(output, can_move),
            Identifier::Moesp(moesp) => moesp.excitation(can_move),
        }
    }

    /// Parameters of one output.
    pub(crate) fn parameter_count(&self) -> usize {
        match self {
            Identifier::Rls(rls) => rls.parameter_count(),
            Identifier::Moesp(moesp) => moesp.parameter_count(),
        }
    }

    /// One of them, in the order of [`parameter_names`].
    pub(crate) fn parameter(&self, output: usize, index: usize) -> f64 {
        match self {
            Identifier::Rls(rls) => rls.parameter(output, index),
            Identifier::Moesp(moesp) => moesp.parameter(output, index),
        }
    }

    /// Shows `tape` everything.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        match self {
            Identifier::Rls(rls) => rls.state(tape),
            Identifier::Moesp(moesp) => moesp.state(tape),
        }
    }
}

/// Names of all parameters, output by output: `a1[x:x]` on outputs one step ago, `b1[x:F]` on inputs of the step that ends,
/// `b2[x:F]` on those before, `c[x]`.
pub(crate) fn parameter_names(config: IdentifyConfig, ports: &Ports) -> Vec<String> {
    let mut names = Vec::new();
    for y in &ports.outputs {
        let y = &y.name;
        match config {
            IdentifyConfig::Rls(RlsConfig { outputs, inputs, .. }) => {
                names.extend((1..=outputs).map(|j| format!("a{j}[{y}:{y}]")));
                for u in &ports.inputs {
                    names.extend((1..=inputs).map(|j| format!("b{j}[{y}:{}]", u.name)));
                }
            }
            IdentifyConfig::Moesp(config) => {
                let rows = config.block_rows(ports.outputs.len());
                for j in 1..rows {
                    names.extend(ports.outputs.iter().map(|other| format!("a{j}[{y}:{}]", other.name)));
                }
                for j in 1..=rows {
                    names.extend(ports.inputs.iter().map(|u| format!("b{j}[{y}:{}]", u.name)));
                }
            }
        }
        names.push(format!("c[{y}]"));
    }
    names
}
