# SPDX-License-Identifier: Apache-2.0
# bash completion for aliquot. What can come next is the command's own answer.
_aliquot() {
        local i

        # Behind -- stands another command, with its own completion where that is loaded.
        for ((i = 2; i < COMP_CWORD; i++)); do
                if [[ ${COMP_WORDS[i]} == -- ]] && declare -F _command_offset >/dev/null; then
                        _command_offset $((i + 1))
                        return
                fi
        done
        mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _aliquot aliquot
