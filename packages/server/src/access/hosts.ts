// By which names the server may be addressed where it asks for no token. A web page whose own name suddenly resolves to this
// machine (DNS rebinding) counts as the same origin for its browser, and only the Host header gives it away.
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { ServerError } from '../http/errors.ts'
import { hostsRememberedMax } from '../http/limits.ts'

/** Throws host_refused. */
export type HostCheck = (headers: IncomingHttpHeaders) => void

/**
 * IP literals, `localhost` and `names` pass, whatever the port. Where a proxy sends X-Forwarded-Host, every name in it must
 * pass, too. A request without Host passes: browsers always send one.
 */
export function createHostCheck(names: readonly string[]): HostCheck {
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

/** Values of an X-Forwarded-Host header, the one nearest to the browser first. */
export function forwardedHosts(header: string | readonly string[]): string[] {
  return [header]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '')
}

const form = /^(?:\[([0-9a-f:.]+)(?:%[^\]\s]*)?\]|([^\s:/\\@[\]]+?)\.?)(?::\d{1,5})?$/i

/** The name or address in a Host header, in lower case and without port and brackets; undefined for anything else. */
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
