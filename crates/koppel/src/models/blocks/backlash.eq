# Backlash: y moves once u has crossed the play, with a short lag
parameter play = 0.1 "width of the play", T = 0.001 [s] "lag in contact", y0 = 0 "start value"
input u "driving side"
output y "driven side"
state y = y0

der(y) = (max(u - 0.5 * play - y, 0) + min(u + 0.5 * play - y, 0)) / T
