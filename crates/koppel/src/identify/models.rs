//! The interface models of all subsystems of a run.

use super::InterfaceModel;
use super::interface_model::Room;
use crate::error::{Error, Result, Subject};
use crate::linalg::Matrix;
use crate::system::{StateSpace, SubsystemId, SystemGraph};
use crate::tape::Tape;

/// One model per subsystem, if it has one.
#[derive(Clone, Debug, Default)]
pub struct Models {
    list: Vec<InterfaceModel>,
    is_known: Vec<bool>,
    /// Why nothing is known of a subsystem, if it has said so.
    lacks: Vec<Option<String>>,
    version: u64,
    /// The version at which each model was last changed.
    versions: Vec<u64>,
    /// The matrices each model was made from.
    taken: Vec<StateSpace>,
    /// False if the model was restored instead.
    is_taken: Vec<bool>,
    /// How often the matrices of each were taken.
    counts: Vec<u64>,
    draft: StateSpace,
    room: Room,
}

impl Models {
    /// Nothing is known of any subsystem yet, and nobody asks: the matrices have no size.
    pub fn new(graph: &SystemGraph) -> Self {
        let count = graph.len();
        Models {
            list: vec![InterfaceModel::hold(0, 0); count],
            is_known: vec![false; count],
            versions: vec![0; count],
            taken: vec![StateSpace::default(); count],
            is_taken: vec![false; count],
            counts: vec![0; count],
            lacks: vec![None; count],
            ..Models::default()
        }
    }

    /// From now on somebody asks. The matrices of a subsystem have as many numbers as it has outputs squared.
    pub(crate) fn allocate(&mut self, graph: &SystemGraph) {
        for (id, model) in self.list.iter_mut().enumerate() {
            let size = (graph.inputs_of(id).len(), graph.outputs_of(id).len());
            if (model.inputs(), model.outputs()) != size {
                *model = InterfaceModel::hold(size.0, size.1);
            }
        }
    }

    /// The model of a subsystem; one that holds its outputs if nothing is known.
    #[inline]
    pub fn of(&self, id: SubsystemId) -> &InterfaceModel {
        &self.list[id]
    }

    /// False if nothing is known of the subsystem.
    pub fn is_known(&self, id: SubsystemId) -> bool {
        self.is_known[id]
    }

    /// States of a subsystem, if they are more than its outputs show: then its model is a surrogate.
    pub fn hidden_states(&self, id: SubsystemId) -> Option<usize> {
        Some(self.taken[id].states()).filter(|states| *states > self.list[id].outputs())
    }

    /// How often the matrices of a subsystem were taken.
    pub fn taken(&self, id: SubsystemId) -> u64 {
        self.counts[id]
    }

    /// Why nothing is known of the subsystem, if it has said so.
    pub fn lack(&self, id: SubsystemId) -> Option<&str> {
        self.lacks[id].as_deref()
    }

    /// Notes why nothing is known of a subsystem.
    pub(crate) fn set_lack(&mut self, id: SubsystemId, reason: Option<String>) {
        self.lacks[id] = reason;
    }

    /// Changes whenever a matrix does; constants may change without it.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Where the matrices of a subsystem are written before [`Models::adopt`] takes them.
    pub(crate) fn draft(&mut self) -> &mut StateSpace {
        &mut self.draft
    }

    /// Takes the matrices of a subsystem; c is kept.
    pub(crate) fn set(&mut self, graph: &SystemGraph, id: SubsystemId, matrices: &StateSpace) -> Result<()> {
        self.draft.copy_from(matrices);
        self.adopt(graph, id)
    }

    /// Takes the matrices in the draft as those of a subsystem; c is kept. Nothing is done if they are the same as before.
    pub(crate) fn adopt(&mut self, graph: &SystemGraph, id: SubsystemId) -> Result<()> {
        self.counts[id] += 1;
        if self.is_taken[id] && self.draft == self.taken[id] {
            return Ok(());
        }
        let name = graph.name(id);
        let StateSpace { a, b, c, d } = &self.draft;
        if ![a, b, c, d].into_iter().all(Matrix::is_finite) {
            return Err(Error::Unsupported {
                what: Subject::named(name, format!("an interface model of `{name}`")),
                reason: "its derivatives are not finite here".into(),
            }
            .into());
        }
        self.taken[id].copy_from(&self.draft);
        self.list[id].follow(name, &self.draft, &mut self.room)?;
        self.is_known[id] = true;
        self.is_taken[id] = true;
        self.version += 1;
        self.versions[id] = self.version;
        Ok(())
    }

    /// Takes c as it is given.
    pub(crate) fn set_constant(&mut self, id: SubsystemId, constant: &[f64]) {
        self.list[id].constant.copy_from_slice(constant);
    }

    /// Sets c so that the model is right where the subsystem stands.
    pub(crate) fn pin(&mut self, id: SubsystemId, rates: &[f64], y: &[f64], u: &[f64]) {
        self.list[id].pin(rates, y, u);
    }

    /// Shows `tape` everything.
    pub(crate) fn state(&mut self, tape: &mut Tape<'_>) {
        for InterfaceModel { s_y, s_u, s_d, constant, .. } in &mut self.list {
            for list in [s_y.as_mut_slice(), s_u.as_mut_slice(), s_d.as_mut_slice(), constant] {
                tape.numbers(list);
            }
        }
        if tape.is_reading() {
            self.version += 1;
            self.versions.fill(self.version);
            self.is_taken.fill(false);
        }
    }

    /// The version at which a matrix of this model has last changed.
    #[inline]
    pub fn version_of(&self, id: SubsystemId) -> u64 {
        self.versions[id]
    }
}
