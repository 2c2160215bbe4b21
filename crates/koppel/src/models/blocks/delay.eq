# Delay: y(t) = u(t - T)
parameter T = 0.1 [s] "delay", y0 = 0 "output until T"
input u "input"
output y "delayed input"

y = delay(u, T, y0)
