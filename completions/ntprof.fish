# SPDX-License-Identifier: MIT
# ntprof.fish - completions of ntprof for fish.
# What there is to complete says ntprof --complete (tool/cli/complete.h).

function __ntprof_complete
    set -l words (commandline -opc)
    set -l ntprof $words[1]
    set -e words[1]
    set -l current (commandline -ct)
    set -l value (string replace -r '^--[^=]*=' '' -- $current)
    set -l before (string sub -l (math (string length -- "$current") - (string length -- "$value")) -- $current)

    for line in ($ntprof --complete $words "$current" 2>/dev/null)
        switch $line
            case ':program *'
                set -l first (string replace ':program ' '' -- $line)
                set -l program $words[$first..-1] "$current"
                complete -C "$program"
            case :file
                printf "$before%s\n" (__fish_complete_path "$value")
            case :folder
                printf "$before%s\n" (__fish_complete_directories "$value" '')
            case :profile
                __fish_complete_suffix .pb.gz
            case :host
                printf "$before%s\n" (__fish_print_hostnames)
            case :executable
                printf "$before%s\n" (complete -C "$value")
            case '*'
                echo $line
        end
    end
end

complete -c ntprof -f -k -a '(__ntprof_complete)'
