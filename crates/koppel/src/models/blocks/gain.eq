# Gain: y = k u
parameter k = 1 "gain"
input u "input"
output y "output"

y = k * u
