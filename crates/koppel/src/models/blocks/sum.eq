# Weighted sum of up to four inputs; those that are not connected count nothing
parameter k1 = 1 "weight of u1", k2 = 1 "weight of u2", k3 = 1 "weight of u3", k4 = 1 "weight of u4"
input u1 "first input", u2 "second input", u3 "third input", u4 "fourth input"
output y "sum"

y = k1 * u1 + k2 * u2 + k3 * u3 + k4 * u4
