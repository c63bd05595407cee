"""The page on localhost and the API behind it: the command line's answers, asked by HTTP."""
