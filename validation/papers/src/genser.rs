//! Genser 2020: the sensitivity, stability and accuracy of the pre-step method (chapter 3), and a helicopter (chapter 4).

mod accuracy;
mod bohl;
mod dual_mass;
mod effects;
mod exact;
mod flights;
mod helicopter;
mod learned;
mod loaded;
mod optimal;
mod printed;
mod stability;
mod study;

use crate::paper::Stage;

pub(crate) const STAGES: &[Stage] = &[
    Stage { name: "512 runs on exact models", seconds: [6.0, 1.0], make: exact::exhibits },
    Stage { name: "17640 runs on models learned by RLS", seconds: [80.0, 2.0], make: learned::rls },
    Stage { name: "17640 runs as the text has them", seconds: [60.0, 1.0], make: printed::exhibits },
    Stage { name: "7056 runs on models learned by MOESP", seconds: [60.0, 2.0], make: learned::moesp },
    Stage { name: "regions of stability", seconds: [10.0, 1.5], make: stability::exhibits },
    Stage { name: "exponential stability", seconds: [1.0, 0.5], make: bohl::exhibits },
    Stage { name: "accuracy", seconds: [12.0, 2.0], make: accuracy::exhibits },
    Stage { name: "helicopter", seconds: [20.0, 3.0], make: helicopter::exhibits },
    Stage { name: "helicopter, loaded models", seconds: [6.0, 2.0], make: loaded::exhibits },
];
