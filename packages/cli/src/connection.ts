// What a command connects to: a running server over HTTP, a closed data directory in this process, or what a shell is connected to. The
// client is the same.
import { AnnalError, Client, httpTransport, type Transport } from '@annal/client'
import { CommandEnd, exitCode, usageError } from './exit-code.ts'
import { nearestName } from './nearest-name.ts'
import { secretOf } from './secrets.ts'
import { type Session, sessionNow } from './session.ts'

export interface ConnectionOptions {
  readonly server: string
  readonly tokenFile?: string | undefined
  readonly dataDir?: string | undefined
  readonly database?: string | undefined
}

/** Runs the work with a client, closes the client, and turns errors into exit codes. */
export async function withClient<T>(options: ConnectionOptions, work: (client: Client) => Promise<T>): Promise<T> {
  const session = sessionNow()
  try {
    if (session !== undefined) return await withAdvice(new Client(interruptible(session)), work)
    await using client = new Client(await openTransport(options))
    return await withAdvice(client, work)
  } catch (error) {
    if (session?.signal.aborted) throw new CommandEnd(exitCode.interrupted, 'interrupted')
    if (error instanceof AnnalError) throw refusal(error)
    throw error
  }
}

/** A collection that does not exist may be one with nearly the same name. */
async function withAdvice<T>(client: Client, work: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await work(client)
  } catch (error) {
    if (!(error instanceof AnnalError) || error.code !== 'collection_not_found') throw error
    const typed = /"([^"]*)"/.exec(error.message)?.[1] ?? ''
    const listed = await client.listCollections().catch(() => [])
    const meant = nearestName(
      typed,
      listed.map(({ name }) => name),
    )
    throw refusal(error, meant === undefined ? '' : `; did you mean ${meant}?`)
  }
}

export async function openTransport(options: ConnectionOptions): Promise<Transport> {
  const { server, tokenFile, dataDir, database } = options
  if (dataDir === undefined) {
    const token = secretOf('--token-file', tokenFile, 'ANNAL_TOKEN')
    checkUrl(server)
    return httpTransport({ url: server, ...(token !== undefined && { token }) })
  }
  const { openEmbeddedTransport } = await import('@annal/client/embedded')
  return openEmbeddedTransport({ dataDir, ...(database !== undefined && { database }) })
}

function checkUrl(server: string): void {
  const url = URL.parse(server)
  const isUsable = url !== null && /^https?:$/.test(url.protocol)
  if (!isUsable)
    throw usageError(`--server (NDD_SERVER_URL) ${JSON.stringify(server)}: use a URL such as http://127.0.0.1:8080`)
  if (url.username !== '' || url.password !== '')
    throw usageError(
      '--server (NDD_SERVER_URL) must not contain a user or password; the token comes from ANNAL_TOKEN or --token-file',
    )
}

/** Its calls end with the command; the shell closes the transport. */
function interruptible({ transport, signal }: Session): Transport {
  return {
    call: (name, input, options) => {
      const signals = [signal, ...(options?.signal ? [options.signal] : [])]
      return transport.call(name, input, { ...options, signal: AbortSignal.any(signals) })
    },
    close: () => Promise.resolve(),
  }
}

const codes: { readonly [code: string]: number } = {
  invalid_argument: exitCode.usage,
  unreachable: exitCode.unavailable,
  timeout: exitCode.unavailable,
  bucket_failed: exitCode.unavailable,
  directory_locked: exitCode.locked,
  log_damaged: exitCode.damaged,
  identity_damaged: exitCode.damaged,
  snapshot_damaged: exitCode.damaged,
  backup_damaged: exitCode.damaged,
  log_failed: exitCode.io,
  format_too_new: exitCode.configuration,
}

const tokenCodes = ['authorization_required', 'invalid_token']

/** Fields of objects: what is wrong there comes from a file, and not from an option. */
const ofObject = /^objects\[\d+\]/
const ofContent: ReadonlySet<string> = new Set(['invalid_argument', 'limit_exceeded', 'field_not_found'])

/** Turns an error with a code into the end of the command. */
export function refusal(
  {
    code,
    message,
    field = '',
  }: { readonly code: string; readonly message: string; readonly field?: string | undefined },
  advice = '',
): CommandEnd {
  const help = tokenCodes.includes(code) ? '; the token comes from ANNAL_TOKEN or --token-file' : advice
  const isData = ofContent.has(code) && ofObject.test(field)
  return new CommandEnd(
    isData ? exitCode.damaged : (codes[code] ?? exitCode.refused),
    `${message} (${code})${help}`,
    code,
  )
}
