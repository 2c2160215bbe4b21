# Smooth Coulomb and viscous friction
parameter Fc = 10 [N] "Coulomb friction", d = 0 [N.s/m] "viscous friction", vs = 0.01 [m/s] "velocity at which it is three quarters of Fc"
input v [m/s] "velocity"
output F [N] "force on the body"

F = -(Fc * tanh(v / vs) + d * v)
