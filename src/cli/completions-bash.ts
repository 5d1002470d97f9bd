import { type Command, GLOBAL_FLAGS } from "./command.ts";

/** What may come after some words, for the shells' scripts. */
export type Completion = { after: string; words: { word: string; doc: string }[] };

/** For each beginning of a command its next words; `""` is the beginning of the line. */
export function wordCompletions(commands: readonly Command[]): Completion[] {
  const next = new Map<string, Map<string, string>>([["", new Map([["help", "Help on a command or topic"]])]]);
  for (const { words, summary, args } of commands) {
    for (const [at, word] of words.entries()) {
      const after = words.slice(0, at).join(" ");
      const known = next.get(after) ?? new Map<string, string>();
      if (!known.has(word) || at === words.length - 1) known.set(word, at === words.length - 1 ? summary : word);
      next.set(after, known);
    }
    const choices = args[0]?.choices?.() ?? [];
    if (choices.length > 0) next.set(words.join(" "), new Map(choices.map((choice) => [choice, ""])));
  }
  return [...next].map(([after, words]) => ({ after, words: [...words].map(([word, doc]) => ({ word, doc })) }));
}

/** The flags of each command, with what their values may be. */
export function flagCompletions(commands: readonly Command[]) {
  return commands.map(({ words, flags }) => ({ words: words.join(" "), flags: [...flags, ...GLOBAL_FLAGS] }));
}

const q = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** bash: no other program is started while completing. */
export function bashScript(commands: readonly Command[]): string {
  const nextCases = wordCompletions(commands).map(
    ({ after, words }) => `    ${q(after)}) echo ${q(words.map(({ word }) => word).join(" "))} ;;`,
  );
  const flagCases = flagCompletions(commands).map(
    ({ words, flags }) => `    ${q(words)}) echo ${q(flags.map(({ name }) => `--${name}`).join(" "))} ;;`,
  );
  const valueCases = flagCompletions(commands).flatMap(({ words, flags }) =>
    flags
      .filter(({ choices, takes }) => choices?.length && takes !== "switch")
      .map(({ name, choices }) => `    ${q(`${words} --${name}`)}) echo ${q(choices?.join(" ") ?? "")} ;;`),
  );
  const takesValue = new Set(
    flagCompletions(commands).flatMap(({ flags }) =>
      flags.filter(({ takes }) => takes !== "switch").map(({ name }) => name),
    ),
  );
  return `# bash completion for postern: eval "$(postern completions bash)"
_postern_next() {
  case "$1" in
${nextCases.join("\n")}
  esac
}
_postern_flags() {
  case "$1" in
${flagCases.join("\n")}
    *) echo ${q(GLOBAL_FLAGS.map(({ name }) => `--${name}`).join(" "))} ;;
  esac
}
_postern_values() {
  case "$1" in
${valueCases.join("\n")}
  esac
}
_postern_takes_value() {
  case "$1" in
    ${[...takesValue].map((name) => `--${name}`).join("|")}) return 0 ;;
  esac
  return 1
}
_postern() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" at word
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    if [[ "$word" == -* ]]; then
      _postern_takes_value "$word" && ((at++))
    elif [[ -n "$(_postern_next "$path")" && " $(_postern_next "$path") " == *" $word "* ]]; then
      path="\${path:+$path }$word"
    fi
  done
  if [[ "$previous" == --* && "$current" != -* ]]; then
    local values
    values="$(_postern_values "$path $previous")"
    if [[ -n "$values" ]]; then
      COMPREPLY=($(compgen -W "$values" -- "$current"))
      return
    fi
    case "$previous" in
      --config|--file|--body) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    _postern_takes_value "$previous" && return
  fi
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$(_postern_flags "$path")" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$(_postern_next "$path")" -- "$current"))
  fi
}
complete -o default -F _postern postern
`;
}
