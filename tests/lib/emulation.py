# SPDX-License-Identifier: Apache-2.0
"""Where qemu-user differs from Linux; for stories that need that behaviour (ALIQUOT_EMULATOR)."""
MREMAP = "qemu-user has no mremap of length 0, by which the simulator maps memory twice"
FORK = "qemu-user ignores MADV_DONTFORK: the simulator's helper keeps a dead program's lock"
SLOW = "the five seconds for which others wait for a first context may pass in an emulator"

LACKS = {
    "test_charge_is_grant[vmm-preload]": MREMAP,
    "test_charge_is_grant[vmm-shims]": MREMAP,
    "test_charge_is_grant[vmm_run-preload]": MREMAP,
    "test_charge_is_grant[vmm_run-shims]": MREMAP,
    "test_every_family_in_one_process[door0]": MREMAP,
    "test_every_family_in_one_process[door1]": MREMAP,
    "test_retained_by_an_address_inside_a_mapping": MREMAP,
    "test_contexts_made_at_once_are_charged_what_the_first_one_took[more than the estimate]": SLOW,
    "test_contexts_made_at_once_are_charged_what_the_first_one_took[less]": SLOW,
    "test_memory_of_the_dead_is_waited_for": FORK,
    "test_what_went_otherwise_than_asked_is_counted": FORK,
}
