# LuGre friction: bristles that bend and slip
# Canudas de Wit, Olsson, Astrom, Lischinsky (1995), https://doi.org/10.1109/9.376053, (1) to (4).
parameter sigma0 = 1e5 [N/m] "stiffness of the bristles", sigma1 = 300 [N.s/m] "their damping", sigma2 = 0.4 [N.s/m] "viscous friction"
parameter Fc = 10 [N] "Coulomb friction", Fs = 15 [N] "static friction", vs = 0.01 [m/s] "Stribeck velocity"
input v [m/s] "velocity"
output F [N] "force on the body"
state z = 0 [m]

level = Fc + (Fs - Fc) * exp(-(v / vs)^2)
der(z) = v - sigma0 * abs(v) * z / level
F = -(sigma0 * z + sigma1 * der(z) + sigma2 * v)
