//! Maps: lookup tables of one or two arguments.
//!
//! Between the points they are linear, or cubics that are monotone wherever the points are (of two arguments: along the lines of the
//! grid). Outside they hold their last value, go on with their last slope, or have no value.

use crate::signal::external::monotone_slopes;

/// What a map is between its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Between {
    /// Linear, of two arguments bilinear.
    #[default]
    Linear,
    /// Cubics that overshoot nowhere.
    Monotone,
}

/// What a map is outside of its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outside {
    /// Its value at the edge.
    #[default]
    Clamp,
    /// Goes on with the slope at the edge.
    Extrapolate,
    /// The run ends.
    Refuse,
}

/// A map as it is given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MapConfig {
    /// What equations call it.
    pub name: String,
    /// Points of the first argument.
    pub x: Vec<f64>,
    /// Points of the second argument, if there is one.
    pub y: Option<Vec<f64>>,
    /// Values, row by row: all those of the first x first.
    pub values: Vec<f64>,
    /// Between the points.
    pub between: Between,
    /// Outside of them.
    pub outside: Outside,
}

impl MapConfig {
    /// What is wrong with it.
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        let expected = self.x.len() * self.y.as_ref().map_or(1, Vec::len);
        for (name, axis) in [("x", Some(&self.x)), ("y", self.y.as_ref())] {
            let Some(axis) = axis else { continue };
            if axis.len() < 2 {
                found.push(format!("`{name}` has {} points, a map needs two or more", axis.len()));
            }
            if let Some(at) = axis.windows(2).position(|pair| pair[0] >= pair[1]) {
                found.push(format!(
                    "`{name}` does not grow: {} comes after {} (points {} and {})",
                    axis[at + 1],
                    axis[at],
                    at + 2,
                    at + 1
                ));
            } else if axis.iter().any(|point| !point.is_finite()) {
                found.push(format!("`{name}` has a hole: a point that is no finite number"));
            }
        }
        if self.values.len() != expected {
            found.push(format!("it has {} values for {expected} points", self.values.len()));
        } else if let Some(at) = self.values.iter().position(|value| !value.is_finite()) {
            let columns = self.y.as_ref().map_or(1, Vec::len).max(1);
            let x = self.x[at / columns];
            let place = match &self.y {
                Some(y) => format!("x = {x}, y = {}", y[at % columns]),
                None => format!("x = {x}"),
            };
            found.push(format!("it has a hole at {place}"));
        }
        found
    }
}

/// A map that can be evaluated.
#[derive(Debug, Clone)]
pub(super) struct Map {
    config: MapConfig,
    /// Slopes along x, along y, and how those along x grow with y; for cubics.
    slopes: [Vec<f64>; 3],
}

/// A value, and slopes along both arguments.
type Sloped = (f64, [f64; 2]);

impl Map {
    /// A map without problems.
    pub(super) fn new(config: MapConfig) -> Map {
        let slopes = match config.between {
            Between::Linear => [vec![], vec![], vec![]],
            Between::Monotone => grid_slopes(&config),
        };
        Map { config, slopes }
    }

    pub(super) fn config(&self) -> &MapConfig {
        &self.config
    }

    /// Value and slope of a map of one argument.
    pub(super) fn curve(&self, x: f64) -> (f64, f64) {
        let axis = &self.config.x;
        let Some(near) = self.near(axis, x) else { return (f64::NAN, f64::NAN) };
        let at = Cell::new(axis, near.at);
        let ([low, high], [dlow, dhigh]) = self.weights(&at);
        let z = |i: usize| self.config.values[i];
        let (mut value, mut slope) =
            (low * z(at.first) + high * z(at.first + 1), dlow * z(at.first) + dhigh * z(at.first + 1));
        if self.config.between == Between::Monotone {
            let ([low, high], [dlow, dhigh]) = at.slope_weights();
            let s = |i: usize| self.slopes[0][i];
            value += low * s(at.first) + high * s(at.first + 1);
            slope += dlow * s(at.first) + dhigh * s(at.first + 1);
        }
        match near.beyond {
            0.0 => (value, slope),
            _ if self.config.outside == Outside::Clamp => (value, 0.0),
            beyond => (value + slope * beyond, slope),
        }
    }

    /// Value and slopes of a map of two arguments.
    pub(super) fn field(&self, x: f64, y: f64) -> Sloped {
        let nothing = (f64::NAN, [f64::NAN; 2]);
        let Some(ys) = &self.config.y else { return nothing };
        let (Some(at_x), Some(at_y)) = (self.near(&self.config.x, x), self.near(ys, y)) else {
            return nothing;
        };
        let [f, fx, fy, fxy] = self.patch(&Cell::new(&self.config.x, at_x.at), &Cell::new(ys, at_y.at));
        let (dx, dy) = (at_x.beyond, at_y.beyond);
        if self.config.outside == Outside::Clamp {
            let along = |slope: f64, beyond: f64| if beyond == 0.0 { slope } else { 0.0 };
            return (f, [along(fx, dx), along(fy, dy)]);
        }
        (f + fx * dx + fy * dy + fxy * dx * dy, [fx + fxy * dy, fy + fxy * dx])
    }

    /// The point of the axis nearest to `x`; nothing if there is no value there.
    fn near(&self, axis: &[f64], x: f64) -> Option<Near> {
        let at = x.clamp(axis[0], axis[axis.len() - 1]);
        let beyond = x - at;
        let is_refused = beyond != 0.0 && self.config.outside == Outside::Refuse;
        (!is_refused && !x.is_nan()).then_some(Near { at, beyond })
    }

    /// Weights of the values at both ends of an interval, and their slopes.
    fn weights(&self, at: &Cell) -> Weights {
        match self.config.between {
            Between::Linear => at.line(),
            Between::Monotone => at.cubic(),
        }
    }

    /// f, f_x, f_y and f_xy inside of one cell of the grid.
    fn patch(&self, x: &Cell, y: &Cell) -> [f64; 4] {
        let columns = self.config.y.as_ref().map_or(1, Vec::len);
        let mut sums = [0.0; 4];
        let mut add = |(wx, dx): Weights, (wy, dy): Weights, table: &[f64]| {
            for i in 0..2 {
                for j in 0..2 {
                    let z = table[(x.first + i) * columns + y.first + j];
                    sums[0] += wx[i] * wy[j] * z;
                    sums[1] += dx[i] * wy[j] * z;
                    sums[2] += wx[i] * dy[j] * z;
                    sums[3] += dx[i] * dy[j] * z;
                }
            }
        };
        add(self.weights(x), self.weights(y), &self.config.values);
        if self.config.between == Between::Monotone {
            let [along_x, along_y, twist] = &self.slopes;
            add(x.slope_weights(), y.cubic(), along_x);
            add(x.cubic(), y.slope_weights(), along_y);
            add(x.slope_weights(), y.slope_weights(), twist);
        }
        sums
    }
}

struct Near {
    at: f64,
    beyond: f64,
}

/// Weights of both ends, and how they change with the argument.
type Weights = ([f64; 2], [f64; 2]);

/// An interval of an axis, and the part of it that is left behind.
struct Cell {
    first: usize,
    size: f64,
    part: f64,
}

impl Cell {
    fn new(axis: &[f64], x: f64) -> Cell {
        let first = axis.partition_point(|point| *point <= x).clamp(1, axis.len() - 1) - 1;
        let size = axis[first + 1] - axis[first];
        Cell { first, size, part: (x - axis[first]) / size }
    }

    fn line(&self) -> Weights {
        ([1.0 - self.part, self.part], [-1.0 / self.size, 1.0 / self.size])
    }

    /// Of the values in a Hermite cubic.
    fn cubic(&self) -> Weights {
        let s = self.part;
        let (rise, slope) = (s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / self.size);
        ([1.0 - rise, rise], [-slope, slope])
    }

    /// Of the slopes in a Hermite cubic.
    fn slope_weights(&self) -> Weights {
        let (s, h) = (self.part, self.size);
        let left = s * (1.0 - s) * (1.0 - s);
        let right = s * s * (s - 1.0);
        ([h * left, h * right], [(1.0 - s) * (1.0 - 3.0 * s), s * (3.0 * s - 2.0)])
    }
}

/// Slopes at the points of the grid such that cubics overshoot nowhere.
fn grid_slopes(config: &MapConfig) -> [Vec<f64>; 3] {
    let (rows, columns) = (config.x.len(), config.y.as_ref().map_or(1, Vec::len));
    let mut along_x = vec![0.0; rows * columns];
    for column in 0..columns {
        let line: Vec<f64> = (0..rows).map(|row| config.values[row * columns + column]).collect();
        let slopes = monotone_slopes(&config.x, &line);
        slopes.iter().enumerate().for_each(|(row, slope)| along_x[row * columns + column] = *slope);
    }
    let Some(y) = &config.y else { return [along_x, vec![], vec![]] };
    let rows_of = |table: &[f64]| -> Vec<f64> {
        table.chunks(columns).flat_map(|line| monotone_slopes(y, line)).collect()
    };
    let (along_y, twist) = (rows_of(&config.values), rows_of(&along_x));
    [along_x, along_y, twist]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(between: Between, outside: Outside) -> Map {
        let (x, values) = (vec![0.0, 1.0, 3.0, 4.0], vec![0.0, 2.0, 3.0, 3.0]);
        Map::new(MapConfig { name: "f".into(), x, y: None, values, between, outside })
    }

    fn field(between: Between, outside: Outside) -> Map {
        let (x, y) = (vec![0.0, 1.0, 2.5, 4.0], vec![-1.0, 0.5, 2.0]);
        let values = x.iter().flat_map(|x| y.iter().map(move |y| x * x + 2.0 * y - 0.3 * x * y)).collect();
        Map::new(MapConfig { name: "g".into(), x, y: Some(y), values, between, outside })
    }

    /// The slopes are those of what is evaluated, inside and outside.
    #[test]
    fn slopes_are_those_of_the_values() {
        let h = 1e-6;
        for between in [Between::Linear, Between::Monotone] {
            for outside in [Outside::Clamp, Outside::Extrapolate] {
                let map = curve(between, outside);
                for k in -10..60 {
                    let x = f64::from(k) * 0.1 + 0.013;
                    let difference = (map.curve(x + h).0 - map.curve(x - h).0) / (2.0 * h);
                    assert!((map.curve(x).1 - difference).abs() < 1e-7, "{between:?} {outside:?} {x}");
                }
                let map = field(between, outside);
                for k in 0..400 {
                    let (x, y) = (f64::from(k % 20) * 0.31 - 1.013, f64::from(k / 20) * 0.27 - 2.017);
                    let at = |dx: f64, dy: f64| map.field(x + dx, y + dy).0;
                    let slopes = map.field(x, y).1;
                    let differences =
                        [(at(h, 0.0) - at(-h, 0.0)) / (2.0 * h), (at(0.0, h) - at(0.0, -h)) / (2.0 * h)];
                    for (slope, difference) in slopes.iter().zip(differences) {
                        assert!((slope - difference).abs() < 1e-6, "{between:?} {outside:?} ({x}, {y})");
                    }
                }
            }
        }
    }

    #[test]
    fn points_are_met_and_cubics_do_not_overshoot() {
        for between in [Between::Linear, Between::Monotone] {
            let map = curve(between, Outside::Refuse);
            for (x, z) in map.config.x.iter().zip(&map.config.values) {
                assert!((map.curve(*x).0 - z).abs() < 1e-14);
            }
            let values: Vec<f64> = (0..=400).map(|k| map.curve(f64::from(k) * 0.01).0).collect();
            assert!(values.windows(2).all(|pair| pair[1] >= pair[0] - 1e-15));
            assert!(map.curve(-1e-9).0.is_nan() && map.curve(4.1).0.is_nan());
            let map = field(between, Outside::Clamp);
            assert!((map.field(2.5, 0.5).0 - (6.25 + 1.0 - 0.375)).abs() < 1e-14);
            assert!((map.field(9.0, 2.0).0 - map.field(4.0, 2.0).0).abs() < 1e-14);
        }
        assert_eq!(curve(Between::Linear, Outside::Extrapolate).curve(-1.0), (-2.0, 2.0));
    }

    #[test]
    fn problems_are_named() {
        let problems = |x: &[f64], y: Option<&[f64]>, values: &[f64]| {
            let (x, y, values) = (x.to_vec(), y.map(<[f64]>::to_vec), values.to_vec());
            MapConfig { x, y, values, ..MapConfig::default() }.problems().join("; ")
        };
        assert_eq!(problems(&[0.0, 1.0], None, &[1.0, 2.0]), "");
        assert_eq!(
            problems(&[0.0, 2.0, 1.0], None, &[0.0; 3]),
            "`x` does not grow: 1 comes after 2 (points 3 and 2)"
        );
        assert_eq!(problems(&[0.0], None, &[0.0]), "`x` has 1 points, a map needs two or more");
        assert_eq!(problems(&[0.0, 1.0], None, &[0.0; 3]), "it has 3 values for 2 points");
        let hole = [0.0, 1.0, 2.0, f64::NAN];
        assert_eq!(problems(&[0.0, 1.0], Some(&[5.0, 6.0]), &hole), "it has a hole at x = 1, y = 6");
    }
}
