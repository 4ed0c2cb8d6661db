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

# Sets plain to word $1 as the command gets it, and kept to how much of that is in front of what readline replaces:
# it begins behind the last of $2 that is not quoted, or behind the quote that is open, if one is. Nothing that was
# typed runs.
_ntprof_unquote()
{
    local rest=$1 before=0 char
    plain= kept=0 quote=
    while [[ $rest ]]; do
        char=${rest:0:1} rest=${rest:1}
        if [[ $char == \\ && ($quote == '' || ($quote == \" && $rest == [\"\\\$\`]*)) ]]; then
            plain+=${rest:0:1} rest=${rest:1}
        elif [[ $char == "$quote" ]]; then
            quote=
        elif [[ $quote == '' && $char == [\'\"] ]]; then
            quote=$char before=${#plain}
        else
            plain+=$char
            [[ $quote == '' && $2 == *"$char"* ]] && kept=${#plain}
        fi
    done
    [[ $quote ]] && kept=$before
}

# What the shell itself finds of kind $1, of what is behind the first $2 characters of the word.
_ntprof_ask()
{
    local i cur=$quote${whole:$2} # as _filedir has it
    COMPREPLY=()
    case $1 in
        file) _filedir ;;
        folder) _filedir -d ;;
        profile) _filedir '@(pb|pb.gz|pprof)?(.old)' ;;
        host) COMPREPLY=($(compgen -A hostname -- "${whole:$2}")) ;;
        executable) COMPREPLY=($(compgen -c -- "${whole:$2}")) ;;
    esac
    for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
        # Readline would look for a folder whose name begins with the option.
        (($2 > kept)) && [[ -d ${COMPREPLY[i]} ]] && COMPREPLY[i]+=/
        found+=("${whole:0:$2}${COMPREPLY[i]}")
    done
}

_ntprof()
{
    local cur prev words cword line word plain kept quote i
    local -a typed found
    _init_completion -n =: || return

    for ((i = 1; i <= cword; i++)); do
        _ntprof_unquote "${words[i]}" "${COMP_WORDBREAKS//[^=:]/}"
        typed+=("$plain")
    done
    local whole=$plain
    while IFS= read -r line; do
        if [[ $line =~ ^:program\ ([0-9]+)$ ]]; then
            _command_offset "$(_ntprof_offset "${BASH_REMATCH[1]}")"
            return
        elif [[ $line =~ ^:([a-z]+)\ ([0-9]+)$ ]]; then
            _ntprof_ask "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
        else
            word=${line%%$'\t'*}
            [[ $word == "$whole"* ]] && found+=("$word")
        fi
    done < <("$1" --complete "${typed[@]}" 2>/dev/null)
    COMPREPLY=()
    for word in "${found[@]}"; do
        COMPREPLY+=("${word:kept}")
    done
    # Readline quotes names of files, and nothing else.
    [[ ${COMPREPLY[*]} == *[^A-Za-z0-9_./:=,%+@-]* ]] && compopt -o filenames
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/:=] ]] && compopt -o nospace
} &&
    complete -F _ntprof ntprof
