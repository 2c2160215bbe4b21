# Mass without springs: m v' = F1 + F2
parameter m = 1 [kg] "mass", x0 = 0 [m] "position at the start", v0 = 0 [m/s] "velocity at the start"
input F1 [N] "force", F2 [N] "another force"
output x [m] "position", v [m/s] "velocity"
state x = x0, v = v0

der(x) = v
der(v) = (F1 + F2) / m
