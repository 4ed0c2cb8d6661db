# SPDX-License-Identifier: MIT
# ntprof.bash - completions of ntprof for bash; needs the package bash-completion, as others do.
# scripts/check_options.py holds the options against those of the command.

# Sources that work here, as -e takes them.
_ntprof_sources()
{
    "$1" sources --json 2>/dev/null |
        sed -n 's/.*"name":"\([^":]*\)".*"supported":true.*/\1/p'
}

# What a row of the table of command $1 can be.
_ntprof_keys()
{
    echo function line image address bucket process thread cpu unit
    [[ $1 != diff ]] && echo source
}

# Functions with hits in ntprof.pb.gz, of names that shells can take.
_ntprof_functions()
{
    "$1" report --json --rows 200 2>/dev/null |
        sed -n 's/.*"function":"\([A-Za-z_][A-Za-z0-9_.]*\)".*/\1/p'
}

# WORDS: completes the last item of a list with commas between.
_ntprof_list()
{
    local before=
    [[ $cur == *,* ]] && before=${cur%,*},
    COMPREPLY=($(compgen -P "$before" -W "$1" -- "${cur##*,}"))
}

_ntprof_cgroups()
{
    COMPREPLY=($(cd /sys/fs/cgroup 2>/dev/null && compgen -d -S / -- "$cur"))
    compopt -o nospace
}

_ntprof_pids()
{
    local own=$cur before=
    [[ $cur == *,* ]] && before=${cur%,*},
    cur=${cur##*,}
    _pids
    cur=$own
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
}

# The values of option $2 of command $1. False: it has none to offer, or takes none.
_ntprof_value()
{
    case $2 in
        -e | --event) _ntprof_list "$(_ntprof_sources "$ntprof")" ;;
        -p | --pid) _ntprof_pids ;;
        -C | --cpu) _ntprof_list "$(seq 0 $(($(_ncpus) - 1)))" ;;
        -F | --frequency) COMPREPLY=($(compgen -W '997 5k max' -- "$cur")) ;;
        -G | --cgroup) _ntprof_cgroups ;;
        -o | --output | --report) _filedir ;;
        --bucket) COMPREPLY=($(compgen -W '1 4 8 16 32 64 256 4k 1M' -- "$cur")) ;;
        --per) COMPREPLY=($(compgen -W cpu -- "$cur")) ;;
        --hal) COMPREPLY=($(compgen -W 'perf timer sim' -- "$cur")) ;;
        --by) _ntprof_list "$(_ntprof_keys "$1")" ;;
        --format)
            COMPREPLY=($(compgen -W 'pprof gmon callgrind speedscope folded json csv html
                openmetrics llvm-profgen llvm-sample gcc-afdo bolt bolt-fdata
                symbol-order' -- "$cur"))
            ;;
        --image-dir | --source-dir) _filedir -d ;;
        -M | --disassembler-style) COMPREPLY=($(compgen -W 'att intel' -- "$cur")) ;;
        --context) COMPREPLY=($(compgen -W '0 5 20 all' -- "$cur")) ;;
        --image | --control | --region | --config) _filedir ;;
        --spool) _filedir -d ;;
        --window) COMPREPLY=($(compgen -W '10s 1m 5m 15m 1h' -- "$cur")) ;;
        --store) COMPREPLY=($(compgen -W 'sqlite:' -- "$cur")) ;;
        --spool-size) COMPREPLY=($(compgen -W '64M 256M 1G' -- "$cur")) ;;
        --spool-age) COMPREPLY=($(compgen -W '12h 1d 7d' -- "$cur")) ;;
        --max-cpu) COMPREPLY=($(compgen -W '0.5% 1% 5%' -- "$cur")) ;;
        --listen) COMPREPLY=($(compgen -W '127.0.0.1:' -- "$cur")) ;;
        --objdump) $split && COMPREPLY=($(compgen -c -- "$cur")) ;;
        -d | --delay) COMPREPLY=($(compgen -W '500ms 1s 2s 10s' -- "$cur")) ;;
        --interval) COMPREPLY=($(compgen -W '100us 250us 1ms 10ms' -- "$cur")) ;;
        --duration | --every) COMPREPLY=($(compgen -W '10s 30s 1m 5m 1h' -- "$cur")) ;;
        --before | --since | --until) COMPREPLY=($(compgen -W '1h 1d 7d 30d 90d' -- "$cur")) ;;
        --host) COMPREPLY=($(compgen -A hostname -- "$cur")) ;;
        --max-overhead) COMPREPLY=($(compgen -W '0.1 1 5' -- "$cur")) ;;
        --max-memory | --max-size) COMPREPLY=($(compgen -W '256M 1G 4G' -- "$cur")) ;;
        -c | --count | --unit | --label | --build-id | --rows | --listings | --process | --symbol | --fail-above) return 0 ;;
        *) return 1 ;;
    esac
}

# The program of `ntprof run [options] [--] PROGRAM`: its place among the words, or none.
_ntprof_program()
{
    local i
    for ((i = 2; i <= cword; i++)); do
        case ${words[i]} in
            --)
                echo $((i + 1))
                return
                ;;
            -[eFcCo] | --event | --frequency | --count | --cpu | --output | --interval | \
                --bucket | --hal | --per | --every | --delay | --duration | --control | --max-overhead | --max-memory | --by | --rows | \
                --region | --report) ((i++)) ;;
            -*) ;;
            *)
                echo "$i"
                return
                ;;
        esac
    done
}

_ntprof()
{
    local cur prev words cword split
    _init_completion -s || return

    local ntprof=$1 command=${words[1]} program
    local commands='run attach system top agent report annotate diff merge export store serve sources doctor
        help version'
    local hits='-e --event -F --frequency --interval -c --count --bucket -C --cpu --hal
        -o --output --no-guard --max-memory --no-lines --help'
    local record="$hits --per --every --delay --duration --control --max-overhead --debuginfod --by --rows --json --report -q --quiet"
    local stored='--since --until --host --unit --label --build-id'
    local profiles='@(pb|pb.gz|pprof)?(.old)'
    local options= files=

    if ((cword == 1)); then
        COMPREPLY=($(compgen -W "$commands --help --version" -- "$cur"))
        return
    fi
    if [[ $command == run ]]; then
        program=$(_ntprof_program)
        if [[ $program && $program -le $cword && ($cur != -* || $program -lt $cword || \
            ${words[program - 1]} == --) ]]; then
            _command_offset "$program"
            return
        fi
    fi
    _ntprof_value "$command" "$prev" && return
    $split && return

    case $command in
        run) options="--region $record" ;;
        attach) options="-p --pid --region $record" ;;
        system) options="--kernel --user -G --cgroup $record" ;;
        top) options="-a --all -p --pid -d --delay --duration --kernel --user -G --cgroup $hits $stored" ;;
        agent)
            options='--config --check-config --window --store --spool --spool-size --spool-age --host --label
                --max-cpu --listen -e --event -F --frequency --interval -c --count --bucket -C --cpu -G --cgroup
                --kernel --user --hal --max-memory --no-lines --help'
            ;;
        report)
            options='-e --event --by --image --process --symbol --rows --json --csv --symbolize --debuginfod
                -o --output --help'" $stored"
            files=$profiles
            ;;
        annotate)
            options='--source --asm --image --image-dir --source-dir --rows --context --bytes
                --objdump -M --disassembler-style -e --event --json --debuginfod --help'" $stored"
            files=$profiles
            ;;
        diff)
            options='--normalize --all --fail-above -e --event --by --image --process --symbol --rows
                --json --csv --help'" $stored"
            files=$profiles
            ;;
        merge)
            options='-o --output -q --quiet --help'" $stored"
            files=$profiles
            ;;
        export)
            options='--format -o --output -e --event --image --rows --listings --image-dir --source-dir --help'" $stored"
            files=$profiles
            ;;
        store)
            options='--host --label --before --max-size --cluster --debuginfod --json --help'
            files=$profiles
            ;;
        serve) options='--listen --listings --image-dir --source-dir --help' ;;
        sources | doctor) options='--json --help' ;;
        help) options="--help" ;;
        version) options='--help' ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ $command == help ]]; then
        COMPREPLY=($(compgen -W "$commands" -- "$cur"))
    elif [[ $command == store && $cword -eq 2 ]]; then
        COMPREPLY=($(compgen -W 'init add stat check prune fold symbolize' -- "$cur"))
    elif [[ $command == serve ]]; then
        COMPREPLY=($(compgen -W 'sqlite: clickhouse://' -- "$cur"))
    elif [[ $command == attach ]]; then
        _ntprof_pids
    elif [[ $files ]]; then
        _filedir "$files"
        if [[ $command == annotate ]]; then
            COMPREPLY+=($(compgen -W "$(_ntprof_functions "$ntprof")" -- "$cur"))
        fi
    fi
} &&
    complete -F _ntprof ntprof
