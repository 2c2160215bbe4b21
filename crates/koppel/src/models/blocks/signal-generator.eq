# Periodic signal: sine, square, triangle or sawtooth
parameter shape = 1 "1 sine, 2 square, 3 triangle, 4 sawtooth"
parameter amplitude = 1 "amplitude", frequency = 1 [1/s] "frequency", phase = 0 "phase, in periods"
parameter offset = 0 "mean value", start = 0 [s] "until then, the mean value"
output y "signal"

p = mod(frequency * (time - start) + phase, 1)
sawtooth = 2 * mod(p + 0.5, 1) - 1
triangle = 1 - 4 * abs(mod(p + 0.25, 1) - 0.5)
square = if p < 0.5 then 1 else -1
wave = if shape < 1.5 then sin(2 * pi * p) elseif shape < 2.5 then square elseif shape < 3.5 then triangle else sawtooth
y = if time < start then offset else offset + amplitude * wave
