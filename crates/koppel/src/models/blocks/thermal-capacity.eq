# Heat capacity that exchanges heat with its surroundings
parameter C = 1000 [J/K] "heat capacity", G = 5 [W/K] "conductance to the surroundings", T0 = 293.15 [K] "temperature at the start"
input Q [W] "heat flow into the body", T_around = 293.15 [K] "temperature of the surroundings"
output T [K] "temperature"
state T = T0

der(T) = (Q - G * (T - T_around)) / C
