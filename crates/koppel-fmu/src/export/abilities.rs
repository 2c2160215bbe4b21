//! What a system can do as an FMU: of what koppel can do, what all FMUs inside keep when they are tried.

use crate::body::{Body, Container, USED};
use crate::error::Result;
use crate::plan::Abilities;
use koppel_fmi::Fmu;
use koppel_fmi::description::CoSimulation;
use koppel_fmi::import::Without;
use koppel_session::Session;
use std::collections::BTreeMap;

/// What an exported system declares.
pub(super) struct Kept {
    pub(super) abilities: Abilities,
    /// Steps may have any length.
    pub(super) is_free: bool,
    /// One instance per process only.
    pub(super) is_single: bool,
    /// What FMUs inside declare but failed at, by subsystem.
    pub(super) lacks: BTreeMap<String, Without>,
    /// What is missing, and whose fault it is.
    pub(super) notes: Vec<String>,
}

impl Kept {
    pub(super) fn of(container: &mut Container, session: &Session) -> Result<Kept> {
        let is_free = session.spec.run.every.values().all(|every| *every == 1);
        let mut kept = Kept {
            abilities: Abilities::ALL,
            is_free,
            is_single: false,
            lacks: BTreeMap::new(),
            notes: Vec::new(),
        };
        if let Err(error) = container.save() {
            kept.notes.push(format!("it has no FMU state: {error}"));
            (kept.abilities.state, kept.abilities.serialize) = (false, false);
        }
        kept.lacks = session
            .fmus
            .lacks(&session.spec, &USED)
            .into_iter()
            .filter(|(_, lack)| *lack != Without::default())
            .collect();
        for (name, spec) in
            session.spec.subsystems().iter().filter_map(|one| Some((&one.name, one.fmu.as_ref()?)))
        {
            let fmu = Fmu::open(&spec.path)?;
            let lack = kept.lacks.get(name).cloned().unwrap_or_default();
            kept.inside(name, &fmu, spec.is_model_exchange(fmu.description()), &lack);
        }
        Ok(kept)
    }

    /// Takes away what an FMU inside does not keep.
    fn inside(&mut self, name: &str, fmu: &Fmu, is_model_exchange: bool, lack: &Without) {
        let description = fmu.description();
        let section = description.co_simulation.as_ref().filter(|_| !is_model_exchange);
        let exchange = description.model_exchange.as_ref().map(|section| &section.interface);
        let Some(interface) = section.map(|section| &section.interface).or(exchange) else { return };
        self.is_single |= interface.can_be_instantiated_only_once_per_process;
        let abilities = &mut self.abilities;
        let why = |lack: &Option<String>, otherwise: &str| match lack {
            Some(reason) => format!("`{name}` {reason}"),
            None => otherwise.replace("{}", &format!("`{name}`")),
        };
        let saves_as_bytes = interface.can_get_and_set_fmu_state
            && interface.can_serialize_fmu_state
            && lack.states.is_none()
            && lack.serialization.is_none();
        if abilities.serialize && !saves_as_bytes {
            let why = why(&lack.serialization, "that of {} cannot");
            self.notes.push(format!("its state cannot be written as bytes: {why}"));
            abilities.serialize = false;
        }
        // Equations of model exchange can be evaluated anywhere, and koppel solves them in any step.
        let Some(section) = section else { return };
        let CoSimulation { can_interpolate_inputs, provides_intermediate_update, .. } = section;
        let is_free = section.can_handle_variable_communication_step_size;
        if self.is_free && !is_free {
            self.notes.push(format!("its steps must all have one length: those of `{name}` must"));
            self.is_free = false;
        }
        let takes_slopes =
            (*can_interpolate_inputs || *provides_intermediate_update) && lack.input_derivatives.is_none();
        if abilities.moving_inputs && !(is_free || takes_slopes) {
            let why = why(&lack.input_derivatives, "those of {} cannot");
            self.notes.push(format!("inputs cannot vary inside its steps: {why}"));
            abilities.moving_inputs = false;
        }
        // Outputs of co-simulation need not follow inputs before the next step.
        if abilities.derivatives
            && !(interface.provides_directional_derivatives && lack.derivatives.is_none())
        {
            let why = why(&lack.derivatives, "{} has none");
            self.notes.push(format!("it has no directional derivatives: {why}"));
            abilities.derivatives = false;
        }
    }
}
