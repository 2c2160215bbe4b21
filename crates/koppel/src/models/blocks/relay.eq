# Relay with hysteresis: on above `high`, off below `low`, and as it was in between
parameter low = -0.1 "switches off", high = 0.1 "switches on"
parameter y_off = 0 "output when off", y_on = 1 "output when on", on0 = 0 "1: on at the start, if between the limits"
input u "input"
output y "output"
discrete on = on0

when u > high then on = 1 end
when u < low then on = 0 end
y = if u > high then y_on elseif u < low then y_off elseif on > 0.5 then y_on else y_off
