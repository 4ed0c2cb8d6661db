# SPDX-License-Identifier: MIT
# ntprof.fish - completions of ntprof for fish.
# scripts/check_options.py holds the options against those of the command.

# Sources that work here, as -e takes them.
function __ntprof_sources
    ntprof sources --json 2>/dev/null |
        string replace -rf '.*"name":"([^":]*)".*"supported":true.*' '$1'
end

# Functions with hits in ntprof.pb.gz.
function __ntprof_functions
    ntprof report --json --rows 200 2>/dev/null |
        string replace -rf '.*"function":"([A-Za-z_][A-Za-z0-9_.]*)".*' '$1'
end

# What follows the last comma of a list is completed from standard input.
function __ntprof_list
    set -l before (string match -r '^(?:--[a-z-]+=|-[a-zA-Z])?(.*,)' -- (commandline -ct))[2]
    while read -l word
        echo "$before$word"
    end
end

# The command is one of these.
function __ntprof_is
    set -l tokens (commandline -opc)
    test (count $tokens) -ge 2; and contains -- $tokens[2] $argv
end

# Behind `ntprof run [options] [--]`: completes the program and its arguments.
function __ntprof_program_index
    set -l tokens (commandline -opc)
    test (count $tokens) -ge 2; and test $tokens[2] = run; or return 1
    set -l i 3
    while test $i -le (count $tokens)
        switch $tokens[$i]
            case --
                echo (math $i + 1)
                return
            case -e -F -c -C -o --event --frequency --count --cpu --output --interval \
                --bucket --hal --per --every --delay --duration --control --max-overhead --max-memory --by --rows --report \
                --region
                set i (math $i + 1)
            case '-*'
            case '*'
                echo $i
                return
        end
        set i (math $i + 1)
    end
    # The word before is an option that waits for its value.
    test $i -eq (math (count $tokens) + 1); or return 1
    string match -q -- '-*' (commandline -ct); and return 1
    echo $i
end

function __ntprof_has_program
    __ntprof_program_index >/dev/null
end

function __ntprof_complete_program
    set -l tokens (commandline -opc)
    set -l rest $tokens[(__ntprof_program_index)..-1] (commandline -ct)
    complete -C "$rest"
end

set -l commands run attach system top agent report annotate diff merge export store serve sources doctor help version

complete -c ntprof -f
complete -c ntprof -n __fish_use_subcommand -s h -l help -d help
complete -c ntprof -n __fish_use_subcommand -l version -d 'the version'
complete -c ntprof -n __fish_use_subcommand -a run -d 'run a command and profile it'
complete -c ntprof -n __fish_use_subcommand -a attach -d 'profile processes that run already'
complete -c ntprof -n __fish_use_subcommand -a system -d 'profile all processes and the kernel'
complete -c ntprof -n __fish_use_subcommand -a top -d 'watch where programs execute, live'
complete -c ntprof -n __fish_use_subcommand -a agent -d 'record the whole machine for ever'
complete -c ntprof -n __fish_use_subcommand -a report -d 'show a profile'
complete -c ntprof -n __fish_use_subcommand -a annotate -d 'source and instructions with hits'
complete -c ntprof -n __fish_use_subcommand -a diff -d 'what changed between two profiles'
complete -c ntprof -n __fish_use_subcommand -a merge -d 'one profile of many'
complete -c ntprof -n __fish_use_subcommand -a export -d 'a profile for other tools'
complete -c ntprof -n __fish_use_subcommand -a store -d 'a database of profiles'
complete -c ntprof -n __fish_use_subcommand -a serve -d 'a store in the browser'
complete -c ntprof -n __fish_use_subcommand -a sources -d 'what can interrupt on this machine'
complete -c ntprof -n __fish_use_subcommand -a doctor -d 'what works here'
complete -c ntprof -n __fish_use_subcommand -a help -d 'help of a command'
complete -c ntprof -n __fish_use_subcommand -a version -d 'the version'
complete -c ntprof -n '__ntprof_is help' -a "$commands"

# What comes behind the program of run is the program's.
set -l hits '__ntprof_is run attach system top; and not __ntprof_has_program'
set -l counting '__ntprof_is run attach system top agent; and not __ntprof_has_program'
set -l recording '__ntprof_is run attach system; and not __ntprof_has_program'
complete -c ntprof -n "__ntprof_is $commands; and not __ntprof_has_program" -l help -d help
complete -c ntprof -n __ntprof_has_program -a '(__ntprof_complete_program)'

complete -c ntprof -n $counting -s e -l event -x -a '(__ntprof_sources | __ntprof_list)' -d 'what interrupts'
complete -c ntprof -n $counting -s F -l frequency -x -a '997 5k max' -d 'rate of source time'
complete -c ntprof -n $counting -l interval -x -a '100us 250us 1ms 10ms' -d 'time between interrupts'
complete -c ntprof -n $counting -s c -l count -x -d 'events for a hit'
complete -c ntprof -n $counting -l bucket -x -a '1 4 8 16 32 64 256 4k 1M' -d 'code bytes for a counter'
complete -c ntprof -n $counting -s C -l cpu -x -a '(seq 0 (math (nproc) - 1) | __ntprof_list)' -d 'only on these processors'
complete -c ntprof -n $counting -l hal -x -a 'perf timer sim' -d 'this way of getting hits, or none'
complete -c ntprof -n $hits -s o -l output -r -F -d 'the profile'
complete -c ntprof -n $recording -l per -x -a cpu -d 'count each processor separately'
complete -c ntprof -n $recording -l every -x -a '10s 1m 5m' -d 'rewrite the file at intervals'
complete -c ntprof -n $recording -l delay -x -a '500ms 1s 10s 1m' -d 'count only after it'
complete -c ntprof -n $recording -l control -r -F -d 'obey the lines of this FIFO'
complete -c ntprof -n $recording -l max-overhead -x -a '0.1 1 5' -d 'the rate by what hits may cost'
complete -c ntprof -n $hits -l no-guard -d 'keep intervals that leave programs no time'
complete -c ntprof -n $counting -l max-memory -x -a '256M 1G 4G' -d 'keep to it'
complete -c ntprof -n $counting -l no-lines -d 'only names of functions'
complete -c ntprof -n $recording -l debuginfod -d 'get debug files from servers'
complete -c ntprof -n $recording -l rows -x -d 'rows of the table, 0 for all'
complete -c ntprof -n $recording -l json -d 'JSON instead of the table'
complete -c ntprof -n $recording -l report -r -F -d 'table or JSON into a file'
complete -c ntprof -n $recording -s q -l quiet -d 'no table, only errors'

complete -c ntprof -n '__ntprof_is attach top' -s p -l pid -x -a '(__fish_complete_pids | __ntprof_list)' -d 'the processes'
complete -c ntprof -n '__ntprof_is attach' -f -a '(__fish_complete_pids | __ntprof_list)'
complete -c ntprof -n '__ntprof_is run attach system top' -l duration -x -a '10s 30s 5m 1h' -d 'stop after it'
complete -c ntprof -n '__ntprof_is run attach; and not __ntprof_has_program' -l region -r -F -d 'only this code, by instruction'
complete -c ntprof -n '__ntprof_is system top agent' -l kernel -d 'only the kernel'
complete -c ntprof -n '__ntprof_is system top agent' -l user -d 'only user mode'
complete -c ntprof -n '__ntprof_is system top agent' -s G -l cgroup -x -a '(__fish_complete_directories /sys/fs/cgroup/(commandline -ct) | string replace /sys/fs/cgroup/ "")' -d 'only what runs in it'
complete -c ntprof -n '__ntprof_is top' -s a -l all -d 'all processes and the kernel'
complete -c ntprof -n '__ntprof_is top' -s d -l delay -x -a '500ms 1s 2s 10s' -d 'between two looks'

# What reads profiles.
set -l keys function line image address bucket process thread cpu unit
complete -c ntprof -n '__ntprof_is run attach system report' -l by -x -a '(string split " " "'"$keys"' source" | __ntprof_list)' -d 'what a row is'
complete -c ntprof -n '__ntprof_is diff' -l by -x -a '(string split " " "'"$keys"'" | __ntprof_list)' -d 'what a row is'
complete -c ntprof -n '__ntprof_is report diff annotate' -l image -r -F -d 'only images called so'
complete -c ntprof -n '__ntprof_is report diff' -l process -x -d 'only processes called so'
complete -c ntprof -n '__ntprof_is report diff' -l symbol -x -d 'only functions called so'
complete -c ntprof -n '__ntprof_is report diff annotate' -l rows -x -d 'rows to show, 0 for all'
complete -c ntprof -n '__ntprof_is report diff annotate' -l json -d 'as JSON'
complete -c ntprof -n '__ntprof_is report diff' -l csv -d 'as comma-separated values'
complete -c ntprof -n '__ntprof_is report annotate' -l debuginfod -d 'get debug files from servers'
complete -c ntprof -n '__ntprof_is report annotate diff merge export store' -k -a '(__fish_complete_suffix .pb.gz)'

# Of a store instead of a file.
set -l reading '__ntprof_is top report annotate diff merge export'
complete -c ntprof -n $reading -l since -x -a '1h 1d 7d' -d 'windows that end after it'
complete -c ntprof -n $reading -l until -x -a '1h 1d 7d' -d 'windows that start before it'
complete -c ntprof -n $reading -l host -x -a '(__fish_print_hostnames)' -d 'hosts called so'
complete -c ntprof -n $reading -l unit -x -d 'units called so'
complete -c ntprof -n $reading -l label -x -d 'windows with this label'
complete -c ntprof -n $reading -l build-id -x -d 'builds that start so'

complete -c ntprof -n '__ntprof_is report' -l symbolize -d 'look for names that the profile lacks'
complete -c ntprof -n '__ntprof_is report' -s o -l output -r -F -d 'write the profile with its names'

complete -c ntprof -n '__ntprof_is annotate' -a '(__ntprof_functions)' -d 'function with hits'
complete -c ntprof -n '__ntprof_is annotate' -l source -d 'only source lines'
complete -c ntprof -n '__ntprof_is annotate' -l asm -d 'instructions, also for a line'
complete -c ntprof -n '__ntprof_is annotate' -l image-dir -x -a '(__fish_complete_directories)' -d 'look for programs and libraries here'
complete -c ntprof -n '__ntprof_is annotate' -l source-dir -x -a '(__fish_complete_directories)' -d 'sources compiled in OLD are in NEW'
complete -c ntprof -n '__ntprof_is annotate' -l context -x -a '0 5 20 all' -d 'lines around those with hits'
complete -c ntprof -n '__ntprof_is annotate' -l bytes -d 'of instructions, too'
complete -c ntprof -n '__ntprof_is annotate' -l objdump -d 'have objdump disassemble'
complete -c ntprof -n '__ntprof_is annotate' -s M -l disassembler-style -x -a 'att intel' -d 'of instructions'
complete -c ntprof -n '__ntprof_is report annotate diff export' -s e -l event -x -a '(__ntprof_sources)' -d 'hits of this source'

complete -c ntprof -n '__ntprof_is diff' -l normalize -d 'compare shares of all hits'
complete -c ntprof -n '__ntprof_is diff' -l all -d 'show rows that chance explains, too'
complete -c ntprof -n '__ntprof_is diff' -l fail-above -x -d 'exit status 1 if a row grew by more'

complete -c ntprof -n '__ntprof_is merge' -s o -l output -r -F -d 'the sum'
complete -c ntprof -n '__ntprof_is merge' -s q -l quiet -d 'say nothing but errors'

complete -c ntprof -n '__ntprof_is export' -l format -x -a 'pprof gmon callgrind speedscope folded json csv html openmetrics llvm-profgen llvm-sample gcc-afdo bolt bolt-fdata symbol-order' -d 'of which tool'
complete -c ntprof -n '__ntprof_is export' -s o -l output -r -F -d 'into this file'
complete -c ntprof -n '__ntprof_is export' -l image -r -F -d 'gmon and forms for compilers: the one image'
complete -c ntprof -n '__ntprof_is export' -l rows -x -d 'openmetrics: functions of each source'
complete -c ntprof -n '__ntprof_is export' -l image-dir -x -a '(__fish_complete_directories)' -d 'look for programs and libraries here'
complete -c ntprof -n '__ntprof_is export' -l source-dir -x -a '(__fish_complete_directories)' -d 'html: sources compiled in OLD are in NEW'
complete -c ntprof -n '__ntprof_is export' -l listings -x -d 'html: functions whose code is put in'

complete -c ntprof -n '__ntprof_is sources doctor' -l json -d 'as JSON'

complete -c ntprof -n '__ntprof_is store' -a 'init add stat check prune fold symbolize' -d 'what to do'
complete -c ntprof -n '__ntprof_is store' -l host -x -a '(__fish_print_hostnames)' -d 'add: where it was recorded'
complete -c ntprof -n '__ntprof_is store' -l before -x -a '1d 7d 30d 90d' -d 'prune: remove what ended before'
complete -c ntprof -n '__ntprof_is store' -l label -x -d 'add: a label of its windows'
complete -c ntprof -n '__ntprof_is store' -l cluster -x -d 'init: servers that share the store'
complete -c ntprof -n '__ntprof_is store' -l max-size -x -a '1G 20G' -d 'prune: remove the oldest down to it'
complete -c ntprof -n '__ntprof_is store' -l debuginfod -d 'symbolize: get debug files from servers'
complete -c ntprof -n '__ntprof_is store' -l json -d 'stat: as JSON'

complete -c ntprof -n '__ntprof_is serve' -x -a 'sqlite: clickhouse://' -d 'store'
complete -c ntprof -n '__ntprof_is serve' -l listen -x -a '127.0.0.1:' -d 'answer HTTP here'
complete -c ntprof -n '__ntprof_is serve' -l listings -x -d 'functions whose code a page holds'
complete -c ntprof -n '__ntprof_is serve' -l image-dir -x -a '(__fish_complete_directories)' -d 'look for programs and libraries here'
complete -c ntprof -n '__ntprof_is serve' -l source-dir -x -a '(__fish_complete_directories)' -d 'sources compiled in OLD are in NEW'

complete -c ntprof -n '__ntprof_is agent' -l config -r -F -d 'options as name = value'
complete -c ntprof -n '__ntprof_is agent' -l check-config -d 'check the options, and end'
complete -c ntprof -n '__ntprof_is agent' -l window -x -a '10s 1m 5m 15m 1h' -d 'length of a window'
complete -c ntprof -n '__ntprof_is agent' -l store -x -a 'sqlite:' -d 'add windows to it'
complete -c ntprof -n '__ntprof_is agent' -l spool -x -a '(__fish_complete_directories)' -d 'where windows wait'
complete -c ntprof -n '__ntprof_is agent' -l spool-size -x -a '64M 256M 1G' -d 'drop the oldest above it'
complete -c ntprof -n '__ntprof_is agent' -l spool-age -x -a '12h 1d 7d' -d 'drop those that are older'
complete -c ntprof -n '__ntprof_is agent' -l host -x -a '(__fish_print_hostnames)' -d 'label of all windows'
complete -c ntprof -n '__ntprof_is agent' -l label -x -d 'one more label, KEY=VALUE'
complete -c ntprof -n '__ntprof_is agent' -l max-cpu -x -a '0.5% 1% 5%' -d 'of one processor, for the agent'
complete -c ntprof -n '__ntprof_is agent' -l listen -x -a '127.0.0.1:' -d 'answer HTTP here'
