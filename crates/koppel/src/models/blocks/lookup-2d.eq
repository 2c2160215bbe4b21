# Lookup table of two arguments, with your own points: tables = { f = { x = .., y = .., z = .. } }
input u1 "first argument", u2 "second argument"
output y "value of the table `f`"

y = f(u1, u2)
