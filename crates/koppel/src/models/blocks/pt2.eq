# Second-order lag: T^2 y'' + 2 D T y' + y = k u
parameter k = 1 "gain at rest", T = 1 [s] "time constant", D = 0.7 "damping ratio", y0 = 0 "start value"
input u "input"
output y "response"
state y = y0, rate = 0

der(y) = rate
der(rate) = (k * u - y - 2 * D * T * rate) / (T * T)
