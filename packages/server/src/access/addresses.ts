// The part of a caller's address that limits apply to: an IPv4 address, or the first 64 bits of an IPv6 address, because a network owns
// all addresses with the same 64 bits.
import { isIP, isIPv4 } from 'node:net'

/** The same key for every spelling of an address; `unknown` for a text that is not an address, which a proxy may forward. */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const plain = withoutPort(address)
  const mapped = plain.startsWith('::ffff:') ? plain.slice(7) : plain
  if (isIPv4(mapped)) return mapped
  if (isIP(plain) === 0) return 'unknown'
  const groups = groupsOf(plain)
  // The same IPv4 address written in hexadecimal.
  if (groups.slice(0, 6).join() === '0,0,0,0,0,ffff') return dotted(groups[6]!, groups[7]!)
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** Some proxies write ports into X-Forwarded-For. */
function withoutPort(address: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(address)
  if (bracketed !== null) return bracketed[1]!
  return /^[\d.]+:\d+$/.test(address) ? address.slice(0, address.indexOf(':')) : address
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  // The URL parser converts every spelling to one form, which has no dots. It does not accept zones.
  const canonical = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1)
  const [head = '', tail = ''] = canonical.split('::')
  const [before, after] = [head, tail].map((part) => (part === '' ? [] : part.split(':')))
  const missing = 8 - before!.length - after!.length
  return [...before!, ...Array.from({ length: missing }, () => '0'), ...after!]
}

function dotted(high: string, low: string): string {
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
}
