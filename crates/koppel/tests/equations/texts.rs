//! Built-in models and a long chain, written as equations.

use std::fmt::Write;

pub(crate) const PROGRESSIVE: &str = "
    parameter m = 10 [kg], c = 1e7 [N/m], d = 2 [N.s/m], nc = 1.5 [1], nd = 1.5 [1]
    parameter ck = 5e5, ck_max = 2.5e5, ck_min = 2.5e4, dk = 1e3, dk_max = 3e3, dk_min = 5e2
    parameter x0 = 0 [m], v0 = 0 [m/s]
    input x [m], v [m/s]
    output F [N]
    state x_own = x0 [m], v_own = v0 [m/s]

    stretch = x_own - x
    rate = v_own - v
    stiffness = max(min(ck * abs(stretch)^(nc - 1), ck_max), ck_min)
    damping = max(min(dk * abs(rate)^(nd - 1), dk_max), dk_min)
    F = stiffness * stretch + damping * rate
    der(x_own) = v_own
    der(v_own) = (-c * x_own - d * v_own - F) / m
";

pub(crate) const PENDULUM: &str = "
    parameter m = 1 [kg], l = 1 [m], g = 9.81 [m/s2], k = 1e3 [N/m], d = 10 [N.s/m]
    parameter alpha0 = 5 * pi / 180 [rad], omega0 = 0 [rad/s]
    input x [m], v [m/s]
    output alpha [rad], omega [rad/s]
    state alpha = alpha0, omega = omega0
    force = k * (x - l * sin(alpha)) + d * (v - l * omega * cos(alpha))
    der(alpha) = omega
    der(omega) = -g / l * sin(alpha) + cos(alpha) * force / (m * l)
";

const LUGRE: &str = "
    friction = sigma0 * z + sigma1 * slip + sigma2 * v
    slip = v - sigma0 * abs(v) * z / g
    g = Fc + (Fs - Fc) * exp(-(v / vs)^2)
    parameter sigma0 = 5e5 [N/m], sigma1 = 316 [N.s/m], sigma2 = 0.4 [N.s/m]
    parameter Fc = 320 [N], Fs = 320 [N], vs = 0.01 [m/s]
";

pub(crate) fn lugre_mass() -> String {
    format!(
        "{LUGRE}
        parameter m = 3.78 [kg], x0 = 0, v0 = 0
        input F [N]
        output x [m], v [m/s], friction [N]
        state x = x0, v = v0, z = 0 [m]
        der(x) = v
        der(v) = (F - friction) / m
        der(z) = slip"
    )
}

pub(crate) fn epas() -> String {
    format!(
        "{LUGRE}
        parameter m = 3.78 [kg], J_col = 0.04 [kg.m2], J_m = 2.5906e-4 [kg.m2], i_pinion = 0.0098 [m/rad]
        parameter i_belt = 0.3509 [rad/rad], i_bs = 0.0011 [m/rad], k_t = 115 [N.m/rad], d_t = 0.3 [N.m.s/rad]
        parameter k_b = 5e6 [N/m], d_b = 175 [N.s/m], a1 = 0.06, a2 = 0.03, d_m = 0.003, T = 1e-3 [s]
        input T_s [N.m], F_r [N]
        output v [m/s], x [m], delta_s [rad], friction [N]
        discrete T_m = 0 [N.m]
        state z = 0 [m], omega_s [rad/s], delta_m [rad], omega_m [rad/s]

        i_b = i_belt * i_bs
        pinion = k_t * (delta_s - x / i_pinion) + d_t * (omega_s - v / i_pinion)
        belt = i_b * i_b * (k_b * (delta_m - x / i_b) + d_b * (omega_m - v / i_b))
        der(x) = v
        der(v) = (pinion / i_pinion + belt / i_b - F_r - friction) / m
        der(z) = slip
        der(delta_s) = omega_s
        der(omega_s) = (T_s - pinion) / J_col
        der(delta_m) = omega_m
        der(omega_m) = (T_m - belt) / J_m
        when every(T) then T_m = a1 * pinion + a2 * pinion * abs(pinion) - d_m * omega_m end"
    )
}

/// A chain of masses, each with a state of its own and intermediate variables in no order.
pub(crate) fn chain(count: usize) -> String {
    let mut text = String::from("parameter c = 100, d = 1, m = 2\ninput F\noutput x1\n");
    for k in (1..=count).rev() {
        let (before, after) = (k.saturating_sub(1), k + 1);
        let left = if k == 1 { "F".to_owned() } else { format!("f{before}") };
        let right = if k == count {
            "c * x + d * v".replace('x', &format!("x{k}")).replace('v', &format!("v{k}"))
        } else {
            format!("f{k}")
        };
        writeln!(text, "der(v{k}) = ({left} - {right}) / m").unwrap();
        writeln!(text, "der(x{k}) = v{k}").unwrap();
        if k < count {
            writeln!(text, "f{k} = c * (x{k} - x{after}) + d * (v{k} - v{after})").unwrap();
        }
    }
    text
}
