# PI controller with limits and anti-windup by back-calculation
parameter kp = 1 "proportional gain", ki = 1 "integral gain, per s"
parameter low = -1 "lower limit of the output", high = 1 "upper limit of the output"
parameter Tt = 1 [s] "tracking time: how fast the integral follows the limits"
parameter i0 = 0 "integral part at the start"
input e "control error"
output u "demand", i "integral part"
state i = i0

wanted = kp * e + i
u = clamp(wanted, low, high)
der(i) = ki * e + (u - wanted) / Tt
