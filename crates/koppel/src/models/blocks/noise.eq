# Normally distributed noise, held between samples; the same seed gives the same numbers
# Two generators of L'Ecuyer (1988), https://doi.org/10.1145/62959.62969, and the method of Box and Muller (1958).
parameter mean = 0 "mean", deviation = 1 "standard deviation", T = 0.01 [s] "time between samples", seed = 1 "whole number"
output y "noise"
discrete a = 1 + mod(1234567 + 48271 * floor(seed), 2147483562)
discrete b = 1 + mod(7654321 + 69621 * floor(seed), 2147483398)
discrete y = mean

when every(T) then
    a = mod(40014 * a, 2147483563)
    b = mod(40692 * b, 2147483399)
    y = mean + deviation * sqrt(-2 * log(a / 2147483563)) * cos(2 * pi * (b / 2147483399))
end
