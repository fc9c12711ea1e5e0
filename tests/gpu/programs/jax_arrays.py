# SPDX-License-Identifier: Apache-2.0
"""JAX, which takes three quarters of the card that it sees before it does anything."""
import jax
import jax.numpy as jnp

from said import hold


def main():
    assert jax.devices()[0].platform == "gpu", jax.devices()
    product = jnp.ones((512, 512)) @ jnp.ones((512, 512))
    right = float(product[0, 0]) == 512.0
    hold("ready", right=right, limit=jax.devices()[0].memory_stats().get("bytes_limit"))


main()
