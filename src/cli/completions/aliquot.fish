# SPDX-License-Identifier: Apache-2.0
# fish completion for aliquot. What can come next is the command's own answer.
complete -c aliquot -a '(aliquot complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
