"""The paper "Tight Accounting in the Shuffle Model of Differential Privacy", reproduced.

Koskela, Heikkila and Honkela's own method (the Fourier accountant on a grid, independent of the
certified engine) and every figure of the paper with the corrected and sharper curves beside it:
`shuffledp reproduce all --out DIR`. docs/paper.md goes through the claims one by one.
"""
