# Tank with an outlet at its bottom (Torricelli, linear close to empty)
parameter A = 1 [m2] "area of the surface", a = 0.001 [m2] "effective area of the outlet", g = 9.81 [m/s2] "gravity"
parameter h0 = 1 [m] "level at the start", h_low = 0.001 [m] "level below which the outflow is linear"
input q_in [m3/s] "inflow"
output h [m] "level", q_out [m3/s] "outflow"
state h = h0

q_out = a * sqrt(2 * g) * h / (h * h + h_low * h_low)^0.25
der(h) = (q_in - q_out) / A
