// `annal completion`: scripts with which shells complete command lines. They call `annal __complete`, which prints what fits.
import { Client } from '@annal/client'
import type { Command } from 'commander'
import { candidatesFor, type StoredNames } from '../candidates.ts'
import { type ConnectionOptions, openTransport } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'

/** Stands for names of files, which the shell completes itself. */
const filesLine = ':files'

const scripts = {
  bash: `# Completion of annal in bash. Add to ~/.bashrc: source <(annal completion bash)
_annal() {
  local candidate meaning
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate meaning; do
    if [[ $candidate == ${filesLine} ]]; then
      compopt -o default 2>/dev/null
    else
      COMPREPLY+=("$candidate")
    fi
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _annal annal
`,
  zsh: `#compdef annal
# Completion of annal in zsh. Add to ~/.zshrc, after compinit: source <(annal completion zsh)
_annal() {
  local candidate meaning
  local -a candidates
  while IFS=$'\\t' read -r candidate meaning; do
    if [[ $candidate == ${filesLine} ]]; then
      _files
    else
      candidates+=("\${candidate//:/\\\\:}\${meaning:+:$meaning}")
    fi
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#candidates} )); then _describe 'annal' candidates; fi
}
compdef _annal annal
`,
  fish: `# Completion of annal in fish. Save it: annal completion fish > ~/.config/fish/completions/annal.fish
function __annal_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    if contains -- ${filesLine} $found
        __fish_complete_path (commandline -ct)
    end
    string match -v -- ${filesLine} $found
end
complete -c annal -f -a '(__annal_candidates)'
`,
} as const

export function printCompletion(shell: keyof typeof scripts, terminal: Terminal): number {
  terminal.line(scripts[shell].trimEnd())
  return exitCode.good
}

/** Never fails: a shell has no place for messages. */
export async function complete(program: Command, words: readonly string[], terminal: Terminal): Promise<number> {
  const { candidates, files } = await candidatesFor(program, words, namesOnServer(connectionIn(words)))
  if (files) terminal.line(filesLine)
  for (const { text, meaning } of candidates) terminal.line(`${text}\t${meaning}`)
  return exitCode.good
}

/** A person waits. */
const waitMs = 3_000
/** A server could have any names, and some shells would run parts of them. */
const harmless = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/** Names from a server that may not be there. A directory is not opened, because that takes long. */
function namesOnServer(connection: ConnectionOptions): StoredNames {
  const ask = async (names: (client: Client) => Promise<readonly string[]>): Promise<readonly string[]> => {
    try {
      await using client = new Client(await openTransport(connection))
      return (await names(client)).filter((name) => harmless.test(name))
    } catch {
      return []
    }
  }
  return {
    collections: () => ask(collectionsOf),
    fields: (collection) => ask((client) => fieldsOf(client, collection)),
  }
}

export async function collectionsOf(client: Client): Promise<readonly string[]> {
  return (await client.listCollections({ timeoutMs: waitMs })).map(({ name }) => name)
}

export async function fieldsOf(client: Client, collection: string): Promise<readonly string[]> {
  const { fields } = await client.collection(collection).describe({ timeoutMs: waitMs })
  return fields.map(({ name }) => name)
}

/** The server and the file of the token that the words name, or those of the environment. */
function connectionIn(words: readonly string[]): ConnectionOptions {
  const valueAfter = (...names: readonly string[]) => {
    const place = words.findLastIndex((word) => names.includes(word))
    return place === -1 ? undefined : words[place + 1]
  }
  return {
    server: valueAfter('-s', '--server') ?? process.env.NDD_SERVER_URL ?? 'http://127.0.0.1:8080',
    tokenFile: valueAfter('--token-file') ?? process.env.ANNAL_TOKEN_FILE,
  }
}
