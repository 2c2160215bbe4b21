# Direct-current motor with inertia
parameter R = 1 [Ohm] "resistance", L = 1e-3 [H] "inductance", k = 0.05 [N.m/A] "torque constant"
parameter J = 1e-4 [kg.m2] "inertia", d = 1e-5 [N.m.s/rad] "bearing friction"
input U [V] "voltage", load [N.m] "torque of the load"
output w [rad/s] "speed", i [A] "current", torque [N.m] "torque of the motor"
state w = 0, i = 0

torque = k * i
der(i) = (U - R * i - k * w) / L
der(w) = (torque - d * w - load) / J
