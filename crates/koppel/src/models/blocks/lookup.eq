# Lookup table of one argument, with your own points: tables = { f = { x = [0, 1], y = [0, 5] } }
input u "argument"
output y "value of the table `f`"

y = f(u)
