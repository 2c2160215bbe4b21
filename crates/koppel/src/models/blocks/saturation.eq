# Saturation: u between two limits
parameter low = -1 "lower limit", high = 1 "upper limit"
input u "input"
output y "limited input"

y = clamp(u, low, high)
