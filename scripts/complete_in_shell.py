#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a shell completes, asked of the shell itself, with the completions of a folder.

usage: complete_in_shell.py [--line] bash|zsh|fish COMPLETIONS LINE...

Prints the completions of each LINE, one a line; a form feed on a line of its own is between two LINEs.
With --line, prints what each LINE has become when Tab was pressed behind it. bash has the package
bash-completion around them. For --line all shells have a terminal, and zsh always, as its completions
work in no other way.
"""
import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import time

BASH = r"""
. /usr/share/bash-completion/bash_completion || exit 1
. "$1/ntprof.bash" || exit 1
shift
separator=
for COMP_LINE in "$@"; do
    printf "$separator"
    separator='\f\n'
    COMP_POINT=${#COMP_LINE} COMPREPLY=()
    read -ra COMP_WORDS <<<"${COMP_LINE//=/ = }" # as readline divides it
    [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    # What is not in a completion, such as compopt, has no meaning here.
    compopt() { :; }
    _ntprof ntprof "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}"
done
"""

FISH = r"""
source $argv[1]/ntprof.fish; or exit 1
set -l separator ''
for line in $argv[2..-1]
    printf $separator
    set separator '\f\n'
    complete -C $line | string replace -r '\t.*' ''
end
true
"""

# The matches that a completion adds go into a file as well: screens wrap and cut them.
ZSH_INSIDE = r"""
PS1= RPS1= PS2=
fpath=("$COMPLETIONS" $fpath)
autoload -Uz compinit && compinit -u -D
zstyle ':completion:*' menu no
bindkey '^I' complete-word
compadd() {
    local -a hits
    if [[ ${@[1,(i)(-|--)]} != *-[OAD]* ]]; then
        builtin compadd -A hits "$@"
        print -rl -- $hits >>$ANSWERS
    fi
    builtin compadd "$@"
}
finished() { print -r -- done >>$ANSWERS.done; zle kill-buffer }
zle -N finished
bindkey '^X^F' finished
print -r -- READY
"""

ZSH = r"""
zmodload zsh/zpty || exit 1
inside=$1
export COMPLETIONS=$2 ANSWERS=$3
shift 3
zpty inside 'TERM=dumb zsh -f -i'
zpty -w inside "stty cols 500 -echo; source $inside"
zpty -r -m inside said '*READY*' || exit 1
separator=
for line in "$@"; do
    : >$ANSWERS; rm -f $ANSWERS.done
    zpty -w -n inside "$line"$'\t\C-x\C-f'
    for ((i = 0; i < 3000; i++)); do
        [[ -e $ANSWERS.done ]] && break
        while zpty -r -t inside said; do :; done
        sleep 0.02
    done
    [[ -e $ANSWERS.done ]] || { print -u2 "no answer for: $line"; exit 1 }
    print -nr -- "$separator"
    separator=$'\f\n'
    sort -u $ANSWERS
done
zpty -d inside
"""

# What a shell with a terminal reads first: Control-X Control-F adds its line to a file, and empties it.
BASH_LINE = r"""
PS1=
. /usr/share/bash-completion/bash_completion
. "$COMPLETIONS/ntprof.bash"
bind 'set enable-bracketed-paste off'
bind -x '"\C-x\C-f": printf "%s\n" "$READLINE_LINE" >>"$ANSWERS"; READLINE_LINE='
echo READY
"""

ZSH_LINE = r"""
PS1= RPS1= PS2=
fpath=("$COMPLETIONS" $fpath)
autoload -Uz compinit && compinit -u -D
zstyle ':completion:*' menu no
bindkey '^I' complete-word
finished() { print -r -- "$BUFFER" >>$ANSWERS; zle kill-buffer }
zle -N finished
bindkey '^X^F' finished
print READY
"""

FISH_LINE = r"""
source $COMPLETIONS/ntprof.fish
function fish_prompt; end
function finished
    commandline >>$ANSWERS
    commandline ''
end
bind \cx\cf finished
echo READY
"""

SHELL_WORDS = {
    "bash": (BASH_LINE, ["bash", "--noprofile", "--rcfile", "{}", "-i"]),
    "zsh": (ZSH_LINE, ["zsh", "--no-globalrcs", "-i"]),
    "fish": (FISH_LINE, ["fish", "--no-config", "-i", "-C", "source {}"]),
}


def lines_after_tab(shell, completions, lines, folder, environment):
    """What a shell with a terminal makes of the lines."""
    text, words = SHELL_WORDS[shell]
    # zsh has no option for another file than this, in its home.
    inside, answers = pathlib.Path(folder) / ".zshrc", pathlib.Path(folder) / "answers"
    inside.write_text(text)
    answers.touch()
    environment.update(COMPLETIONS=str(completions), ANSWERS=str(answers), TERM="dumb")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(words[0], [word.format(inside) for word in words], environment)

    def wait_for(condition):
        said, end = b"", time.monotonic() + 60
        while not condition(said):
            if time.monotonic() > end:
                sys.exit(f"{shell} does not answer: {said.decode(errors='replace')}")
            if select.select([terminal], [], [], 0.05)[0]:
                said += os.read(terminal, 4096)

    try:
        wait_for(lambda said: b"READY" in said)
        for number, line in enumerate(lines, 1):
            os.write(terminal, line.encode() + b"\t\x18\x06")
            wait_for(lambda said, number=number: answers.read_text().count("\n") >= number)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)
    sys.stdout.write("\f\n".join(answers.read_text().splitlines(keepends=True)))
    return 0


def main():
    whole_line = sys.argv[1:2] == ["--line"]
    if whole_line:
        del sys.argv[1]
    if len(sys.argv) < 4 or sys.argv[1] not in SHELL_WORDS:
        sys.exit(__doc__)
    shell, completions, lines = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
        if whole_line:
            return lines_after_tab(shell, completions, lines, folder, environment)
        if shell == "bash":
            words = ["bash", "--norc", "-O", "extglob", "-c", BASH, "bash", completions]
        elif shell == "fish":
            words = ["fish", "-c", FISH, completions]
        else:
            inside = pathlib.Path(folder) / "inside.zsh"
            inside.write_text(ZSH_INSIDE)
            words = ["zsh", "-f", "-c", ZSH, "zsh", inside, completions,
                     pathlib.Path(folder) / "answers"]
        return subprocess.run([*map(str, words), *lines], stdin=subprocess.DEVNULL,
                              env=environment, timeout=120).returncode


sys.exit(main())
