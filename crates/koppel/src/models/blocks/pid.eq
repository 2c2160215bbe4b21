# PID controller with filtered derivative, limits and anti-windup by back-calculation
parameter kp = 1 "proportional gain", ki = 1 "integral gain, per s", kd = 0.1 "derivative gain, times s"
parameter Tf = 0.01 [s] "time constant of the derivative filter"
parameter low = -1 "lower limit of the output", high = 1 "upper limit of the output"
parameter Tt = 1 [s] "tracking time: how fast the integral follows the limits"
parameter i0 = 0 "integral part at the start"
input e "control error"
output u "demand", i "integral part"
state i = i0, filtered = 0

rate = (e - filtered) / Tf
der(filtered) = rate
wanted = kp * e + i + kd * rate
u = clamp(wanted, low, high)
der(i) = ki * e + (u - wanted) / Tt
