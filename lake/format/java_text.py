"""Floating-point numbers in the notation of Java's `toString`, on which paths and casts depend.

The digits are the fewest that identify the value. Java writes other digits for a few values: for
the smallest subnormals (`4.9E-324`), and before JDK 19 for some larger values
(`1.9999999999999998E23`).
"""

import math

import numpy as np


def java_float_text(value: float | np.float32) -> str:
    """Return the text of Java's `toString`: plain from 0.001 to below 10 million, else like `1.0E10`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("-Infinity" if value < 0 else "Infinity")
    if value == 0 or 1e-3 <= abs(float(value)) < 1e7:
        return np.format_float_positional(value, unique=True, trim="0")
    mantissa, exponent = np.format_float_scientific(value, unique=True, trim="0").split("e")
    return f"{mantissa}E{int(exponent)}"
