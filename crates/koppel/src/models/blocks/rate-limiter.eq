# Rate limiter: y follows u with a short lag, no faster than the limits
parameter rising = 1 "fastest rise, per s", falling = -1 "fastest fall, per s"
parameter T = 0.01 [s] "lag inside the limits", y0 = 0 "start value"
input u "input"
output y "limited input"
state y = y0

der(y) = clamp((u - y) / T, falling, rising)
