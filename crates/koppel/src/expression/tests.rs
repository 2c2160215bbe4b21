//! Precedence, names, errors and limits.

use super::*;

fn parse(text: &str) -> Expression {
    Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn value(text: &str) -> f64 {
    parse(text).evaluate(2.5, &[])
}

#[test]
fn precedence_is_that_of_mathematics() {
    let cases = [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("2 - 3 - 4", -5.0),
        ("24 / 4 / 2", 3.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("2 ^ -1", 0.5),
        ("2 * -3", -6.0),
        ("--4", 4.0),
        ("1e-3 * 1E3 + .5 + 2.", 3.5),
        ("1 + 1 < 3", 1.0),
        ("1 < 2 and 3 < 2", 0.0),
        ("1 or 0 and 0", 1.0),
        ("(1 or 0) and 0", 0.0),
        ("not 1 == 2", 1.0),
        ("not 0 and 0", 0.0),
        ("!(1 > 2) && 2 >= 2 || 0", 1.0),
        ("1 != 1", 0.0),
        ("time * 2", 5.0),
        ("min(3, 1 + 1, 5) + max(1, 2)", 4.0),
        ("abs(-3) + sqrt(16) + exp(0) + log(1) + sin(0) + cos(0) + tan(0)", 9.0),
        ("sign(-7) + sign(0) * 10 + sign(3) * 100", 99.0),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn names_come_in_order_of_first_use() {
    let expression =
        parse("abs(body.x[1]) + b * body.x[1] - `odd name` + body.`der(x)`.y[2,3] + `time` + time");
    assert_eq!(expression.names(), ["body.x[1]", "b", "odd name", "body.der(x).y[2,3]", "time"]);
    assert_eq!(
        expression.evaluate(1000.0, &[-1.0, 2.0, 10.0, 100.0, 0.5]),
        1.0 - 2.0 - 10.0 + 100.0 + 0.5 + 1000.0
    );
    assert_eq!(parse("andy + orbit + `min`").names(), ["andy", "orbit", "min"]);
}

#[test]
fn conditions_are_told_from_numbers() {
    for text in ["a < 1", "(a >= 1)", "not a", "a and b", "a == b || c > 2"] {
        assert!(parse(text).is_condition(), "{text}");
    }
    for text in ["a", "-(a < 1)", "(a < 1) + 1", "max(a < 1, b < 2)", "abs(a > 0)"] {
        assert!(!parse(text).is_condition(), "{text}");
    }
    assert!(!parse("x > 0").holds(0.0, &[f64::NAN]));
    assert!(parse("x > 0").holds(0.0, &[1e-300]));
}

#[test]
fn errors_say_what_and_where() {
    let cases = [
        ("1 + > 2", "expected a number or a name, found `>` (byte 4)"),
        ("", "expected a number or a name, found the end (byte 0)"),
        ("(1 + 2", "expected `)` or an operator, found the end (byte 6)"),
        ("a b", "expected an operator or the end, found `b` (byte 2)"),
        ("2x", "expected an operator or the end, found `x` (byte 1)"),
        ("a = 2", "expected `==` for a comparison, found `=` (byte 2)"),
        ("a ? 2", "expected an operator, a number or a name, found `?` (byte 2)"),
        ("äö + é €", "expected an operator, a number or a name, found `€` (byte 10)"),
        ("a < b < c", "comparisons cannot be chained (byte 6)"),
        ("sin(1, 2)", "function `sin` takes one argument, found 2 (byte 0)"),
        ("1 + max(1)", "function `max` takes two or more arguments, found 1 (byte 4)"),
        ("`a", "a backtick is not closed (byte 0)"),
        ("b.x[1", "a bracket is not closed (byte 3)"),
        ("a. + 1", "a name cannot end in a dot (byte 2)"),
        ("1e999", "expected a number, found `1e999` (byte 0)"),
    ];
    for (text, expected) in cases {
        assert_eq!(Expression::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
    let error = Expression::parse("1 + sinus(2)").unwrap_err();
    assert!(error.hint().unwrap().starts_with("known are abs, min, max"), "{error}");
    assert_eq!(error.position(), 4);
    let chained = Expression::parse("a < b < c").unwrap_err();
    assert_eq!(chained.hint().as_deref(), Some("write `a < b and b < c`"));
    assert!(matches!(Expression::parse("min < 2"), Err(ExpressionError::BareFunction { position: 0, .. })));
}

#[test]
fn deep_nesting_is_refused_and_long_chains_are_not() {
    for deep in ["(", "-", "not ", "2^", "abs(", "!"] {
        let text = deep.repeat(100_000) + "1";
        assert!(matches!(Expression::parse(&text), Err(ExpressionError::TooDeep { .. })), "{deep}");
    }
    let nested = "(".repeat(60) + "1" + &")".repeat(60);
    assert_eq!(value(&nested), 1.0);
    assert_eq!(value(&("1".to_owned() + &" + 1".repeat(10_000))), 10_001.0);
    let right = "1 + (".repeat(60) + "1" + &")".repeat(60);
    assert_eq!(value(&right), 61.0);
    // every level holds six values while the next is read: the stack ends before the nesting does
    let wide = "0 or 1 and 1 < 1 + 1 * 2 ^ (".repeat(20) + "1" + &")".repeat(20);
    assert!(matches!(Expression::parse(&wide), Err(ExpressionError::TooDeep { limit: STACK, .. })));
}
