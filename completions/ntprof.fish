# SPDX-License-Identifier: MIT
# ntprof.fish - completions of ntprof for fish.
# What there is to complete says ntprof --complete (tool/cli/complete.h).

function __ntprof_complete
    set -l words (commandline -opc)
    set -l ntprof $words[1]
    set -e words[1]
    set -l typed (commandline -ct)
    # As the command gets it, also if a quote is open.
    set -l current (string unescape -- $typed; or string unescape -- $typed\'; or string unescape -- $typed\")

    for line in ($ntprof --complete $words "$current" 2>/dev/null)
        # What stands in front of a value that is asked for, and what there is of it.
        set -l before
        set -l value
        if string match -qr '^:[a-z]+ [0-9]+$' -- $line
            set -l length (string replace -r '^:[a-z]+ ' '' -- $line)
            set before (string sub -l $length -- "$current")
            set value (string sub -s (math $length + 1) -- "$current")
        end
        switch $line
            case ':program *'
                set -l first (string replace ':program ' '' -- $line)
                set -l program $words[$first..-1] "$current"
                complete -C "$program"
            case ':file *'
                printf '%s\n' "$before"(__fish_complete_path "$value")
            case ':folder *'
                printf '%s\n' "$before"(__fish_complete_directories "$value" '')
            case ':profile *'
                __fish_complete_suffix .pb.gz
            case ':host *'
                printf '%s\n' "$before"(__fish_print_hostnames)
            case ':executable *'
                printf '%s\n' "$before"(complete -C "$value")
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c ntprof -f -k -a '(__ntprof_complete)'
