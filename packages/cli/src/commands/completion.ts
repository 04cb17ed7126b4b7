/** `holdfast completion`: a script that completes commands and options in a shell. */
import type { Command } from 'commander';
import { print } from '../view/output.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

interface Words {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly { readonly flag: string; readonly about: string }[];
}

/** Prints the script for a shell. */
export function completion(shell: (typeof SHELLS)[number], program: Command): void {
  const all = program.commands.map((command): Words => {
    const options = command.options.map(({ description, long, short }) => {
      return { flag: long ?? short ?? '', about: plain(description) };
    });
    return { name: command.name(), summary: plain(command.summary()), options };
  });
  print({ bash, zsh, fish }[shell](all));
}

/** Without the characters that have a meaning in a quoted text of a shell. */
function plain(text: string): string {
  return text.replace(/['"`$\\[\]:]/g, '');
}

function flags({ options }: Words): string {
  return options.map(({ flag }) => flag).join(' ');
}

function bash(all: readonly Words[]): string {
  const cases = all.map((one) => `    ${one.name}) words='${flags(one)}' ;;`);
  return `# eval "$(holdfast completion bash)"
_holdfast() {
  local word=\${COMP_WORDS[COMP_CWORD]} words='' at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ \${COMP_WORDS[at]} == -- ]]; then
      declare -F _command_offset > /dev/null && _command_offset $((at + 1))
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${all.map(({ name }) => name).join(' ')}' -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  [[ $word == -* ]] && COMPREPLY=($(compgen -W "$words --help" -- "$word"))
}
complete -o default -F _holdfast holdfast`;
}

function zsh(all: readonly Words[]): string {
  const commands = all.map(({ name, summary }) => `    '${name}:${summary}'`);
  const cases = all.map(({ name, options }) => {
    const lines = options.map(({ about, flag }) => `'${flag}[${about}]'`);
    return `    ${name}) _arguments ${lines.join(' ')} '*:: :_normal' ;;`;
  });
  return `#compdef holdfast
# eval "$(holdfast completion zsh)"
_holdfast() {
  local -a commands=(
${commands.join('\n')}
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  case $words[2] in
${cases.join('\n')}
  esac
}
compdef _holdfast holdfast`;
}

function fish(all: readonly Words[]): string {
  const lines = all.flatMap(({ name, options, summary }) => [
    `complete -c holdfast -n __fish_use_subcommand -f -a ${name} -d '${summary}'`,
    ...options.map(({ about, flag }) => {
      const when = `'__fish_seen_subcommand_from ${name}'`;
      return `complete -c holdfast -n ${when} -l ${flag.replace(/^--/, '')} -d '${about}'`;
    }),
  ]);
  return ['# holdfast completion fish | source', ...lines].join('\n');
}
