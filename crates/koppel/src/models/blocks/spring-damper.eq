# Spring and damper between two bodies
parameter c = 1000 [N/m] "stiffness", d = 10 [N.s/m] "damping", length = 0 [m] "x2 - x1 at rest"
input x1 [m] "position of the first body", v1 [m/s] "its velocity"
input x2 [m] "position of the second body", v2 [m/s] "its velocity"
output F1 [N] "force on the first body", F2 [N] "force on the second body"

F1 = c * (x2 - x1 - length) + d * (v2 - v1)
F2 = -F1
