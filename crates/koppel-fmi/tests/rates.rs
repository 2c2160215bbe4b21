//! Rates of outputs are asked for at every step: nothing is allocated for them once a run is under way.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "some of the common functions serve other tests")]
#![expect(unsafe_code, reason = "a counting allocator")]

mod common;
#[path = "../../koppel/tests/common/counting.rs"]
mod counting;
#[path = "common/exchange.rs"]
mod exchange;

use common::{MASS2, TestFmu};
use counting::allocations;
use exchange::{ALL, Declared, OSCILLATOR};
use koppel::signal::{Request, Samples, Segment, Step};
use koppel::solver::SolverConfig;
use koppel_fmi::Fmu;
use koppel_fmi::import::{Options, Solving, instantiate_any};

#[test]
fn rates_allocate_nothing() {
    let listed = MASS2
        .replace(
            "initial=\"exact\"><Real start=\"0\"/>",
            "initial=\"exact\"><Real start=\"0\" derivative=\"2\"/>",
        )
        .replace("causality=\"local\"><Real/>", "causality=\"local\"><Real derivative=\"3\"/>")
        .replace(
            "</Outputs>",
            "</Outputs><Derivatives><Unknown index=\"3\"/><Unknown index=\"7\"/></Derivatives>",
        );
    let by_differences = Declared { derivatives: false, ..ALL };
    let koppel = || Solving::Koppel(Some(SolverConfig::Rk4 { step: 1e-3 }));
    let cases = [
        (TestFmu::two(&listed), Solving::Own, "directional derivatives"),
        (TestFmu::two(MASS2), Solving::Own, "trial steps"),
        (OSCILLATOR.fmu(2, ALL, &[]), koppel(), "directional derivatives"),
        (OSCILLATOR.fmu(3, by_differences, &[]), koppel(), "finite differences"),
    ];
    for (fmu, solving, source) in cases {
        let options = Options { name: "part".into(), step: Some(0.01), solving, ..Options::default() };
        let mut body = instantiate_any(&Fmu::open(&fmu.path()).unwrap(), &options).unwrap();
        body.initialize(0.0).unwrap();
        let (m, p) = (body.ports().inputs.len(), body.ports().outputs.len());
        let (mut inputs, mut outputs, mut rates) = (vec![0.0; m], vec![0.0; p], vec![0.0; p]);
        let mut samples = Samples::new(Request::Nothing, p);
        let mut counted = Vec::new();
        for index in 0..10_u32 {
            inputs[0] = 0.1 * f64::from(index);
            let step = Step { index: index.into(), start: 0.01 * f64::from(index), size: 0.01 };
            body.step(&step, &Segment::new(&step, m, 1, &inputs), &mut outputs, &mut samples).unwrap();
            if index == 0 {
                body.linearize(&inputs).unwrap().unwrap();
            }
            counted.push(allocations(|| assert!(body.rates(&inputs, &mut rates).unwrap())));
        }
        assert!(body.capabilities().solver.contains(source), "{}", body.capabilities().solver);
        assert_eq!(counted[3..], [0; 7], "{source}: {counted:?}");
    }
}
