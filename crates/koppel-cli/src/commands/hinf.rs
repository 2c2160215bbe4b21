//! `koppel hinf`.

use std::path::Path;

use koppel::coupling::{self, CouplingConfig, HinfConfig, Hold};
use koppel::frequency::error_table;
use koppel::hinf::{Design, HoldOrder, Specification, designed};
use koppel::linalg::Complex;
use koppel_io::plot::{Curve, Plot, Scale};
use serde_json::{Value, json};

use crate::arguments::HinfArguments;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::{Grid, print, print_json, significant, write_text};

/// How compensators are found.
const METHOD: &str = "closed form";

/// Designs a compensator and shows it.
pub(super) fn hinf(arguments: &HinfArguments) -> Result<Exit> {
    let config = HinfConfig {
        hold: match arguments.hold.as_str() {
            "foh" => HoldOrder::Foh,
            "soh" => HoldOrder::Soh,
            _ => HoldOrder::Zoh,
        },
        smoother_order: arguments.smoother_order,
        smoother_hz: arguments.smoother_hz,
        weight_order: arguments.weight_order,
        weight_hz: arguments.weight_hz,
        disc: arguments.disc,
        ..HinfConfig::default()
    };
    let specification = config.specification(arguments.step);
    let refused = |error: Box<koppel::Error>| Failure::of(&*error);
    let design = designed(&specification).map_err(refused)?;
    if let Some(path) = &arguments.plot {
        write_plot(&config, &design, path)?;
    }
    if arguments.json {
        print_json(&document(&design))?;
    } else {
        print(&text(&design))?;
    }
    Ok(Exit::Ok)
}

fn text(design: &Design) -> String {
    let Specification { step, hold, smoother_order, smoother_hz, weight_order, weight_hz, disc } =
        design.specification;
    let number = |value: f64| significant(value, 6);
    let mut facts = Grid::new(&["", ""]);
    for (name, value) in [
        ("step", format!("{} s, held {}", number(step), name_of(hold))),
        ("smoother", format!("order {smoother_order}, {} Hz", number(smoother_hz))),
        ("weight", format!("order {weight_order}, {} Hz", number(weight_hz))),
        ("disc", format!("{} s", number(disc))),
        ("method", METHOD.into()),
        ("gamma", significant(design.gamma, 4)),
        ("gain", format!("{} (of a jump just before an exchange)", number(design.jump_gain()))),
        ("constants", format!("times {}; a run scales this to 1", number(design.static_gain()))),
    ] {
        facts.row([name.into(), value]);
    }
    let mut roots = Grid::new(&["zeros, rad/s", "poles, rad/s"]);
    let shown = |list: &[Complex], k: usize| list.get(k).map_or(String::new(), |z| complex(*z));
    let (zeros, poles) = (&design.compensator.zeros, &design.compensator.poles);
    for k in 0..zeros.len().max(poles.len()) {
        roots.row([shown(zeros, k), shown(poles, k)]);
    }
    format!("Compensator\n{}\n{}", facts.whole(), roots.whole())
}

fn complex(z: Complex) -> String {
    let re = significant(z.re, 6);
    match z.im {
        0.0 => re,
        im if im < 0.0 => format!("{re} - {}i", significant(-im, 6)),
        im => format!("{re} + {}i", significant(im, 6)),
    }
}

fn name_of(hold: HoldOrder) -> &'static str {
    match hold {
        HoldOrder::Zoh => "zoh",
        HoldOrder::Foh => "foh",
        HoldOrder::Soh => "soh",
    }
}

fn document(design: &Design) -> Value {
    let roots = |list: &[Complex]| list.iter().map(|z| json!([z.re, z.im])).collect::<Vec<_>>();
    let Specification { step, hold, smoother_order, smoother_hz, weight_order, weight_hz, disc } =
        design.specification;
    json!({
        "step": step,
        "hold": name_of(hold),
        "smoother_order": smoother_order,
        "smoother_hz": smoother_hz,
        "weight_order": weight_order,
        "weight_hz": weight_hz,
        "disc": disc,
        "method": METHOD,
        "gamma": design.gamma,
        "static_gain": design.static_gain(),
        "gain": design.jump_gain(),
        "zeros": roots(&design.compensator.zeros),
        "poles": roots(&design.compensator.poles),
    })
}

/// |φ| over f H, beside the holds.
fn write_plot(config: &HinfConfig, design: &Design, path: &Path) -> Result<()> {
    // Everything in multiples of the step, as the table is.
    let specification = design.specification;
    let step = specification.step;
    let normalised = HinfConfig {
        smoother_hz: Some(specification.smoother_hz * step),
        weight_hz: Some(specification.weight_hz * step),
        disc: Some(specification.disc / step),
        ..config.clone()
    };
    let holds = coupling::methods().into_iter().filter(|info| info.interpolates.is_some());
    let methods: Vec<_> =
        holds.map(|info| (info.usual)()).chain([CouplingConfig::from(normalised)]).collect();
    let frequencies: Vec<f64> = (0..=300).map(|k| 1e-3 * 1000_f64.powf(f64::from(k) / 300.0)).collect();
    let table = error_table(&methods, Hold::Constant, &frequencies)?;
    let curves = methods.iter().zip(table).filter_map(|(method, errors)| {
        let points = frequencies.iter().copied().zip(errors?).collect();
        Some(Curve { name: method.name().into(), points })
    });
    let plot = Plot {
        title: format!("Coupling error, step {} s", significant(step, 6)),
        x: "frequency times step".into(),
        y: "|u - y| / |y|".into(),
        scale: [Scale::Logarithmic, Scale::Logarithmic],
        curves: curves.collect(),
    };
    write_text(path, &plot.svg())
}
