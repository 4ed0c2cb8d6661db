# SPDX-License-Identifier: MIT
# ntprof.bash - completions of ntprof for bash; needs the package bash-completion, as others do.
# What there is to complete says ntprof --complete (tool/cli/complete.h).

# The place in COMP_WORDS, which has --OPTION=VALUE in three words, of word $1.
_ntprof_offset()
{
    local i raw=0 part
    for ((i = 0; i < $1; i++)); do
        part=
        while [[ $part != "${words[i]}" && $raw -lt $COMP_CWORD ]]; do
            part+=${COMP_WORDS[raw++]}
        done
    done
    echo "$raw"
}

_ntprof()
{
    local cur prev words cword line word done=
    _init_completion -n =: || return

    # Readline replaces only what is behind these.
    local breaks=${COMP_WORDBREAKS//[^=:]/}
    [[ $breaks ]] && done=${cur%"${cur##*["$breaks"]}"}
    local whole=$cur
    [[ $cur == --*=* ]] && cur=${cur#*=}
    while IFS= read -r line; do
        case $line in
            :program\ [0-9] | :program\ [0-9][0-9] | :program\ [0-9][0-9][0-9])
                _command_offset "$(_ntprof_offset "${line#:program }")"
                return
                ;;
            :file) _filedir ;;
            :folder) _filedir -d ;;
            :profile) _filedir '@(pb|pb.gz|pprof)?(.old)' ;;
            :host) COMPREPLY+=($(compgen -A hostname -- "$cur")) ;;
            :executable) COMPREPLY+=($(compgen -c -- "$cur")) ;;
            *)
                word=${line%%$'\t'*}
                [[ $word == "$whole"* ]] && COMPREPLY+=("${word#"$done"}")
                ;;
        esac
    done < <("$1" --complete "${words[@]:1:cword}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/:=] ]] && compopt -o nospace
} &&
    complete -F _ntprof ntprof
