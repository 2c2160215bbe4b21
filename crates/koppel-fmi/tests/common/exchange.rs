//! Model-exchange FMUs of the tests: one of the models of `exchange.h` with its description.

use crate::common::TestFmu;
use std::fmt::Write;

/// Models of `exchange.h`: name of the macro, states, event indicators.
pub(crate) const OSCILLATOR: Model = Model { name: "OSCILLATOR", states: 2, indicators: 0 };
pub(crate) const BALL: Model = Model { name: "BALL", states: 2, indicators: 1 };
pub(crate) const SQUARE: Model = Model { name: "SQUARE", states: 1, indicators: 0 };
pub(crate) const WRAP: Model = Model { name: "WRAP", states: 1, indicators: 0 };
pub(crate) const TRACKER: Model = Model { name: "TRACKER", states: 1, indicators: 0 };
pub(crate) const VAN_DER_POL: Model = Model { name: "VAN_DER_POL", states: 2, indicators: 0 };
pub(crate) const GATE: Model = Model { name: "GATE", states: 0, indicators: 1 };
pub(crate) const TANK: Model = Model { name: "TANK", states: 1, indicators: 0 };

#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    name: &'static str,
    states: usize,
    indicators: usize,
}

/// Both versions of the standard.
pub(crate) const VERSIONS: [u32; 2] = [2, 3];

/// What of the interface is declared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub(crate) state: bool,
    pub(crate) derivatives: bool,
    /// Integers and the Boolean are left out.
    pub(crate) smooth: bool,
}

pub(crate) const ALL: Declared = Declared { state: true, derivatives: true, smooth: false };

impl Model {
    /// An FMU of this model.
    pub(crate) fn fmu(self, version: u32, declared: Declared, flags: &[&str]) -> TestFmu {
        let model = format!("-DMODEL={}", self.name);
        let flags: Vec<&str> = flags.iter().copied().chain([model.as_str()]).collect();
        TestFmu::new(&format!("exchange{version}.c"), &self.description(version, declared), &flags)
    }

    pub(crate) fn description(self, version: u32, declared: Declared) -> String {
        if version == 2 { self.two(declared) } else { self.three(declared) }
    }

    /// Names, starts and attributes of the reals, in order of their references.
    fn reals(self) -> Vec<(&'static str, &'static str, String)> {
        let derivative = |k: usize| self.states >= k;
        let state = |start: &str| format!("start=\"{start}\"");
        let (x1, x2) = match self.name {
            "VAN_DER_POL" => ("2", "-0.66"),
            "SQUARE" | "WRAP" => ("0", "0"),
            _ => ("1", "0"),
        };
        let p = match self.name {
            "BALL" => ["9.81", "0.7", "0.1"],
            "TRACKER" => ["1e6", "1", "0"],
            "VAN_DER_POL" => ["1e-6", "1", "0"],
            _ => ["1", "1", "0"],
        };
        let exact = "causality=\"output\" variability=\"continuous\" initial=\"exact\"";
        let local = "causality=\"local\" variability=\"continuous\"";
        let fixed = "causality=\"parameter\" variability=\"tunable\"";
        let of = |k: usize| if derivative(k) { format!("derivative=\"#{k}\"") } else { String::new() };
        vec![
            ("u", "causality=\"input\" variability=\"continuous\"", state("0")),
            ("x1", exact, state(x1)),
            ("x2", exact, state(x2)),
            ("der(x1)", local, of(1)),
            ("der(x2)", local, of(2)),
            ("p1", fixed, state(p[0])),
            ("p2", fixed, state(p[1])),
            ("p3", fixed, state(p[2])),
            ("y", "causality=\"output\" variability=\"continuous\"", String::new()),
        ]
    }

    fn two(self, declared: Declared) -> String {
        let mut text = format!(
            "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"exchange\" guid=\"{{exchange}}\" \
             generationTool=\"the tests\" numberOfEventIndicators=\"{}\">\n\
             <ModelExchange modelIdentifier=\"mass\" canGetAndSetFMUstate=\"{1}\" canSerializeFMUstate=\"{1}\" \
             providesDirectionalDerivative=\"{2}\"/>\n<ModelVariables>\n",
            self.indicators, declared.state, declared.derivatives
        );
        for (reference, (name, kind, rest)) in self.reals().into_iter().enumerate() {
            // The state of reference k is variable number k + 1.
            let rest = rest.replace("#1", "2").replace("#2", "3");
            writeln!(
                text,
                "<ScalarVariable name=\"{name}\" valueReference=\"{reference}\" {kind}><Real {rest}/></ScalarVariable>"
            )
            .unwrap();
        }
        if !declared.smooth {
            text.push_str(
                "<ScalarVariable name=\"count\" valueReference=\"0\" causality=\"output\" variability=\"discrete\"><Integer/></ScalarVariable>\n\
                 <ScalarVariable name=\"evaluations\" valueReference=\"1\" causality=\"output\" variability=\"discrete\"><Integer/></ScalarVariable>\n\
                 <ScalarVariable name=\"quit\" valueReference=\"2\" causality=\"parameter\" variability=\"fixed\"><Integer start=\"0\"/></ScalarVariable>\n\
                 <ScalarVariable name=\"on\" valueReference=\"0\" causality=\"input\" variability=\"discrete\"><Boolean start=\"false\"/></ScalarVariable>\n",
            );
        }
        text.push_str("</ModelVariables>\n<ModelStructure><Outputs>");
        let feed = if self.name == "OSCILLATOR" { "1 2" } else { "" };
        text.push_str("<Unknown index=\"2\" dependencies=\"\"/><Unknown index=\"3\" dependencies=\"\"/>");
        write!(text, "<Unknown index=\"9\" dependencies=\"{feed}\"/>").unwrap();
        if !declared.smooth {
            text.push_str(
                "<Unknown index=\"10\" dependencies=\"\"/><Unknown index=\"11\" dependencies=\"\"/>",
            );
        }
        text.push_str("</Outputs>");
        if self.states > 0 {
            text.push_str("<Derivatives>");
            for k in 0..self.states {
                write!(text, "<Unknown index=\"{}\"/>", 4 + k).unwrap();
            }
            text.push_str("</Derivatives>");
        }
        text.push_str("</ModelStructure>\n</fmiModelDescription>\n");
        text
    }

    fn three(self, declared: Declared) -> String {
        let mut text = format!(
            "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"exchange\" instantiationToken=\"{{exchange}}\" \
             generationTool=\"the tests\">\n\
             <ModelExchange modelIdentifier=\"mass\" canGetAndSetFMUState=\"{0}\" canSerializeFMUState=\"{0}\" \
             providesDirectionalDerivatives=\"{1}\" providesAdjointDerivatives=\"{1}\" needsCompletedIntegratorStep=\"true\"/>\n\
             <ModelVariables>\n<Float64 name=\"time\" valueReference=\"99\" causality=\"independent\" variability=\"continuous\"/>\n",
            declared.state, declared.derivatives
        );
        for (reference, (name, kind, rest)) in self.reals().into_iter().enumerate() {
            let rest = rest.replace('#', "");
            writeln!(text, "<Float64 name=\"{name}\" valueReference=\"{reference}\" {kind} {rest}/>")
                .unwrap();
        }
        if !declared.smooth {
            text.push_str(
                "<Int32 name=\"count\" valueReference=\"20\" causality=\"output\" variability=\"discrete\"/>\n\
                 <Int32 name=\"evaluations\" valueReference=\"21\" causality=\"output\" variability=\"discrete\"/>\n\
                 <Int32 name=\"quit\" valueReference=\"22\" causality=\"parameter\" variability=\"fixed\" start=\"0\"/>\n\
                 <Boolean name=\"on\" valueReference=\"30\" causality=\"input\" variability=\"discrete\" start=\"false\"/>\n",
            );
        }
        text.push_str("</ModelVariables>\n<ModelStructure>\n");
        let feed = if self.name == "OSCILLATOR" { "0 1" } else { "" };
        text.push_str("<Output valueReference=\"1\" dependencies=\"\"/><Output valueReference=\"2\" dependencies=\"\"/>");
        write!(text, "<Output valueReference=\"8\" dependencies=\"{feed}\"/>").unwrap();
        if !declared.smooth {
            text.push_str("<Output valueReference=\"20\" dependencies=\"\"/><Output valueReference=\"21\" dependencies=\"\"/>");
        }
        for k in 0..self.states {
            write!(text, "<ContinuousStateDerivative valueReference=\"{}\"/>", 3 + k).unwrap();
        }
        for _ in 0..self.indicators {
            text.push_str("<EventIndicator valueReference=\"8\"/>");
        }
        text.push_str("\n</ModelStructure>\n</fmiModelDescription>\n");
        text
    }
}
