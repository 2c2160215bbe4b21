# Integrator: y' = k u
parameter k = 1 "gain", y0 = 0 "start value"
input u "input"
output y "integral"
state y = y0

der(y) = k * u
