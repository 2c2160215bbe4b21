//! Mistakes are told in one go, each by one message at its place.

use koppel::equations::{Declaration, Equations, Kind, MapConfig, Mistake, Source, Spot, Value};

/// Each mistake as `what | text at its place | hint`.
fn told(source: &Source) -> Vec<String> {
    let Err(mistakes) = Equations::new(source) else { return vec![] };
    let place = |spot: &Spot| match spot {
        Spot::Text(span) => source.text[span.clone()].to_owned(),
        Spot::Declared(kind, name) => format!("{kind:?} {name}"),
        Spot::Whole => "whole".to_owned(),
    };
    mistakes.iter().map(|Mistake { spot, what, .. }| format!("{what} | {}", place(spot))).collect()
}

/// One mistake in a model that has no other.
#[test]
fn each_mistake_has_one_message() {
    // Lines that replace nothing: they are added to a model without mistakes.
    let cases = [
        ("y = speed", "unknown name `speed` | speed"),
        ("y = 2 * t", "unknown name `t` | t"),
        ("y = sinus(x)", "unknown function `sinus` | sinus"),
        ("y = ln(x)", "unknown function `ln` | ln"),
        ("y = sin(x, 2)", "function `sin` takes one argument, found 2 | sin"),
        ("y = max(x)", "function `max` takes two or more arguments, found 1 | max"),
        ("y = torque(x)", "map `torque` takes two arguments, found 1 | torque"),
        ("y = sin + 1", "`sin` is a function | sin"),
        ("y = (x + 1", "expected `)` or an operator, found the end | "),
        ("y = x +", "expected a number or a name, found the end | "),
        ("y = 2 x", "expected an operator or the end of the statement, found `x` | x"),
        ("y = x ** 2", "expected a number or a name, found `*` | *"),
        ("y = x € 2", "expected an operator, a number or a name, found `€` | €"),
        ("y = 0 < x < 1", "comparisons cannot be chained | <"),
        ("y == x", "expected `=`, found `==` | ="),
        ("y", "expected `=`, found the end | "),
        ("y = if x > 0 then 1", "expected `else`, which an `if` inside a formula needs, found the end | "),
        ("if x > 0 then y = 1", "an `if` is no statement | if"),
        ("y = 1 + if x > 0 then 1 else 2", "`if` needs parentheses here | if"),
        ("a = b\nb = c + 1\nc = a", "these variables depend on each other: `a` -> `b` -> `c` -> `a` | a"),
        ("n = n + 1", "`n` is made of itself | n"),
        ("der(u) = 1", "`u` is an input: it has no derivative | der(u)"),
        ("der(m) = 1", "`m` is a parameter: it has no derivative | der(m)"),
        ("der(x) = 2", "`der(x)` is given twice | der(x)"),
        ("der(x + 1) = 2", "expected `)`: `der` is of one state, not of a formula, found `+` | +"),
        ("x = 3", "`x` is a state: it has `der(x)`, and no equation of its own | x"),
        ("y = 1\ny = 2", "`y` is assigned twice | y"),
        ("u = 3", "`u` is an input: it cannot be assigned | u"),
        ("m = 3", "`m` is a parameter: it cannot be assigned | m"),
        ("state w = 1", "state `w` has no equation | w"),
        ("output power", "output `power` has no equation | power"),
        ("output u", "output `u` is a parameter or an input itself | u"),
        ("input u", "`u` is declared twice | u"),
        ("input m", "`m` is a parameter and an input | m"),
        ("parameter p", "parameter `p` has no value | p"),
        ("parameter p = q, q = 2 * p", "these parameters depend on each other: `p` -> `q` -> `p` | p"),
        ("parameter p = 2 * x", "parameter `p` follows `x`, which is no parameter | 2 * x"),
        ("state x = 2 * u", "the start value of `x` follows `u`, which is no parameter | 2 * u"),
        ("parameter p = 1 [kgg]", "unit `kgg`: unknown name `kgg` | p"),
        ("variable p [m\np = 1", "a bracket is not closed | ["),
        ("y = m + x", "kg and m do not fit together | m + x"),
        ("y = exp(m)", "this function takes a number without unit, found kg | exp(m)"),
        ("variable y [N]\ny = m * x", "`y` is in N, its formula in kg.m | m * x"),
        ("variable y [N]\ny = v + m * x", "m/s and kg.m do not fit together | v + m * x"),
        ("when x > 1 then v = m end", "`v` is in m/s, its formula in kg | m"),
        ("when x > 1 then v = 0", "this `when` has no `end` | when"),
        ("y = 1 end", "`end` without `when` | end"),
        ("when x then v = 0 end", "a `when` needs a condition | x"),
        ("when x == 1 then v = 0 end", "`==` and `!=` of what moves cannot be located | x == 1"),
        ("when every(0) then n = 0 end", "the period must be above zero | 0"),
        ("when every(x) then n = 0 end", "the period follows `x`, which is no parameter | x"),
        (
            "when x > 1 then der(v) = 0 end",
            "a `when` sets states and discrete variables, not derivatives | der(v)",
        ),
        ("when x > 1 then u = 0 end", "`u` is an input: it cannot be assigned | u"),
        ("when x > 1 then v = pre(v) end", "unknown function `pre` | pre"),
        ("time = 3", "`time` has a meaning of its own | time"),
        ("pi = 3", "`pi` has a meaning of its own | pi"),
        ("output y\ny = v / (m - 2)", "division by zero at the start, in `y` | v / (m - 2)"),
        ("output y\nparameter p = 0\ny = log(p)", "logarithm of 0 at the start, in `y` | log(p)"),
        ("output y\ny = sqrt(-1 - x)", "square root of -1 at the start, in `y` | sqrt(-1 - x)"),
        ("output y\ny = 1 / x", "division by zero at the start, in `y` | 1 / x"),
        ("when every(m) then n = 0 end", "the period is a time in s, this is in kg | m"),
        ("y = delay(x)", "`delay` takes a value, a time and perhaps what was before | delay(x)"),
        ("y = delay(x, -1)", "the delay must be above zero | -1"),
        ("y = delay(x, v)", "the delay follows `v`, which is no parameter | v"),
        ("y = delay(speed, 1)", "unknown name `speed` | speed"),
    ];
    let model = "parameter m = 2 [kg]\ninput u [N]\noutput v\nstate x = 0 [m], v = 0 [m/s]\nder(x) = v\nder(v) = u / m\n";
    let torque = MapConfig {
        name: "torque".into(),
        x: vec![0.0, 1.0],
        y: Some(vec![0.0, 1.0]),
        values: vec![0.0; 4],
        ..MapConfig::default()
    };
    let source = |text: String| Source { maps: vec![torque.clone()], ..Source::new(text) };
    assert_eq!(told(&source(model.into())), Vec::<String>::new());
    let mut wrong = vec![];
    for (line, expected) in cases {
        let model =
            if line.starts_with("state x") { model.replace("x = 0 [m], ", "") } else { model.to_owned() };
        let found = told(&source(format!("{model}{line}")));
        if found != [expected] {
            wrong.push(format!("{line:?}: {found:#?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() >= 40);
}

/// Mistakes that do not depend on each other come together, in the order of the text, and none twice.
#[test]
fn all_mistakes_come_in_one_go() {
    let text = "
        input u
        output y
        der(x) = speed + u * (2 + 3
        z = speed * 2 +
        y = sinus(x)
        when x > then x = 0 end
        der(u) = 1
        a = b; b = a
        c = a + y";
    let mut found = told(&Source::new(text));
    found.sort();
    let mut expected = vec![
        "expected `)` or an operator, found the end of the line | \n",
        "expected a number or a name, found the end of the line | \n",
        "expected a number or a name, found `then` | then",
        "unknown function `sinus` | sinus",
        "`u` is an input: it has no derivative | der(u)",
        "these variables depend on each other: `a` -> `b` -> `a` | a",
    ];
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn what_stands_beside_the_text_has_its_place_too() {
    let declared =
        |kind: Kind, name: &str, value: Option<Value>| Declaration { value, ..Declaration::new(kind, name) };
    let hole = MapConfig {
        name: "f".into(),
        x: vec![0.0, 2.0, 1.0],
        values: vec![0.0, f64::NAN, 1.0],
        ..MapConfig::default()
    };
    let source = Source {
        maps: vec![hole],
        declarations: vec![
            declared(Kind::Parameter, "r", Some(Value::Formula("2 *".into()))),
            declared(Kind::Parameter, "s", Some(Value::Formula("2 * missing".into()))),
            declared(Kind::Output, "nothing", None),
            declared(Kind::Variable, "w", Some(Value::Number(1.0))),
            declared(Kind::Input, "u", None).unit("furlong"),
        ],
        every: Some(-1.0),
        ..Source::new("y = f(u)")
    };
    let found = told(&source);
    let expected = [
        "`2 *`: expected a number or a name, found the end | Parameter r",
        "unit `furlong`: unknown name `furlong` | Input u",
        "`every` is -1, but must be above zero | Every ",
        "output `nothing` has no equation | Output nothing",
        "state `w` has no equation | Variable w",
        "map `f`: `x` does not grow: 1 comes after 2 (points 3 and 2) | Map f",
        "map `f`: it has a hole at x = 2 | Map f",
        "unknown name `missing` | Parameter s",
        "parameter `r` is used by no equation | Parameter r",
        "parameter `s` is used by no equation | Parameter s",
    ];
    assert_eq!(found, expected);
}

/// What was probably meant comes with the message.
#[test]
fn hints_say_what_to_write() {
    let hint = |line: &str| {
        let mistakes = Equations::new(&Source::new(format!("input u\nder(x) = u\n{line}"))).unwrap_err();
        mistakes[0].hint.clone().unwrap_or_default()
    };
    assert_eq!(hint("y = t"), "the time is called `time`");
    assert_eq!(hint("y = x ** 2"), "powers are written `a^b`");
    assert_eq!(hint("y := 2"), "write `=`");
    assert_eq!(hint("y = x(2)"), "`x` is a variable: write `x * (..)`");
    assert_eq!(hint("n = n + u"), "did you mean der(n) = ..?");
    assert_eq!(hint("if x > 1 then y = 2"), "choose inside of a formula: y = if c then a else b");
}
