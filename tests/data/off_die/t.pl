UCLA pl 1.0
a -4 0 : N
b 8 0 : N
c 16 8 : N
d 30 8 : N
e 8 0 : N
