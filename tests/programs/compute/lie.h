/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tenant can write into its session's slots about the GPU time that it used.
 */
#pragma once

/* Maps them, which makes this process one of the session's, and lies from now on: "meter" says that
 * nothing was used, "bucket" that all of the cap is left, "all" both, and that nothing is in
 * flight. NULL: says nothing. */
void lie_begin(const char *slots, const char *what);

/* Now. Before lie_begin() nothing. */
void lie_tell(void);
