// Tokens and passwords come from the environment or from a file, never from an argument: every user of the machine can read arguments
// (`ps`), and shells keep them in a history.
import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { usageError } from './exit-code.ts'

const options: Readonly<Record<string, string>> = {
  '--token': 'set ANNAL_TOKEN (annal bench: NDD_AUTH_TOKEN), or use --token-file FILE',
  '--source-token': 'set ANNAL_SOURCE_TOKEN, or use --source-token-file FILE',
}
/** A URL in a word of its own, or in that of its option: `--server=URL`, `-sURL`. */
const urlForm = /^(--[a-z-]+=|-[a-z](?=[a-z]+:))?(.*)$/s
const passwordInUrl = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]*:[^/?#@]+@/i

/** Throws a usage error if an argument is or has a secret. The message does not repeat it. */
export function refuseSecrets(args: readonly string[]): void {
  for (const [i, arg] of args.entries()) {
    if (arg === '--') return
    const [name = ''] = arg.split('=', 1)
    const advice = options[name]
    if (advice !== undefined) throw usageError(`${name}: other users of this machine can read arguments; ${advice}`)
    const [, option = args[i - 1] ?? '', url = ''] = urlForm.exec(arg) ?? []
    if (passwordInUrl.test(url)) {
      throw usageError(`a URL with a password: other users of this machine can read arguments; ${wayOf(option, url)}`)
    }
  }
}

/** How the secret of a URL reaches what the URL names. */
function wayOf(option: string, url: string): string {
  if (/^(?:nats|tls|wss?):/i.test(url))
    return 'name the servers of NDD_CLUSTER_URL without user and password, and set NDD_CLUSTER_CREDENTIALS'
  const isServer = /^(?:-s|--server=?)$/.test(option)
  return isServer
    ? `a server of Annal has no users; ${options['--token']}`
    : 'set PGPASSWORD or ANNAL_SOURCE_TOKEN, or use --source-token-file FILE'
}

/** Adds --token-file. */
export function withTokenFile(command: Command): Command {
  return command.addOption(
    new Option('--token-file <file>', 'file with the token (default: the token in ANNAL_TOKEN)').env(
      'ANNAL_TOKEN_FILE',
    ),
  )
}

const secretBytesMax = 4_096

/** The secret in the file, or in the environment variable if no file is named. */
export function secretOf(option: string, file: string | undefined, variable: string): string | undefined {
  if (file === undefined) return process.env[variable]?.trim() || undefined
  const secret = readFileSync(file, 'utf8').trim()
  const fault =
    secret === '' ? 'is empty' : secret.length > secretBytesMax ? `has more than ${secretBytesMax} bytes` : ''
  if (fault !== '') throw usageError(`${option} ${file} ${fault}`)
  if (/[^\x21-\x7e]/.test(secret)) throw usageError(`${option} ${file} has more than one word`)
  return secret
}
