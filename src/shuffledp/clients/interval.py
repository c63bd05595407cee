"""Windows on an interval."""


#: The smallest share of the interval that a window has.
SMALLEST = 2.0**-16
