import type { Command } from "./command.ts";
import { flagCompletions, wordCompletions } from "./completions-bash.ts";

const q = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const zshWord = (text: string) => text.replaceAll(/[:\\[\]]/g, "\\$&");

/** zsh: words with their explanations, then flags. */
export function zshScript(commands: readonly Command[]): string {
  const next = wordCompletions(commands).map(({ after, words }) => {
    const list = words.map(({ word, doc }) => q(`${zshWord(word)}:${zshWord(doc)}`)).join(" ");
    return `    ${q(after)}) words_next=(${list}) ;;`;
  });
  const flags = flagCompletions(commands).map(({ words, flags: all }) => {
    const list = all.map(({ name, doc }) => q(`--${name}:${zshWord(doc)}`)).join(" ");
    return `    ${q(words)}) flags_next=(${list}) ;;`;
  });
  return `#compdef postern
# zsh completion for postern: postern completions zsh > ~/.zfunc/_postern (a folder of $fpath)
_postern() {
  local -a words_next flags_next
  local path_so_far="" word
  _postern_step() {
    words_next=()
    case "$1" in
${next.join("\n")}
    esac
  }
  _postern_step ""
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ "$word" == -* ]] && continue
    if [[ -n "\${(@M)words_next:#\${word}:*}" ]]; then
      path_so_far="\${path_so_far:+$path_so_far }$word"
      _postern_step "$path_so_far"
    fi
  done
  case "$path_so_far" in
${flags.join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe 'flag' flags_next
  elif (( \${#words_next} )); then
    _describe 'command' words_next
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _postern ]]; then _postern "$@"; else compdef _postern postern; fi
`;
}

/** fish: one line for each word and flag, with the words that must stand before it. */
export function fishScript(commands: readonly Command[]): string {
  const words = wordCompletions(commands).flatMap(({ after, words: next }) =>
    next.map(
      ({ word, doc }) => `complete -c postern -f -n ${q(`__postern_at ${after}`.trim())} -a ${q(word)} -d ${q(doc)}`,
    ),
  );
  const flags = flagCompletions(commands).flatMap(({ words: at, flags: all }) =>
    all.map(({ name, doc, takes, choices }) => {
      const value = takes === "switch" ? "" : choices?.length ? ` -x -a ${q(choices.join(" "))}` : " -r";
      return `complete -c postern -n ${q(`__postern_in ${at}`)} -l ${name}${value} -d ${q(doc)}`;
    }),
  );
  return `# fish completion for postern: postern completions fish > ~/.config/fish/completions/postern.fish
function __postern_words
    for token in (commandline -opc)[2..-1]
        string match -q -- '-*' $token; or echo $token
    end
end
function __postern_at
    set -l given (__postern_words)
    test "$given" = "$argv"
end
function __postern_in
    set -l given (__postern_words)
    test "$given[1..$(count $argv)]" = "$argv"
end
${[...words, ...flags].join("\n")}
`;
}
