// The host names under which a server without a token accepts requests. If the name of a web page suddenly resolves to this machine (DNS
// rebinding), the browser considers the server to be of the same origin, and only the Host header reveals the attack.
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { ServerError } from '../errors.ts'
import { hostsRememberedMax } from '../limits.ts'
import type { TokenMode } from './auth.ts'

/** Throws host_refused. */
export type HostCheck = (headers: IncomingHttpHeaders) => void

/**
 * Accepts IP literals, `localhost`, and `names`, with any port. If a proxy sends X-Forwarded-Host, every name in it must be accepted
 * too. A request without Host is accepted, because browsers always send one.
 */
function createHostCheck(names: readonly string[]): HostCheck {
  const allowed = new Set(['localhost', ...names.map((name) => name.toLowerCase())])
  const passed = new Set<string>()
  const check = (header: string): void => {
    if (passed.has(header)) return
    const name = hostName(header)
    if (name === undefined || !(isIP(name) !== 0 || allowed.has(name))) throw refused(header)
    if (passed.size < hostsRememberedMax) passed.add(header)
  }
  return ({ host, 'x-forwarded-host': forwarded }) => {
    if (host !== undefined && host !== '') check(host)
    if (forwarded === undefined) return
    for (const one of forwardedHosts(forwarded)) check(one)
  }
}

/** A server with a token needs no check: a page that reaches it under another host name does not know the token. */
export function hostCheckFor(
  mode: TokenMode,
  { host, allowedHosts }: { readonly host: string; readonly allowedHosts: readonly string[] },
): HostCheck | undefined {
  return mode === 'none' ? createHostCheck([host, ...allowedHosts]) : undefined
}

/** Values of an X-Forwarded-Host header, beginning with the one nearest to the browser. */
export function forwardedHosts(header: string | readonly string[]): string[] {
  return [header]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '')
}

const form = /^(?:\[([0-9a-f:.]+)(?:%[^\]\s]*)?\]|([^\s:/\\@[\]]+?)\.?)(?::\d{1,5})?$/i

/** The name or address in a Host header, in lower case, without port and brackets; undefined for any other text. */
function hostName(header: string): string | undefined {
  const [, address, name] = form.exec(header) ?? []
  return (address ?? name)?.toLowerCase()
}

function refused(host: string): ServerError {
  const names = 'IP addresses, localhost and the names in NDD_ALLOWED_HOSTS'
  return new ServerError('host_refused', `without a token this server accepts only ${names}`, {
    field: 'host',
    value: host,
  })
}
