# Dead zone: nothing between two limits, what is beyond them outside
parameter low = -0.1 "lower limit", high = 0.1 "upper limit"
input u "input"
output y "what is beyond the limits"

y = u - clamp(u, low, high)
